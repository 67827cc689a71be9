#include "app/job/job_file.hpp"

#include "app/job/job_text.hpp"
#include "coordinators/job/job_check.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

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

const std::string least_job = "data.synthetic = \"classification\"\n";

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
  EXPECT_EQ(load(least_job).name, "some");
  EXPECT_EQ(load(least_job).output.directory, "runs/some");
  EXPECT_EQ(load(least_job, {"job.name=other"}).output.directory, "runs/other");
  EXPECT_EQ(load(least_job, {"output.directory=here"}).output.directory, "here");
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

TEST_F(job_file, wrong_keys_are_told_at_their_place) {
  const std::string file = "[data]\nfile = \"x\"\n";
  const std::pair<std::string, texts> files[] = {
    {file + "index_base = 2\n", {"3:14: expected an integer from 0 to 1, got the integer 2"}},
    {file + "labels_file = \"y\"\nformat = \"libsvm\"\n",
     {"3:1: 'data.labels_file': libsvm files hold their targets; leave data.labels_file out"}},
    {file + "labels_file = \"y\"\ntarget = 0\n",
     {"4:1: 'data.target': the targets come from data.labels_file; keep one of the two"}},
    {least_job + "data.labels_file = \"y\"\n",
     {"2:6: 'data.labels_file': the job names labels but no data.file; name the rows that they "
      "belong to"}},
    {"[data]\nfille = \"x\"\ntest_fraction = \"half\"\n[training]\nepoch = 3\n[optimizer]\n"
     "learning_rate = -1\n",
     {"2:1: unknown key 'data.fille'; did you mean 'data.file'?",
      "3:17: expected a number, got the string \"half\"",
      "5:1: unknown key 'training.epoch'; did you mean 'training.epochs'?",
      "7:1: 'optimizer.learning_rate': must be above 0; use a number such as 0.01"}},
    {least_job + "model = 3\nepochs = 2\n",
     {"2:9: expected a table, got the integer 3; write [model] and its keys below",
      "3:1: unknown key 'epochs'; did you mean 'training.epochs'?"}},
    {least_job +
       "optimizer.schedule = { kind = \"warmup\", steps = 4, then = { kid = \"step\" } }\n",
     {"2:61: unknown key 'optimizer.schedule.then.kid'; did you mean "
      "'optimizer.schedule.then.kind'?"}},
  };
  for (const auto& [text, expected] : files)
    EXPECT_EQ(errors(text), expected);
  EXPECT_EQ(errors(least_job + "\"training.epochs\" = 2\n").size(), 1u) << "no path";
}

TEST_F(job_file, later_sources_win) {
  const std::string text = least_job + "training.epochs = 1\n";
  const environment variables{{"TROUPE_TRAINING__EPOCHS", "2"}};
  EXPECT_EQ(load(text).training.epochs, 1u);
  EXPECT_EQ(load(text, {}, variables).training.epochs, 2u);
  EXPECT_EQ(load(text, {"training.epochs=3"}, variables).training.epochs, 3u);
  EXPECT_EQ(load(text, {"training.epochs=3", "training.epochs=4"}, variables).training.epochs, 4u);
}

TEST_F(job_file, set_takes_toml_and_bare_words) {
  EXPECT_EQ(load(least_job, {"model.hidden=[3, 4]"}).model.hidden, (std::vector<size_t>{3, 4}));
  EXPECT_EQ(load(least_job, {"optimizer.kind=adam"}).optimizer.kind, optimizer_kind::adam);
  EXPECT_EQ(load(least_job, {"optimizer.kind=\"adam\""}).optimizer.kind, optimizer_kind::adam);
  EXPECT_EQ(load(least_job, {"data.target=a=b"}).data.target, "a=b");
  EXPECT_EQ(load(least_job, {"job.name=2024"}).name, "2024");
  EXPECT_EQ(load(least_job, {"job.name=2024-01-01"}).name, "2024-01-01");
}

TEST_F(job_file, schedules_are_set_whole_or_by_key) {
  const auto whole = load(least_job, {"optimizer.schedule={ kind = \"cosine\", steps = 9 }"});
  EXPECT_EQ(whole.optimizer.schedule.kind, schedule_kind::cosine);
  EXPECT_EQ(whole.optimizer.schedule.steps, 9u);
  const auto one = load(least_job, {}, {{"TROUPE_OPTIMIZER__SCHEDULE__KIND", "cosine"}});
  EXPECT_EQ(one.optimizer.schedule.kind, schedule_kind::cosine);
}

