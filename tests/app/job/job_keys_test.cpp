#include "app/job/job_text.hpp"
#include "app/toml/parse_toml.hpp"
#include "coordinators/job/job_check.hpp"
#include "models/keys/key_table.hpp"
#include "tests/support/contains.hpp"
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

namespace troupe::job_keys_test {
namespace {

// What a setter makes of a value: the complaints.
std::vector<complaint> set(job& x, const std::string& path, const std::string& value) {
  std::vector<complaint> result;
  const auto* key = find_job_key(path);
  EXPECT_TRUE(key) << path;
  key->set(x, *parse_toml_value(value), path, result);
  return result;
}

/// The job after a value that is taken.
job with(const std::string& path, const std::string& value, job x = {}) {
  EXPECT_TRUE(set(x, path, value).empty()) << path << " = " << value;
  return x;
}

std::string complaint_about(const std::string& path, const std::string& value) {
  job x;
  const auto found = set(x, path, value);
  EXPECT_EQ(found.size(), 1u) << path;
  EXPECT_EQ(x, job{}) << path << ": a refused value changes nothing";
  return found.empty() ? "" : found[0].why + (found[0].hint.empty() ? "" : "; " + found[0].hint);
}

TEST(job_keys, class_weights_are_named_or_listed) {
  const auto named = with("training.class_weights", "{ No = 1, \"in part\" = 2.5 }");
  EXPECT_EQ(named.training.class_weights,
            (class_weight_options{class_weight_kind::list, {1, 2.5}, {"No", "in part"}}));
  const auto& key = *find_job_key("training.class_weights");
  EXPECT_EQ(with("training.class_weights", *key.get(named)), named) << "its text is read back";
  EXPECT_EQ(with("training.class_weights", "[1, 2.5]").training.class_weights.names.size(), 0u);
  EXPECT_NE(key.identity(named), key.identity(with("training.class_weights", "[1, 2.5]")));
  EXPECT_EQ(complaint_about("training.class_weights", "{ No = \"much\" }"),
            "expected a number, got the string \"much\"");
}

TEST(job_keys, paths_are_unique_and_sections_are_neighbours) {
  std::set<std::string> paths;
  std::vector<std::string> sections;
  for (const auto& key : job_keys()) {
    EXPECT_TRUE(paths.insert(key.path).second) << key.path;
    const auto section = key.path.substr(0, key.path.rfind('.'));
    if (sections.empty() || sections.back() != section)
      sections.push_back(section);
  }
  EXPECT_EQ(sections,
            (std::vector<std::string>{"job", "data", "model", "optimizer", "optimizer.schedule",
                                      "optimizer.plateau", "training", "merge", "federated",
                                      "privacy", "parallel", "runtime", "checkpoint", "output"}));
}

TEST(job_keys, every_key_has_texts_for_people) {
  for (const auto& key : job_keys()) {
    EXPECT_FALSE(key.words().empty()) << key.path;
    EXPECT_FALSE(key.meaning.empty()) << key.path;
    EXPECT_TRUE(key.get(job{}) || !key.unset.empty()) << key.path;
  }
}

TEST(job_keys, every_choice_of_merging_is_one_that_some_job_may_have) {
  for (const std::string path :
       {"merge.rule", "merge.weighting", "merge.outer", "merge.averaging"}) {
    const auto* key = find_job_key(path);
    std::istringstream names{key->words()};
    size_t count = 0;
    for (std::string name; names >> name; ++count) {
      job x;
      x.data.synthetic = synthetic_kind::regression;
      x.training.strategy = strategy_kind::parameters;
      if (name == "|")
        continue;
      EXPECT_TRUE(set(x, path, name).empty()) << path << name;
      for (const auto& problem : problems(x))
        EXPECT_NE(problem.key, path) << name << ": " << problem.why;
    }
    EXPECT_GE(count, 3u) << key->words();
  }
  EXPECT_TRUE(test::contains(complaint_about("merge.weighting", "\"ratio\""), "\"samples\""));
}

TEST(job_keys, a_header_is_true_or_false_too) {
  const auto no = with("data.header", "false");
  EXPECT_EQ(with("data.header", "true").data.header, csv_header::yes);
  EXPECT_EQ(no.data.header, csv_header::no);
  EXPECT_EQ(with("data.header", "\"auto\"", no).data.header, csv_header::automatic);
  EXPECT_TRUE(test::contains(complaint_about("data.header", "1"), "\"auto\""));
}

TEST(job_keys, every_key_reads_what_it_writes) {
  for (const auto& key : job_keys()) {
    job x;
    if (const auto text = key.get(x)) {
      EXPECT_TRUE(set(x, key.path, *text).empty()) << key.path;
    }
    EXPECT_EQ(x, job{}) << key.path;
  }
}

TEST(job_keys, values_reach_their_fields) {
  EXPECT_EQ(with("training.batch_size", "64").training.batch_size, 64u);
  EXPECT_EQ(with("training.batch_size", "'all'").training.batch_size, 0u);
  EXPECT_EQ(with("model.hidden", "[64, 32]").model.hidden, (std::vector<size_t>{64, 32}));
  EXPECT_EQ(with("data.target", "3").data.target, "3");
  EXPECT_EQ(with("optimizer.learning_rate", "1").optimizer.learning_rate, 1.0);
  EXPECT_EQ(with("model.loss", "'squared'").model.loss, loss_kind::squared);
}

TEST(job_keys, activation_is_a_name_or_a_list_of_names) {
  using enum activation_kind;
  auto x = with("model.activation", "'gelu'");
  EXPECT_EQ(x.model.activation, activation_list{gelu});
  EXPECT_EQ(find_job_key("model.activation")->get(x), "\"gelu\"");
  x = with("model.activation", "['relu', 'leaky-relu']");
  EXPECT_EQ(x.model.activation, (activation_list{std::vector{relu, leaky_relu}}));
  EXPECT_EQ(find_job_key("model.activation")->get(x), "[\"relu\", \"leaky-relu\"]");
  EXPECT_EQ(set(x, "model.activation", "['relu', 'geluu', 5]").size(), 2u);
  EXPECT_EQ(x.model.activation.kinds().size(), 2u) << "a list with mistakes changes nothing";
  EXPECT_EQ(set(x, "model.activation", "[]").size(), 1u);
}

TEST(job_keys, class_weights_are_a_rule_or_a_list) {
  const std::string key = "training.class_weights";
  auto x = with(key, "'balanced'");
  EXPECT_EQ(x.training.class_weights.kind, class_weight_kind::balanced);
  x = with(key, "[1, 2.5]");
  EXPECT_EQ(x.training.class_weights, (class_weight_options{class_weight_kind::list, {1, 2.5}}));
  EXPECT_EQ(find_job_key(key)->get(x), "[1.0, 2.5]");
  EXPECT_EQ(with(key, "'none'", x).training.class_weights, class_weight_options{});
  EXPECT_EQ(set(x, key, "'even'").size(), 1u);
  EXPECT_EQ(set(x, key, "[1, 'two']").size(), 1u);
}

TEST(job_keys, then_reads_a_schedule_within_a_schedule) {
  const auto x = with("optimizer.schedule.then", "{ kind = 'cosine', steps = 5 }");
  ASSERT_EQ(x.optimizer.schedule.then.size(), 1u);
  EXPECT_EQ(x.optimizer.schedule.then[0].kind, schedule_kind::cosine);
  EXPECT_EQ(x.optimizer.schedule.then[0].steps, 5u);
}

TEST(job_keys, parts_read_a_list_of_schedules) {
  const auto x = with("optimizer.schedule.parts",
                      "[{ kind = 'linear', steps = 5 }, { kind = 'chained', parts = [{}] }]");
  ASSERT_EQ(x.optimizer.schedule.parts.size(), 2u);
  EXPECT_EQ(x.optimizer.schedule.parts[0].kind, schedule_kind::linear);
  EXPECT_EQ(x.optimizer.schedule.parts[1].parts.size(), 1u);
  EXPECT_EQ(with("optimizer.schedule.milestones", "[3, 8]").optimizer.schedule.milestones,
            (std::vector<uint64_t>{3, 8}));
  job y;
  const auto found = set(y, "optimizer.schedule.parts", "[{}, { kid = 'step' }]");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].key, "optimizer.schedule.parts[1].kind") << "the one that was meant";
}

