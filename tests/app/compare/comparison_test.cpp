#include "troupe/app/compare/comparison.hpp"

#include "troupe/app/compare/comparison_report.hpp"
#include "troupe/app/compare/curves.hpp"
#include "troupe/app/compare/run_record.hpp"
#include "troupe/data/checkpoint/checkpoint_names.hpp"
#include "troupe/data/checkpoint/checkpoint_store.hpp"
#include "troupe/data/text/failure.hpp"
#include "troupe/tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace troupe::comparison_test {
namespace {

history_row row_at(uint64_t steps, double loss) {
  history_row result;
  result.epoch = steps / 10;
  result.steps = steps;
  result.seconds = loss; // another one in each run
  result.train_loss = loss;
  result.test_loss = 1.0 / static_cast<double>(steps);
  return result;
}

training_summary summary_of(uint64_t steps, const std::string& sha256) {
  training_summary result;
  result.steps = steps;
  result.parameters_sha256 = sha256;
  result.arithmetic = "one";
  return result;
}

run_record some_run(const std::string& name = "a") {
  run_record result;
  result.name = name;
  result.keys = {{"job.name", "\"" + name + "\""},
                 {"optimizer.learning_rate", "0.1"},
                 {"runtime.threads", "1"},
                 {"training.target_loss", std::nullopt}};
  result.identity = "optimizer.learning_rate = 0x1p-3\ndata.fingerprint = 00ff\n";
  result.history = {row_at(10, 0.5), row_at(20, 0.25), row_at(30, 0.125)};
  result.summary = summary_of(30, "same");
  return result;
}

bits_finding bits_of(const run_record& a, const run_record& b) {
  return compare_runs(std::vector{a, b}).bits.front();
}

TEST(comparison, runs_of_one_job_with_one_hash_are_equal) {
  const std::vector runs{some_run("a"), some_run("b")};
  const auto found = compare_runs(runs);
  EXPECT_TRUE(found.differences.empty()) << "the name is none";
  EXPECT_EQ(found.bits.front().state, bits_state::equal);
  EXPECT_EQ(found.bits.front().equal_until, 30u);
  EXPECT_EQ(found.bits.front().reason, "");
}

TEST(comparison, hashes_of_rows_count_where_both_runs_have_them) {
  auto a = some_run("a"), b = some_run("b");
  a.summary.reset();
  for (auto* run : {&a, &b})
    for (auto& row : run->history)
      row.hash = version_hash{{row.steps, 1}, {row.steps, 2}};
  b.history[1].train_loss = 7; // of other rows, perhaps: bits are what is asked for
  EXPECT_EQ(bits_of(a, b).state, bits_state::equal_so_far);
  EXPECT_EQ(bits_of(a, b).evidence, bits_evidence::hash);
  b.history[2].hash->state.low = 3;
  auto found = bits_of(a, b);
  EXPECT_EQ(found.equal_until, 20u);
  EXPECT_EQ(found.differ_from, 30u);
  EXPECT_EQ(found.evidence, bits_evidence::state_hash) << "the parameters are the same";
  b.history[1].hash->parameters.high = 0;
  found = bits_of(a, b);
  EXPECT_EQ(found.differ_from, 20u);
  EXPECT_EQ(found.evidence, bits_evidence::hash);
  a.history[1].hash.reset(); // of an earlier release
  EXPECT_EQ(bits_of(a, b).evidence, bits_evidence::figures);
}

TEST(comparison, keys_that_change_bits_are_told_from_others) {
  auto other = some_run("b");
  other.keys[1].second = "0.2";
  other.keys[2].second = "4";
  other.keys[3].second = "0.5";
  other.identity = "optimizer.learning_rate = 0x1p-2\ndata.fingerprint = 00fe\n";
  other.summary->arithmetic = "another";
  const auto found = compare_runs(std::vector{some_run(), other}).differences;
  EXPECT_EQ(found, (std::vector<run_difference>{{"optimizer.learning_rate", {"0.1", "0.2"}, true},
                                                {"runtime.threads", {"1", "4"}, false},
                                                {"training.target_loss", {"", "0.5"}, false},
                                                {"data.fingerprint", {"00ff", "00fe"}, true},
                                                {"arithmetic", {"one", "another"}, true}}));
}

TEST(comparison, what_a_run_under_way_has_not_decided_is_no_difference) {
  auto running = some_run("b");
  running.summary.reset();
  running.keys[2].second.reset();
  running.history.pop_back();
  const auto found = compare_runs(std::vector{some_run(), running});
  EXPECT_TRUE(found.differences.empty());
  EXPECT_EQ(found.bits.front().state, bits_state::equal_so_far);
  EXPECT_EQ(found.bits.front().equal_until, 20u);
  EXPECT_EQ(found.bits.front().evidence, bits_evidence::figures);
}

TEST(comparison, the_first_step_that_differs_is_named) {
  auto other = some_run("b");
  other.summary->parameters_sha256 = "other";
  EXPECT_EQ(bits_of(some_run(), other).differ_from, 30u);
  EXPECT_EQ(bits_of(some_run(), other).evidence, bits_evidence::result);
  other.history[1].test_loss = *other.history[1].test_loss + 1e-17; // one bit
  const auto found = bits_of(some_run(), other);
  EXPECT_EQ(found.state, bits_state::differ);
  EXPECT_EQ(found.equal_until, 10u);
  EXPECT_EQ(found.differ_from, 20u);
  EXPECT_EQ(found.evidence, bits_evidence::figures);
}

TEST(comparison, checkpoints_of_one_version_count) {
  auto one = some_run(), other = some_run("b");
  one.summary.reset();
  other.summary.reset();
  one.digests = {{15, {1, 1}}, {25, {1, 1}}};
  other.digests = {{15, {1, 1}}, {25, {1, 2}}};
  const auto found = bits_of(one, other);
  EXPECT_EQ(found.equal_until, 20u);
  EXPECT_EQ(found.differ_from, 25u) << "the optimizer's state counts";
  EXPECT_EQ(found.evidence, bits_evidence::checkpoint);
}

// A run that was cut short has a row of its own: training figures after it are of fewer steps.
TEST(comparison, training_figures_of_other_steps_are_not_compared) {
  auto other = some_run("b");
  other.history.insert(other.history.begin() + 1, row_at(15, 7));
  other.history[2].train_loss = 8;
  EXPECT_EQ(bits_of(some_run(), other).state, bits_state::equal);
  other.history[3].train_loss = 8;
  EXPECT_EQ(bits_of(some_run(), other).differ_from, 30u);
}

TEST(comparison, nothing_in_common_is_unknown) {
  auto other = some_run("b");
  other.summary = summary_of(31, "same");
  other.history = {row_at(11, 0.5)};
  EXPECT_EQ(bits_of(some_run(), other).state, bits_state::unknown);
}

TEST(comparison, not_a_number_is_equal_to_itself) {
  auto one = some_run(), other = some_run("b");
  one.history[0].train_loss = other.history[0].train_loss =
    std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(bits_of(one, other).state, bits_state::equal);
}

TEST(comparison, the_likely_reason_is_told) {
  auto other = some_run("b");
  other.summary->parameters_sha256 = "other";
  EXPECT_TRUE(
    bits_of(some_run(), other).reason.starts_with("nothing that may change bits differs"));
  other.summary->arithmetic = "two";
  EXPECT_EQ(bits_of(some_run(), other).reason,
            "the jobs are the same; the arithmetic differs (one / two)");
  other.summary->reproducible = false;
  EXPECT_TRUE(bits_of(some_run(), other).reason.starts_with("this mode is not reproducible"));
  other.identity += "seed = 2\n";
  EXPECT_EQ(bits_of(some_run(), other).reason, "the jobs differ in seed");
}

TEST(comparison, a_report_marks_the_best_and_says_where_bits_part) {
  auto other = some_run("b");
  other.summary->parameters_sha256 = "other";
  other.history[2].train_loss = 0.0625;
  const std::vector runs{some_run(), other};
  const auto text = comparison_text(runs, compare_runs(runs));
  EXPECT_NE(text.find("train_loss              0.125    0.0625*\n"), text.npos) << text;
  EXPECT_EQ(text.find("validation_loss"), text.npos) << "nobody measured it";
  EXPECT_NE(text.find("the jobs are the same\n"), text.npos) << text;
  EXPECT_NE(text.find("bits of b and a: nothing differs up to step 20 (epoch 2); different from "
                      "step 30 (epoch 3) at the latest, by the figures: "),
            text.npos)
    << text;
  const auto object = comparison_object(runs, compare_runs(runs));
  EXPECT_EQ(object["runs"][1]["train_loss"], 0.0625);
  EXPECT_EQ(object["bits"][0]["differ_from"], 30);
  EXPECT_EQ(object["bits"][0]["state"], "differ");
}

TEST(curves, names_are_escaped_and_what_is_not_finite_is_a_gap) {
  auto run = some_run("<&>");
  run.history[1].train_loss = std::numeric_limits<double>::infinity();
  const auto text = curves_svg(std::vector{run});
  EXPECT_NE(text.find("&lt;&amp;&gt;"), text.npos);
  const auto path = text.find("<path class=\"train\"");
  ASSERT_NE(path, text.npos);
  const auto line = text.substr(path, text.find('\n', path) - path);
  EXPECT_EQ(std::ranges::count(line, 'M'), 2) << line;
  EXPECT_EQ(text.find("inf"), text.npos);
  EXPECT_EQ(text.find("nan"), text.npos);
}

TEST(curves, long_ones_are_thinned_and_keep_their_end) {
  run_record run;
  for (uint64_t i = 1; i <= 50'000; ++i)
    run.history.push_back(row_at(i, 1));
  const auto text = curves_svg(std::vector{run});
  EXPECT_LT(text.size(), 100'000u);
  EXPECT_NE(text.find(">50000</text>"), text.npos);
  EXPECT_FALSE(curves_svg(std::vector{run_record{}}).empty());
}

TEST(curves, evaluations_that_are_rare_are_all_drawn) {
  run_record run;
  for (uint64_t i = 1; i <= 5'000; ++i) {
    run.history.push_back(row_at(i, 1));
    if (i % 50 != 0)
      run.history.back().test_loss.reset();
  }
  const auto text = curves_svg(std::vector{run});
  const auto path = text.find("<path class=\"test\"");
  ASSERT_NE(path, text.npos);
  const auto line = text.substr(path, text.find('\n', path) - path);
  EXPECT_EQ(std::ranges::count(line, 'L') + std::ranges::count(line, 'M'), 100) << line;
}

TEST(run_record, what_is_no_run_is_refused) {
  temporary_folder folder;
  const auto refusal = [](const std::string& path) {
    try {
      read_run(path);
    } catch (const failure& error) {
      return error.where() == path ? error.reason() : error.where();
    }
    return std::string{};
  };
  EXPECT_EQ(refusal(folder.path("none")), "there is no such folder");
  EXPECT_EQ(refusal(folder.path()), "this is no run directory: job.toml is missing");
  folder.write("job.toml", "[data]\nsynthetic = \"regression\"\nrows = 20\nfeatures = 2\n");
  folder.write("identity.txt", "seed = 0\n");
  EXPECT_EQ(refusal(folder.path()), "") << "a run that has just begun";
  folder.write("history.csv", "x\n");
  EXPECT_EQ(refusal(folder.path()), folder.path("history.csv") + ":1");
}

TEST(run_record, checkpoints_that_several_have_are_read) {
  temporary_folder folder;
  const auto with = [&](const std::string& name, uint64_t version, float value) {
    std::filesystem::create_directory(folder.path(name));
    const buffer values{3};
    std::ranges::fill(values.values(), value);
    checkpoint x;
    x.job_sha256 = "job";
    x.version = version;
    x.parameters = values;
    checkpoint_store{posix_disk(), folder.path(name)}.write(x);
    run_record result;
    result.checkpoints = checkpoints_in(folder.path(name));
    return result;
  };
  std::vector runs{with("a", 5, 1), with("b", 5, 1), with("c", 5, 2), with("d", 6, 1)};
  runs[0].checkpoints[6] = folder.path("gone");
  read_common_checkpoints(runs);
  EXPECT_EQ(runs[0].digests.size(), 1u);
  EXPECT_EQ(runs[0].digests, runs[1].digests);
  EXPECT_NE(runs[0].digests, runs[2].digests);
}

} // namespace
} // namespace troupe::comparison_test