TEST_F(job_file, an_override_without_a_value_takes_a_key_back) {
  const std::string text = least_job + "[training]\npatience = 3\nslices = 2\n"
                                       "[optimizer.schedule]\nkind = \"cosine\"\n"
                                       "[model]\nloss = \"squared\"\n";
  EXPECT_EQ(
    load(text, {"training.patience=", "training.slices=", "model.loss=", "optimizer.schedule="}),
    load(least_job));
  EXPECT_EQ(load(text, {"training.patience=", "training.patience=5"}).training.patience, 5u);
  EXPECT_EQ(load(text, {"training.patience=5", "training.patience="}).training.patience,
            std::nullopt);
  EXPECT_EQ(load(text, {"job.name="}).name, "some");
  EXPECT_EQ(load(text, {}, {{"TROUPE_TRAINING__PATIENCE", ""}}).training.patience, std::nullopt);
  for (const auto& key : job_keys()) {
    if (key.path == "data.synthetic") // then there are no data
      continue;
    const auto x = load(least_job, {key.path + "="});
    EXPECT_EQ(x.training, job{}.training) << key.path;
  }
  EXPECT_EQ(errors(least_job, {"training.patienc="}).size(), 1u);
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
    const auto found = errors(least_job, {std::string{word} + "=1"});
    ASSERT_EQ(found.size(), 1u) << word;
    EXPECT_TRUE(found[0].ends_with(std::string{"; "} + hint)) << found[0];
  }
}

TEST_F(job_file, environment_names_without_two_underscores_are_not_ours) {
  EXPECT_EQ(load(least_job, {}, {{"TROUPE_DATA_DIR", "x"}, {"OTHER__KEY", "1"}}), load(least_job));
}

TEST_F(job_file, problems_of_unset_keys_point_at_the_section_or_the_file) {
  EXPECT_EQ(errors("\n[data]\nrows = 5\n").at(0).substr(0, 17), "2:2: 'data.file':");
  EXPECT_EQ(errors("").at(0).substr(0, 17), "1:1: 'data.file':");
}

TEST_F(job_file, problems_point_at_the_override_that_caused_them) {
  EXPECT_EQ(errors(least_job, {"optimizer.learning_rate=-1"}).at(0).substr(0, 60),
            "--set optimizer.learning_rate=-1: 'optimizer.learning_rate':");
  EXPECT_EQ(errors(least_job, {}, {{"TROUPE_OPTIMIZER__EPSILON", "0"}}).at(0).substr(0, 60),
            "environment TROUPE_OPTIMIZER__EPSILON: 'optimizer.epsilon': ");
}

TEST_F(job_file, wrong_overrides_are_errors_too) {
  const environment variables{{"TROUPE_TRAINING__EPOCH", "3"}, {"TROUPE_TRAINING_BATCH_SIZE", "5"}};
  EXPECT_EQ(
    errors(least_job, {"training.epochs", "model.hiden=[3]", "training.epochs=abc"}, variables),
    (texts{
      "environment TROUPE_TRAINING__EPOCH: unknown key 'training.epoch'; did you mean "
      "'training.epochs'?",
      "environment TROUPE_TRAINING_BATCH_SIZE: sets nothing: two underscores stand for the dot "
      "of 'training.batch_size'; call it TROUPE_TRAINING__BATCH_SIZE",
      "--set training.epochs: not of the form key=value; write --set training.epochs=5",
      "--set model.hiden=[3]: unknown key 'model.hiden'; did you mean 'model.hidden'?",
      "--set training.epochs=abc: expected an integer from 1 to 1000000000000, got the string "
      "\"abc\""}));
}