TEST(job_keys, schedules_nest_only_so_deep) {
  std::string value = "{ kind = 'warmup' }";
  for (int i = 0; i < 12; ++i)
    value = "{ kind = 'warmup', then = " + value + " }";
  job x;
  const auto found = set(x, "optimizer.schedule.then", value);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].why, "too many schedules in one another");
}

TEST(job_keys, refusals_say_what_was_expected_and_what_came) {
  struct refused {
    const char* path;
    const char* value;
    const char* complaint;
  };
  const auto one_of_three = "expected one of staleness, first and lag; write { staleness = 2 }, "
                            "{ first = 3 } or { lag = 1.5 }";
  const refused values[] = {
    {"training.epochs", "'ten'",
     "expected an integer from 1 to 1000000000000, got the string \"ten\""},
    {"training.epochs", "3.0", "expected an integer from 1 to 1000000000000, got the number 3.0"},
    {"job.seed", "-1", "expected an integer of at least 0, got the integer -1"},
    {"data.standardize", "1", "expected true or false, got the integer 1"},
    {"optimizer.learning_rate", "inf", "expected a finite number, got the number inf"},
    {"optimizer.learning_rate", "[]", "expected a number, got a list"},
    {"data.file", "5", "expected a string, got the integer 5"},
    {"optimizer.schedule.then", "5",
     "expected a table, got the integer 5; write { kind = \"cosine\", steps = 100 }"},
    {"optimizer.schedule.milestones", "[0]",
     "expected an integer from 1 to 1000000000000000, got the integer 0"},
    {"optimizer.schedule.milestones", "7",
     "expected a list of integers, got the integer 7; write milestones = [100, 200]"},
    {"optimizer.schedule.parts", "{}",
     "expected a list of tables, got a table; write parts = [{ kind = \"linear\", steps = 100 }, { "
     "kind = \"constant\" }]"},
    {"optimizer.schedule.parts", "[5]",
     "expected a table, got the integer 5; write { kind = \"cosine\", steps = 100 }"},
    {"training.batch_size", "0", "expected an integer from 1 to 1000000000, got the integer 0"},
    {"training.batch_size", "'some'",
     "expected an integer from 1 to 1000000000 or \"all\", got the string \"some\""},
    {"data.classes", "1", "expected an integer from 2 to 1000000, got the integer 1"},
    {"runtime.policy", "'sharin'",
     "expected one of \"sharing\" | \"stealing\", got the string \"sharin\"; did you mean "
     "'sharing'?"},
    {"training.strategy", "'telepathy'",
     "expected one of \"gradients\" | \"parameters\" | \"federated\", got the string "
     "\"telepathy\""},
    {"training.consistency", "{ first = 0 }",
     "expected an integer from 1 to 1048576, got the integer 0"},
    {"training.consistency", "'bounded'",
     "expected one of \"synchronous\" | \"asynchronous\", got the string \"bounded\""},
    {"training.consistency", "{ staleness = 1, first = 2 }", one_of_three},
    {"training.consistency", "{ stale = 1 }", one_of_three},
    {"training.consistency", "{}", one_of_three},
  };
  for (const auto& [path, value, complaint] : values)
    EXPECT_EQ(complaint_about(path, value), complaint);
  with("training.evaluate_every", "0");
}

