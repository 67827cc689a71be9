// An asynchronous run from its record: the same bits, whoever computes now, in whatever order messages come.

#include "actors/tasks/replay_policy.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/training.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace troupe::replay_policy_test {
namespace {

struct mode {
  const char* name;
  std::function<void(job&)> choose;
};

const std::vector<mode> modes{
  {"asynchronous", [](job&) {}},
  {"clipped, with penalties", [](job& x) { x.optimizer.clip_norm = 0.5, x.optimizer.l2 = 0.01; }},
  {"staleness 1",
   [](job& x) {
     x.training.consistency = consistency_kind::bounded;
     x.training.staleness_max = 1;
   }},
  {"first 2 of 3",
   [](job& x) {
     x.training.consistency = consistency_kind::half_synchronous;
     x.training.first_count = 2;
   }},
  {"lag",
   [](job& x) {
     x.training.consistency = consistency_kind::lag;
     x.training.lag_ratio = 0.4;
   }},
  {"shorter late steps", [](job& x) { x.training.late_steps = step_scaling::polynomial; }},
  {"delay compensation", [](job& x) { x.training.delay_compensation = 0.04; }}};

job asynchronous_job(const mode& m) {
  auto x = test::small_job();
  x.training.slices.reset();
  x.training.replicas = 3;
  x.training.epochs = 4;
  x.training.consistency = consistency_kind::asynchronous;
  m.choose(x);
  return x;
}

company_options recording(const temporary_folder& folder) {
  company_options result;
  result.decisions.file = folder.path("sequence.txt");
  return result;
}

company_options repeating(const company_options& recorded) {
  company_options result;
  result.decisions.replay =
    std::make_shared<const recorded_sequence>(read_sequence(recorded.decisions.file));
  return result;
}

void expect_same(const test::company_outcome& repeated, const test::company_outcome& recorded,
                 const std::string& what) {
  EXPECT_EQ(repeated.parameters, recorded.parameters) << what;
  ASSERT_EQ(repeated.finished.history.size(), recorded.finished.history.size()) << what;
  for (size_t i = 0; i < recorded.finished.history.size(); ++i) {
    EXPECT_EQ(repeated.finished.history[i].test_loss, recorded.finished.history[i].test_loss)
      << what << ", row " << i;
    EXPECT_EQ(repeated.finished.history[i].train_loss, recorded.finished.history[i].train_loss)
      << what << ", row " << i;
  }
}

TEST(replay_policy, repeats_every_mode_with_any_replicas_in_any_order) {
  for (const auto& m : modes)
    for (uint64_t seed = 0; seed < 4; ++seed) {
      const temporary_folder folder;
      auto x = asynchronous_job(m);
      const auto options = recording(folder);
      const auto recorded = test::train_in_order(x, seed, options);
      for (size_t replicas = 1; replicas <= 4; ++replicas) {
        x.training.replicas = replicas == 1 && x.training.first_count > 1 ? 2 : replicas;
        expect_same(test::train_in_order(x, seed + 7 * replicas, repeating(options)), recorded,
                    std::string{m.name} + ", seed " + std::to_string(seed) + ", replicas " +
                      std::to_string(replicas));
      }
    }
}

TEST(replay_policy, repeats_a_run_that_lost_replicas_though_it_loses_others) {
  for (const auto& m : modes)
    for (uint64_t seed = 0; seed < 6; ++seed) {
      const temporary_folder folder;
      const auto x = asynchronous_job(m);
      const auto options = recording(folder);
      const auto recorded = test::train_with_losses(x, seed, 1 + seed % 2, options);
      const auto what = std::string{m.name} + ", seed " + std::to_string(seed);
      expect_same(test::train_in_order(x, seed, repeating(options)), recorded, what);
      expect_same(test::train_with_losses(x, seed + 100, 1 + (seed + 1) % 2, repeating(options)),
                  recorded, what + ", with losses");
    }
}

TEST(replay_policy, repeats_real_threads) {
  const temporary_folder folder;
  auto x = asynchronous_job(modes.front());
  const auto options = recording(folder);
  const auto recorded = test::train_company(4, x, options);
  x.training.replicas = 2;
  expect_same(test::train_company(2, x, repeating(options)), recorded, "threads");
}

TEST(replay_policy, a_repeated_run_has_a_record_of_its_own_that_says_the_same) {
  const temporary_folder folder, again;
  const auto x = asynchronous_job(modes[4]);
  const auto options = recording(folder);
  const auto recorded = test::train_with_losses(x, 3, 1, options);
  auto second = repeating(options);
  second.decisions.file = recording(again).decisions.file;
  test::train_in_order(x, 9, second);
  expect_same(test::train_in_order(x, 2, repeating(second)), recorded, "the second record");
}

TEST(replay_policy, ends_where_the_record_ends) {
  const temporary_folder folder;
  const auto x = asynchronous_job(modes.front());
  const auto options = recording(folder);
  test::train_in_order(x, 1, options);
  auto decisions = read_sequence(options.decisions.file);
  const auto seventh = [&] { // version 7, whatever is open there
    uint64_t version = 0;
    for (size_t i = 0;; ++i)
      if (decisions[i].kind == decision_kind::take && ++version == 7)
        return i + 2; // with its `close`
  };
  decisions.resize(seventh());
  company_options cut;
  cut.decisions.replay = std::make_shared<const recorded_sequence>(decisions);
  for (uint64_t seed = 0; seed < 3; ++seed) {
    const auto outcome = test::train_in_order(x, seed, cut);
    EXPECT_EQ(outcome.finished.version, 7u);
    EXPECT_EQ(outcome.finished.reason, static_cast<uint8_t>(stop_reason::record));
    EXPECT_FALSE(outcome.finished.failed);
  }
}

TEST(replay_policy, a_record_that_cannot_be_written_costs_no_run) {
  const temporary_folder folder;
  company_options options;
  options.decisions.file = folder.path("missing/sequence.txt");
  std::vector<training_progress> progress;
  const auto outcome =
    test::train_with_losses(asynchronous_job(modes.front()), 1, 0, options, &progress);
  EXPECT_FALSE(outcome.finished.failed);
  EXPECT_EQ(outcome.finished.version, 20u);
  const auto says = [](const auto& x) {
    return x.notice.find("cannot be repeated with --replay") != std::string::npos;
  };
  EXPECT_EQ(std::ranges::count_if(progress, says), 1);
}

TEST(replay_policy, another_order_of_decisions_is_another_run) {
  const temporary_folder folder;
  const auto x = asynchronous_job(modes.front());
  const auto options = recording(folder);
  const auto recorded = test::train_in_order(x, 1, options);
  auto decisions = read_sequence(options.decisions.file);
  std::vector<size_t> takes;
  for (size_t i = 0; i < decisions.size(); ++i)
    if (decisions[i].kind == decision_kind::take)
      takes.push_back(i);
  decisions[takes[7]].scale = 0.25;
  company_options changed;
  changed.decisions.replay = std::make_shared<const recorded_sequence>(decisions);
  EXPECT_NE(test::train_in_order(x, 1, changed).parameters, recorded.parameters);
}

} // namespace
} // namespace troupe::replay_policy_test
