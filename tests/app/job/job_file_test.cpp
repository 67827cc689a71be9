#include "app/job/job_file.hpp"

#include "app/job/job_text.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace troupe::job_file_test {
namespace {

using texts = std::vector<std::string>;

class job_file : public testing::Test {
protected:
  job load(const std::string& text, const texts& sets = {}, const environment& variables = {}) {
    return load_job(folder.write("some.toml", text), sets, variables);
  }

  // "line:column: why; hint" of each error; other places as they are.
  texts errors(const std::string& text, const texts& sets = {}, const environment& variables = {}) {
    texts result;
    try {
      load(text, sets, variables);
    } catch (const job_errors& thrown) {
      EXPECT_EQ(thrown.code(), failure_code::bad_job);
      const std::string start = folder.path("some.toml") + ":";
      for (const auto& error : thrown.errors()) {
        const bool in_file = error.where.starts_with(start);
        result.push_back((in_file ? error.where.substr(start.size()) : error.where) + ": " +
                         error.why + (error.hint.empty() ? "" : "; " + error.hint));
      }
    }
    return result;
  }

  temporary_folder folder;
};

constexpr const char* least = "data.synthetic = \"classification\"\n";

TEST_F(job_file, sections_fill_the_job) {
  const auto x = load("[job]\nseed = 7\n[data]\nsynthetic = \"regression\"\ntargets = 3\n"
                      "[optimizer]\nkind = \"adam\"\n"
                      "schedule = { kind = \"warmup\", steps = 4, "
                      "then = { kind = \"step\", steps = 2 } }\n");
  EXPECT_EQ(x.seed, 7u);
  EXPECT_EQ(x.data.synthetic, synthetic_kind::regression);
  EXPECT_EQ(x.data.targets, 3u);
  EXPECT_EQ(x.optimizer.kind, optimizer_kind::adam);
  EXPECT_EQ(x.optimizer.schedule.steps, 4u);
  ASSERT_EQ(x.optimizer.schedule.then.size(), 1u);
  EXPECT_EQ(x.optimizer.schedule.then[0].kind, schedule_kind::step);
}

TEST_F(job_file, name_and_output_directory_come_from_the_file_name) {
  EXPECT_EQ(load(least).name, "some");
  EXPECT_EQ(load(least).output.directory, "runs/some");
  EXPECT_EQ(load(least, {"job.name=other"}).output.directory, "runs/other");
  EXPECT_EQ(load(least, {"output.directory=here"}).output.directory, "here");
}

TEST_F(job_file, data_file_is_relative_to_the_file_that_names_it) {
  const std::string text = "data.file = \"sub/../rows.csv\"\n";
  EXPECT_EQ(load(text).data.file, folder.path("rows.csv"));
  EXPECT_EQ(load("data.file = \"/else/rows.csv\"\n").data.file, "/else/rows.csv");
  EXPECT_EQ(load(text, {"data.file=here.csv"}).data.file, "here.csv");
  EXPECT_EQ(load(text, {}, {{"TROUPE_DATA__FILE", "there.csv"}}).data.file, "there.csv");
}

TEST_F(job_file, labels_file_is_relative_to_the_file_that_names_it) {
  const std::string text = "data.file = \"rows.npy\"\ndata.labels_file = \"a/labels.npy\"\n";
  EXPECT_EQ(load(text).data.labels_file, folder.path("a/labels.npy"));
  EXPECT_EQ(load(text, {"data.labels_file=here.npy"}).data.labels_file, "here.npy");
}

TEST_F(job_file, options_of_other_formats_are_refused) {
  const std::string text = "[data]\nfile = \"x\"\n";
  EXPECT_EQ(errors(text + "index_base = 2\n"),
            (texts{"3:14: expected an integer from 0 to 1, got the integer 2"}));
  EXPECT_EQ(errors(text + "labels_file = \"y\"\nformat = \"libsvm\"\n"),
            (texts{"3:1: 'data.labels_file': libsvm files hold their targets; leave "
                   "data.labels_file out"}));
  EXPECT_EQ(
    errors(text + "labels_file = \"y\"\ntarget = 0\n"),
    (texts{"4:1: 'data.target': the targets come from data.labels_file; keep one of the two"}));
  EXPECT_EQ(errors(std::string{least} + "data.labels_file = \"y\"\n"),
            (texts{"2:6: 'data.labels_file': the job names labels but no data.file; name the rows "
                   "that they belong to"}));
}

TEST_F(job_file, later_sources_win) {
  const std::string text = std::string{least} + "training.epochs = 1\n";
  const environment variables{{"TROUPE_TRAINING__EPOCHS", "2"}};
  EXPECT_EQ(load(text).training.epochs, 1u);
  EXPECT_EQ(load(text, {}, variables).training.epochs, 2u);
  EXPECT_EQ(load(text, {"training.epochs=3"}, variables).training.epochs, 3u);
  EXPECT_EQ(load(text, {"training.epochs=3", "training.epochs=4"}, variables).training.epochs, 4u);
}

TEST_F(job_file, set_takes_toml_and_bare_words) {
  EXPECT_EQ(load(least, {"model.hidden=[3, 4]"}).model.hidden, (std::vector<size_t>{3, 4}));
  EXPECT_EQ(load(least, {"optimizer.kind=adam"}).optimizer.kind, optimizer_kind::adam);
  EXPECT_EQ(load(least, {"optimizer.kind=\"adam\""}).optimizer.kind, optimizer_kind::adam);
  EXPECT_EQ(load(least, {"data.target=a=b"}).data.target, "a=b");
  EXPECT_EQ(load(least, {"job.name=2024"}).name, "2024");
  EXPECT_EQ(load(least, {"job.name=2024-01-01"}).name, "2024-01-01");
}

TEST_F(job_file, schedules_are_set_whole_or_by_key) {
  const auto whole = load(least, {"optimizer.schedule={ kind = \"cosine\", steps = 9 }"});
  EXPECT_EQ(whole.optimizer.schedule.kind, schedule_kind::cosine);
  EXPECT_EQ(whole.optimizer.schedule.steps, 9u);
  const auto one = load(least, {}, {{"TROUPE_OPTIMIZER__SCHEDULE__KIND", "cosine"}});
  EXPECT_EQ(one.optimizer.schedule.kind, schedule_kind::cosine);
}

TEST_F(job_file, an_override_without_a_value_takes_a_key_back) {
  const std::string text = std::string{least} + "[training]\npatience = 3\nslices = 2\n"
                                                "[optimizer.schedule]\nkind = \"cosine\"\n"
                                                "[model]\nloss = \"squared\"\n";
  EXPECT_EQ(
    load(text, {"training.patience=", "training.slices=", "model.loss=", "optimizer.schedule="}),
    load(least));
  EXPECT_EQ(load(text, {"training.patience=", "training.patience=5"}).training.patience, 5u);
  EXPECT_EQ(load(text, {"training.patience=5", "training.patience="}).training.patience,
            std::nullopt);
  EXPECT_EQ(load(text, {"job.name="}).name, "some");
  EXPECT_EQ(load(text, {}, {{"TROUPE_TRAINING__PATIENCE", ""}}).training.patience, std::nullopt);
  for (const auto& key : job_keys()) {
    if (key.path == "data.synthetic") // then there are no data
      continue;
    const auto x = load(least, {key.path + "="});
    EXPECT_EQ(x.training, job{}.training) << key.path;
  }
  EXPECT_EQ(errors(least, {"training.patienc="}).size(), 1u);
}

// Words of other programs are not misspelt words of ours.
TEST_F(job_file, other_names_of_keys_are_known) {
  const std::pair<const char*, const char*> words[] = {
    {"optimizer.lr", "did you mean 'optimizer.learning_rate'?"},
    {"optimizer.alpha", "is it optimizer.learning_rate, or optimizer.l2?"},
    {"training.batch", "did you mean 'training.batch_size'?"},
    {"model.layers", "leave it out; kinds that take it: chain"},
    {"training.nodes", "nodes stand in a cluster file, as [[node]] (docs/clusters.md)"},
    {"training.early_stopping", "did you mean 'training.patience'?"},
    {"data.val_split", "did you mean 'data.validation_fraction'?"},
    {"training.workers", "did you mean 'training.replicas'?"},
    {"training.metric", "did you mean 'training.metrics'?"},
    {"checkpoint.every", "did you mean 'checkpoint.every_steps'?"}};
  for (const auto& [word, hint] : words) {
    const auto found = errors(least, {std::string{word} + "=1"});
    ASSERT_EQ(found.size(), 1u) << word;
    EXPECT_TRUE(found[0].ends_with(std::string{"; "} + hint)) << found[0];
  }
}

TEST_F(job_file, one_underscore_for_the_dot_is_told) {
  EXPECT_EQ(errors(least, {}, {{"TROUPE_TRAINING_BATCH_SIZE", "5"}}),
            (texts{"environment TROUPE_TRAINING_BATCH_SIZE: sets nothing: two underscores stand "
                   "for the dot of 'training.batch_size'; call it TROUPE_TRAINING__BATCH_SIZE"}));
}

TEST_F(job_file, environment_names_without_two_underscores_are_not_ours) {
  EXPECT_EQ(load(least, {}, {{"TROUPE_DATA_DIR", "x"}, {"OTHER__KEY", "1"}}), load(least));
}

TEST_F(job_file, all_errors_come_at_once_with_their_places) {
  const auto found = errors("[data]\nfille = \"x\"\ntest_fraction = \"half\"\n[training]\n"
                            "epoch = 3\n[optimizer]\nlearning_rate = -1\n");
  EXPECT_EQ(found, (texts{"2:1: unknown key 'data.fille'; did you mean 'data.file'?",
                          "3:17: expected a number, got the string \"half\"",
                          "5:1: unknown key 'training.epoch'; did you mean 'training.epochs'?",
                          "7:1: 'optimizer.learning_rate': must be above 0; use a number such as "
                          "0.01"}));
}

TEST_F(job_file, problems_of_unset_keys_point_at_the_section_or_the_file) {
  EXPECT_EQ(errors("\n[data]\nrows = 5\n").at(0).substr(0, 17), "2:2: 'data.file':");
  EXPECT_EQ(errors("").at(0).substr(0, 17), "1:1: 'data.file':");
}

TEST_F(job_file, problems_point_at_the_override_that_caused_them) {
  EXPECT_EQ(errors(least, {"optimizer.learning_rate=-1"}).at(0).substr(0, 60),
            "--set optimizer.learning_rate=-1: 'optimizer.learning_rate':");
  EXPECT_EQ(errors(least, {}, {{"TROUPE_OPTIMIZER__EPSILON", "0"}}).at(0).substr(0, 60),
            "environment TROUPE_OPTIMIZER__EPSILON: 'optimizer.epsilon': ");
}

TEST_F(job_file, wrong_overrides_are_errors_too) {
  EXPECT_EQ(errors(least, {"training.epochs", "model.hiden=[3]", "training.epochs=abc"},
                   {{"TROUPE_TRAINING__EPOCH", "3"}}),
            (texts{"environment TROUPE_TRAINING__EPOCH: unknown key 'training.epoch'; did you mean "
                   "'training.epochs'?",
                   "--set training.epochs: not of the form key=value; write --set "
                   "training.epochs=5",
                   "--set model.hiden=[3]: unknown key 'model.hiden'; did you mean 'model.hidden'?",
                   "--set training.epochs=abc: expected an integer from 1 to 1000000000000, got "
                   "the string \"abc\""}));
}

// Each dot would be a table in another, and these are freed by recursion.
TEST_F(job_file, overrides_with_more_dots_than_any_key_are_not_taken_apart) {
  for (const size_t dots : {64, 65, 120'000}) {
    const std::string path = "x" + std::string(dots, '.');
    const auto found = errors(least, {path + "=1"});
    ASSERT_EQ(found.size(), 1u) << dots;
    EXPECT_NE(found[0].find("unknown key '" + (dots == 64 ? "x" : path) + "'"), std::string::npos);
  }
}

TEST_F(job_file, sections_must_be_tables_and_keys_must_be_in_one) {
  EXPECT_EQ(errors(std::string{least} + "model = 3\nepochs = 2\n"),
            (texts{"2:9: expected a table, got the integer 3; write [model] and its keys below",
                   "3:1: unknown key 'epochs'; did you mean 'training.epochs'?"}));
}

TEST_F(job_file, quoted_keys_with_dots_are_no_paths) {
  EXPECT_EQ(errors(std::string{least} + "\"training.epochs\" = 2\n").size(), 1u);
}

TEST_F(job_file, errors_within_then_point_into_it) {
  const auto found =
    errors(std::string{least} +
           "optimizer.schedule = { kind = \"warmup\", steps = 4, then = { kid = \"step\" } }\n");
  EXPECT_EQ(found, (texts{"2:61: unknown key 'optimizer.schedule.then.kid'; did you mean "
                          "'optimizer.schedule.then.kind'?"}));
}

TEST_F(job_file, syntax_errors_say_line_and_column) {
  const auto found = errors("[data]\nrows = = 3\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].substr(0, 5), "2:8: ");
}

TEST_F(job_file, too_many_errors_are_cut_short) {
  std::string text = least;
  for (int i = 0; i < 300; ++i)
    text += "nonsense" + std::to_string(i) + " = 1\n";
  const auto found = errors(text);
  ASSERT_EQ(found.size(), 101u);
  EXPECT_EQ(found.back(), ": and at least 200 more errors");
}

TEST_F(job_file, text_of_the_exception_lists_every_error) {
  const job_errors two{{{"a:1:1", "first", "do this"}, {"a:2:1", "second", ""}}};
  EXPECT_STREQ(two.what(), "a:1:1: first; do this\na:2:1: second");
  const job_errors one{{{"a:1:1", "first", "do this"}}};
  EXPECT_STREQ(one.what(), "a:1:1: first; do this");
  EXPECT_EQ(one.hint(), "do this");
}

TEST_F(job_file, huge_files_are_refused_unread) {
  const auto path = folder.write("some.toml", "");
  std::filesystem::resize_file(path, 100'000'000);
  try {
    load_job(path, {}, {});
    FAIL();
  } catch (const job_errors& error) {
    EXPECT_EQ(error.reason(), "a job file of 100000000 bytes, at most 1048576 are read");
  }
}

TEST_F(job_file, missing_files_and_folders_are_missing_input) {
  for (const auto& path : {folder.path("none.toml"), folder.path()}) {
    try {
      load_job(path, {}, {});
      FAIL() << path;
    } catch (const failure& error) {
      EXPECT_EQ(error.code(), failure_code::missing_input);
      EXPECT_EQ(error.where(), path);
    }
  }
}

} // namespace
} // namespace troupe::job_file_test