// Nothing that people write by mistake becomes hours of silence or an overflow.
TEST(job_keys, whole_numbers_have_a_greatest_value_that_is_named) {
  for (const auto& key : job_keys()) {
    if (!key.words().starts_with("integer") || key.path == "job.seed")
      continue;
    ASSERT_TRUE(key.words().starts_with("integer from ")) << key.path << ": " << key.words();
    const auto most = std::stoull(key.words().substr(key.words().find(" to ") + 4));
    const auto above = std::to_string(most + 1);
    const auto said = complaint_about(key.path, above);
    EXPECT_TRUE(test::contains(said, " to " + std::to_string(most)));
    EXPECT_TRUE(test::contains(said, "the integer " + above));
    with(key.path, std::to_string(most));
  }
  EXPECT_NE(complaint_about("model.hidden", "[9223372036854775807]"), "");
  EXPECT_NE(complaint_about("training.consistency", "{ staleness = 9223372036854775807 }"), "");
}

TEST(job_keys, consistency_is_a_name_or_a_bound) {
  const auto text_after = [](const std::string& value) {
    return *find_job_key("training.consistency")->get(with("training.consistency", value));
  };
  for (const std::string text : {"\"synchronous\"", "\"asynchronous\"", "{ staleness = 2 }",
                                 "{ first = 3 }", "{ lag = 1.5 }"})
    EXPECT_EQ(text_after(text), text);
  const auto x = with("training.consistency", "{ first = 3 }");
  EXPECT_EQ(x.training.consistency, consistency_kind::half_synchronous);
  EXPECT_EQ(x.training.first_count, 3u);
}