// Each dot would be a table in another, and these are freed by recursion.
TEST_F(job_file, overrides_with_more_dots_than_any_key_are_not_taken_apart) {
  for (const size_t dots : {64, 65, 120'000}) {
    const std::string path = "x" + std::string(dots, '.');
    const auto found = errors(least_job, {path + "=1"});
    ASSERT_EQ(found.size(), 1u) << dots;
    EXPECT_TRUE(test::contains(found[0], "unknown key '" + (dots == 64 ? "x" : path) + "'"));
  }
}

TEST_F(job_file, syntax_errors_say_line_and_column) {
  const auto found = errors("[data]\nrows = = 3\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].substr(0, 5), "2:8: ");
}

TEST_F(job_file, too_many_errors_are_cut_short) {
  std::string text = least_job;
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
  const auto error = test::failure_of([&] { load_job(path, {}, {}); });
  EXPECT_EQ(error.reason(), "a job file of 100000000 bytes, at most 1048576 are read");
}

TEST_F(job_file, missing_files_and_folders_are_missing_input) {
  for (const auto& path : {folder.path("none.toml"), folder.path()}) {
    const auto error = test::failure_of([&] { load_job(path, {}, {}); });
    EXPECT_EQ(error.code(), failure_code::missing_input);
    EXPECT_EQ(error.where(), path);
  }
}

// A job that was written is read as the same job.

// Random jobs that `problems` has nothing against, every field away from its default at times.
class random_jobs {
public:
  job next() {
    job x;
    x.name = "run \"" + std::to_string(whole("data.rows")) + "\"\t\xc3\xa4";
    x.seed = whole("data.rows");
    fill(x.data);
    fill(x.model);
    fill(x.optimizer);
    if (x.optimizer.kind == optimizer_kind::lbfgs)
      x.model.dropout = 0;
    fill(x.training);
    if (x.training.evaluate_every > 0 && !finds_own_rate(x.optimizer.kind) &&
        scope_of(x.optimizer.kind) == optimizer_scope::element_wise && coin())
      x.optimizer.plateau = {whole("optimizer.plateau.patience"), 0.9 * fraction() + 0.05,
                             fraction(), fraction()};
    x.runtime.threads = maybe(whole("runtime.threads"));
    x.runtime.policy = any<scheduler_policy>();
    if (coin())
      x.runtime.instructions = products::instruction_set::avx2;
    x.runtime.device = coin() ? "auto" : "a \"card\"";
    x.checkpoint.every_steps = whole("checkpoint.every_steps");
    x.checkpoint.directory = coin() ? "" : "/safe/\\";
    x.checkpoint.keep = whole("checkpoint.keep");
    x.output.directory = coin() ? "runs/\\" : "/else";
    return x;
  }

private:
  bool coin() { return engine_() % 2 == 0; }
  uint64_t whole(std::string_view key) {
    uint64_t least = 1;
    uint64_t most = 1000; // of what is no key of its own
    if (const auto* row = find_job_key(std::string{key})) {
      const auto words = row->words();
      const auto from = words.find(" from ");
      least = from == words.npos ? 0 : std::stoull(words.substr(from + 6));
      most = from == words.npos ? std::numeric_limits<int64_t>::max()
                                : std::stoull(words.substr(words.find(" to ") + 4));
    }
    return std::clamp(engine_() >> (engine_() % 63 + 1), least, most);
  }
  double fraction() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  template <class T>
  std::optional<T> maybe(T value) {
    return coin() ? std::optional<T>{value} : std::nullopt;
  }
  template <class Enum>
  Enum any() {
    const auto& entries = name_table<Enum>::entries;
    return entries[engine_() % entries.size()].first;
  }

  void fill(data_options& x) {
    if (coin())
      x.file = "/some/rows " + std::to_string(whole("data.rows")) + ".csv";
    else
      x.synthetic = any<synthetic_kind>();
    x.rows = whole("data.rows");
    x.features = whole("data.features");
    x.classes = whole("data.classes");
    x.targets = whole("data.targets");
    x.noise = fraction() * 100;
    x.format = any<file_format>();
    x.header = any<csv_header>();
    if (!x.file.empty() && x.format == file_format::libsvm) {
      x.index_base = coin();
      x.dense = coin() ? row_form::dense : row_form::by_content;
      if (coin())
        x.hash_bits = whole("data.hash_bits");
    }
    const bool is_text = !x.file.empty() && x.format == file_format::text;
    if (is_text) {
      x.text = {whole("data.window"), whole("data.stride")};
      x.header = csv_header::automatic;
    }
    if (!x.file.empty() && x.format != file_format::csv && x.format != file_format::libsvm &&
        x.format != file_format::text && coin())
      x.labels_file = "/some/labels.idx";
    x.target =
      coin() || !x.labels_file.empty() || is_text ? "last" : std::to_string(whole("data.target"));
    x.test_fraction = coin() ? 0 : fraction();
    x.standardize = !is_text && coin();
    x.validation_fraction = x.standardize ? (1 - x.test_fraction) / 3 : 0;
  }
  void fill(model_options& x) {
    x.kind = any<model_kind>();
    if (x.kind == model_kind::neural_network)
      for (size_t i = engine_() % 4; i > 0; --i)
        x.hidden.push_back(whole("model.hidden"));
    x.activation = any<activation_kind>();
    if (x.hidden.size() > 1 && coin()) {
      std::vector<activation_kind> kinds;
      for (size_t i = 0; i < x.hidden.size(); ++i)
        kinds.push_back(any<activation_kind>());
      x.activation = kinds;
    }
    if (x.kind == model_kind::neural_network)
      x.loss = maybe(any<loss_kind>());
    if (x.kind == model_kind::logistic_regression || x.loss == loss_kind::binary_cross_entropy)
      x.link = any<link_kind>();
    x.huber_threshold = fraction() + 1e-3;
    x.bias = coin();
    x.dropout = x.hidden.empty() ? 0 : fraction();
    x.initialization = maybe(any<initialization_kind>());
    x.initialization_scale = fraction() + 1e-3;
  }
  void fill(optimizer_options& x) {
    do
      x.kind = any<optimizer_kind>();
    while (scope_of(x.kind) == optimizer_scope::solver); // small linear models only
    if (x.kind == optimizer_kind::sgd) {
      x.momentum = fraction();
      x.nesterov = x.momentum > 0 && coin();
    }
    const auto defaults = defaults_of(x.kind);
    for (const auto& [key, member, of_rule] : optimizer_constants)
      if (defaults.*member)
        x.*member = maybe(fraction() * 1e-3 + 1e-12);
    x.l2 = coin() ? 0 : fraction();
    if (x.kind == optimizer_kind::lbfgs) {
      x.history_size = whole("optimizer.history_size");
    } else {
      x.l1 = coin() ? 0 : fraction();
      (coin() ? x.clip_norm : x.clip_value) = fraction();
    }
    if (!finds_own_rate(x.kind))
      x.schedule = schedule(3);
  }
  std::vector<uint64_t> milestones(size_t count) {
    std::vector<uint64_t> result;
    for (uint64_t step = 0; count > 0; --count)
      result.push_back(step += 1 + engine_() % 1000);
    return result;
  }
  schedule_options schedule(size_t depth) {
    schedule_options x;
    do
      x.kind = any<schedule_kind>();
    while (depth == 0 && (x.kind == schedule_kind::chained || x.kind == schedule_kind::sequential));
    x.steps = whole("optimizer.schedule.steps");
    x.factor = 1 - fraction();
    x.minimum = fraction();
    x.start = fraction();
    x.end = fraction();
    x.power = fraction() * 4 + 1e-9;
    if (x.kind == schedule_kind::warmup && depth > 0 && coin())
      x.then = {schedule(depth - 1)};
    if (x.kind == schedule_kind::chained || x.kind == schedule_kind::sequential)
      for (size_t i = engine_() % 3 + 1; i > 0; --i)
        x.parts.push_back(schedule(depth - 1));
    if (x.kind == schedule_kind::multi_step)
      x.milestones = milestones(engine_() % 4 + 1);
    if (x.kind == schedule_kind::sequential)
      x.milestones = milestones(x.parts.size() - 1);
    return x;
  }
  void fill(training_options& x) {
    x.batch_size = coin() ? 0 : whole("training.batch_size");
    x.slices = maybe<size_t>(whole("training.slices"));
    x.replicas = maybe<size_t>(whole("training.replicas"));
    x.epochs = whole("training.epochs");
    x.steps = maybe(whole("training.steps"));
    x.target_loss = maybe(fraction() - 0.5);
    x.evaluate_every = whole("training.evaluate_every");
    if (x.evaluate_every > 0)
      x.patience = maybe<size_t>(whole("training.patience"));
    x.history_every = whole("training.history_every");
    x.tolerance = fraction();
    if (x.evaluate_every % 2 == 1)
      x.keep_best = x.patience.has_value();
    if (coin())
      x.class_weights.kind = class_weight_kind::balanced;
    else if (coin())
      x.class_weights = {class_weight_kind::list, {fraction() + 1e-3, 0, 2}};
  }

  std::mt19937_64 engine_{20240501};
};

TEST(job_text, written_jobs_load_as_equal_jobs) {
  temporary_folder folder;
  random_jobs jobs;
  for (int i = 0; i < 300; ++i) {
    const job x = jobs.next();
    ASSERT_TRUE(problems(x).empty()) << problems(x)[0].key;
    const auto text = job_text(x);
    ASSERT_EQ(load_job(folder.write("some.toml", text), {}, {}), x) << text;
  }
}

} // namespace
} // namespace troupe::job_file_test