TEST(job_keys, each_wrong_unit_of_a_hidden_layer_is_named) {
  job x;
  const auto found = set(x, "model.hidden", "[64, 0, 'x']");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].why, "expected an integer from 1 to 10000000, got the integer 0");
  EXPECT_EQ(found[1].why, "expected an integer from 1 to 10000000, got the string \"x\"");
}

TEST(job_keys, names_that_would_leave_the_runs_folder_are_refused) {
  for (const auto* name : {"''", "'.'", "'..'", "'a/b'"})
    EXPECT_EQ(complaint_about("job.name", name).substr(0, 20), "no name for a run: t") << name;
}

TEST(job_keys, meant_key_is_looked_for_in_other_sections_too) {
  const auto paths = paths_of(job_keys());
  EXPECT_EQ(key_meant_by("training.epoch", paths), "training.epochs");
  EXPECT_EQ(key_meant_by("training.learning_rate", paths), "optimizer.learning_rate");
  EXPECT_EQ(key_meant_by("training.learning_rat", paths), "optimizer.learning_rate");
  EXPECT_EQ(key_meant_by("epochs", paths), "training.epochs");
  EXPECT_EQ(key_meant_by("modle", paths), "model");
  EXPECT_EQ(key_meant_by("training.zzzzzzzz", paths), std::nullopt);
}

TEST(job_keys, keys_decided_later_are_comments) {
  const auto text = job_text(job{});
  EXPECT_TRUE(test::contains(text, "\n# slices: batch_size / 64, from 1 to 16\n"));
  EXPECT_TRUE(test::contains(text, "\nepochs = 10\n"));
  EXPECT_TRUE(test::contains(text, "\n[optimizer.schedule]\nkind = \"constant\"\n"));
}

// Regenerate with: troupe config keys
TEST(job_keys, documentation_holds_the_table_of_keys) {
  std::ifstream file(TROUPE_SOURCE_DIR "/docs/jobs.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(text.find("\n" + job_keys_markdown()), std::string::npos)
    << "docs/jobs.md should hold this table:\n"
    << job_keys_markdown();
}

} // namespace
} // namespace troupe::job_keys_test
