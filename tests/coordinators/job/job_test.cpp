#include "coordinators/job/job.hpp"

#include "coordinators/job/job_check.hpp"
#include "coordinators/job/keys/key_limits.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

namespace troupe::job_test {
namespace {

constexpr auto nan = std::numeric_limits<double>::quiet_NaN();
constexpr auto infinity = std::numeric_limits<double>::infinity();

job good_job() {
  job x;
  x.data.file = "rows.csv";
  return x;
}

constexpr auto largest = std::numeric_limits<uint64_t>::max();

struct change {
  std::string key; ///< that has to be named, alone
  std::function<void(job&)> apply;
};

schedule_options warmup_then(const schedule_options& next) {
  schedule_options result;
  result.kind = schedule_kind::warmup;
  result.steps = 3;
  result.then = {next};
  return result;
}

schedule_options bad_steps() {
  schedule_options result;
  result.kind = schedule_kind::step;
  result.steps = 0;
  return result;
}

const std::vector<change>& bad_changes() {
  static const std::vector<change> changes{
    {"data.file", [](job& x) { x.data.file.clear(); }},
    {"data.synthetic", [](job& x) { x.data.synthetic = synthetic_kind::regression; }},
    {"data.rows", [](job& x) { x.data.rows = 0; }},
    {"data.features", [](job& x) { x.data.features = 0; }},
    {"data.classes", [](job& x) { x.data.classes = 1; }},
    {"data.targets", [](job& x) { x.data.targets = 0; }},
    {"data.rows", [](job& x) { x.data.rows = largest; }},
    {"data.features", [](job& x) { x.data.features = largest; }},
    {"data.classes", [](job& x) { x.data.classes = largest; }},
    {"data.targets", [](job& x) { x.data.targets = largest; }},
    {"model.hidden", [](job& x) { x.model.hidden = {largest}; }},
    {"model.hidden", [](job& x) { x.model.hidden.assign(hidden_layers_max + 1, 4); }},
    {"training.batch_size", [](job& x) { x.training.batch_size = largest; }},
    {"training.slices", [](job& x) { x.training.slices = 1'000'000'000'000; }},
    {"training.replicas", [](job& x) { x.training.replicas = 100'000; }},
    {"training.epochs", [](job& x) { x.training.epochs = largest; }},
    {"training.steps", [](job& x) { x.training.steps = largest; }},
    {"training.patience", [](job& x) { x.training.patience = largest; }},
    {"training.evaluate_every", [](job& x) { x.training.evaluate_every = largest; }},
    {"training.history_every", [](job& x) { x.training.history_every = 0; }},
    {"runtime.threads", [](job& x) { x.runtime.threads = 100'000'000'000; }},
    {"checkpoint.every_steps", [](job& x) { x.checkpoint.every_steps = largest; }},
    {"data.noise", [](job& x) { x.data.noise = -0.1; }},
    {"data.noise", [](job& x) { x.data.noise = infinity; }},
    {"data.noise", [](job& x) { x.data.noise = nan; }},
    {"data.target", [](job& x) { x.data.target.clear(); }},
    {"checkpoint.keep", [](job& x) { x.checkpoint.keep = 0; }},
    {"data.test_fraction", [](job& x) { x.data.test_fraction = -0.1; }},
    {"data.test_fraction", [](job& x) { x.data.test_fraction = 1; }},
    {"data.test_fraction", [](job& x) { x.data.test_fraction = nan; }},
    {"data.test_fraction",
     [](job& x) { x.data.test_file = "test.csv", x.data.test_fraction = 0.1; }},
    {"data.validation_fraction",
     [](job& x) { x.data.validation_file = "validation.csv", x.data.validation_fraction = 0.1; }},
    {"data.stratify", [](job& x) { x.data.stratify = true; }},
    {"data.split_by", [](job& x) { x.data.split_by = "who"; }},
    {"data.stratify",
     [](job& x) { x.data.stratify = true, x.data.split_by = "who", x.data.test_fraction = 0.2; }},
    {"data.stratify",
     [](job& x) {
       x.data.stratify = true;
       x.data.shuffle = shuffle_kind::lanes;
       x.data.test_fraction = 0.2;
     }},
    {"data.split_by",
     [](job& x) {
       x.data.split_by = "who";
       x.data.shuffle = shuffle_kind::lanes;
       x.data.test_fraction = 0.2;
     }},
    {"data.split_by",
     [](job& x) { x.data.split_by = "who", x.data.ignore = {"who"}, x.data.test_fraction = 0.2; }},
    {"data.weight", [](job& x) { x.data.weight = "times", x.data.categorical = {"times"}; }},
    {"data.weight", [](job& x) { x.data.weight = "times", x.data.format = file_format::npy; }},
    {"data.folds", [](job& x) { x.data.folds = 5; }},
    {"data.folds", [](job& x) { x.data.folds = 1, x.data.fold = 0; }},
    {"data.folds",
     [](job& x) { x.data.folds = 5, x.data.fold = 0, x.data.shuffle = shuffle_kind::lanes; }},
    {"data.fold", [](job& x) { x.data.fold = 1; }},
    {"data.fold", [](job& x) { x.data.folds = 5, x.data.fold = 5; }},
    {"data.validation_fraction",
     [](job& x) { x.data.folds = 5, x.data.fold = 1, x.data.validation_fraction = 0.1; }},
    {"data.validation_file",
     [](job& x) { x.data.folds = 5, x.data.fold = 1, x.data.validation_file = "validation.csv"; }},
    {"data.validation_fraction", [](job& x) { x.data.validation_fraction = -0.1; }},
    {"data.validation_fraction", [](job& x) { x.data.validation_fraction = 1; }},
    {"data.validation_fraction", [](job& x) { x.data.validation_fraction = nan; }},
    {"data.validation_fraction",
     [](job& x) { x.data.test_fraction = 0.5, x.data.validation_fraction = 0.5; }},
    {"training.keep_best",
     [](job& x) { x.training.keep_best = true, x.training.evaluate_every = 0; }},
    {"model.hidden",
     [](job& x) {
       x.model.hidden = {4, 0};
     }},
    {"model.hidden",
     [](job& x) { x.model.kind = model_kind::softmax_regression, x.model.hidden = {4}; }},
    {"model.loss",
     [](job& x) {
       x.model.kind = model_kind::softmax_regression, x.model.loss = loss_kind::squared;
     }},
    {"optimizer.learning_rate", [](job& x) { x.optimizer.learning_rate = 0; }},
    {"optimizer.learning_rate", [](job& x) { x.optimizer.learning_rate = infinity; }},
    {"optimizer.learning_rate", [](job& x) { x.optimizer.learning_rate = nan; }},
    {"optimizer.momentum", [](job& x) { x.optimizer.momentum = -0.1; }},
    {"optimizer.momentum", [](job& x) { x.optimizer.momentum = 1; }},
    {"optimizer.momentum",
     [](job& x) { x.optimizer.kind = optimizer_kind::adam, x.optimizer.momentum = 0.9; }},
    {"optimizer.momentum",
     [](job& x) {
       x.optimizer.kind = optimizer_kind::adam;
       x.optimizer.momentum = 0.9;
       x.optimizer.nesterov = true;
     }},
    {"optimizer.nesterov", [](job& x) { x.optimizer.nesterov = true; }},
    {"optimizer.beta1",
     [](job& x) { x.optimizer.kind = optimizer_kind::adam, x.optimizer.beta1 = -0.1; }},
    {"optimizer.beta1",
     [](job& x) { x.optimizer.kind = optimizer_kind::adam, x.optimizer.beta1 = 1; }},
    {"optimizer.beta2",
     [](job& x) { x.optimizer.kind = optimizer_kind::adam, x.optimizer.beta2 = -0.1; }},
    {"optimizer.beta2",
     [](job& x) { x.optimizer.kind = optimizer_kind::adam, x.optimizer.beta2 = 1; }},
    {"optimizer.epsilon",
     [](job& x) { x.optimizer.kind = optimizer_kind::adam, x.optimizer.epsilon = 0; }},
    {"optimizer.epsilon",
     [](job& x) { x.optimizer.kind = optimizer_kind::adam, x.optimizer.epsilon = infinity; }},
    {"optimizer.schedule.steps", [](job& x) { x.optimizer.schedule = bad_steps(); }},
    {"optimizer.schedule.steps", [](job& x) { x.optimizer.schedule = warmup_then(bad_steps()); }},
    {"optimizer.schedule.steps", [](job& x) { x.optimizer.schedule.kind = schedule_kind::step; }},
    {"optimizer.schedule.steps", [](job& x) { x.optimizer.schedule.kind = schedule_kind::warmup; }},
    {"optimizer.schedule.milestones",
     [](job& x) { x.optimizer.schedule.kind = schedule_kind::multi_step; }},
    {"optimizer.schedule.factor", [](job& x) { x.optimizer.schedule.factor = 0; }},
    {"optimizer.schedule.factor", [](job& x) { x.optimizer.schedule.factor = 1.1; }},
    {"optimizer.schedule.minimum", [](job& x) { x.optimizer.schedule.minimum = -0.1; }},
    {"optimizer.schedule.minimum", [](job& x) { x.optimizer.schedule.minimum = 1.1; }},
    {"optimizer.schedule.start", [](job& x) { x.optimizer.schedule.start = -0.1; }},
    {"optimizer.schedule.start", [](job& x) { x.optimizer.schedule.start = 1.1; }},
    {"optimizer.schedule.then", [](job& x) { x.optimizer.schedule.then.resize(1); }},
    {"optimizer.schedule.then",
     [](job& x) {
       x.optimizer.schedule = warmup_then({});
       x.optimizer.schedule.then.resize(2);
     }},
    {"training.slices", [](job& x) { x.training.slices = 0; }},
    {"training.replicas", [](job& x) { x.training.replicas = 0; }},
    {"training.epochs", [](job& x) { x.training.epochs = 0; }},
    {"training.steps", [](job& x) { x.training.steps = 0; }},
    {"training.target_loss", [](job& x) { x.training.target_loss = nan; }},
    {"training.target_loss", [](job& x) { x.training.target_loss = -infinity; }},
    {"training.patience", [](job& x) { x.training.patience = 0; }},
    {"training.patience", [](job& x) { x.training.patience = 1, x.training.evaluate_every = 0; }},
    {"training.tolerance", [](job& x) { x.training.tolerance = -1e-9; }},
    {"training.tolerance", [](job& x) { x.training.tolerance = infinity; }},
    {"runtime.threads", [](job& x) { x.runtime.threads = 0; }},
  };
  return changes;
}

std::vector<std::string> keys_of(const std::vector<job_problem>& found) {
  std::vector<std::string> result;
  for (const auto& problem : found)
    result.push_back(problem.key);
  return result;
}

TEST(job, one_that_names_its_data_can_be_trained) {
  EXPECT_EQ(problems(good_job()), std::vector<job_problem>{});
  for (auto kind : {synthetic_kind::classification, synthetic_kind::regression}) {
    job x;
    x.data.synthetic = kind;
    EXPECT_EQ(problems(x), std::vector<job_problem>{});
  }
}

TEST(job, each_mistake_is_found_alone) {
  for (size_t i = 0; i < bad_changes().size(); ++i) {
    const auto& bad = bad_changes()[i];
    auto x = good_job();
    bad.apply(x);
    const auto found = problems(x);
    ASSERT_EQ(keys_of(found), std::vector<std::string>{bad.key}) << "change " << i;
    EXPECT_FALSE(found.front().why.empty()) << bad.key;
    EXPECT_FALSE(found.front().hint.empty()) << bad.key;
  }
}

TEST(job, the_limits_of_each_range_are_in_it) {
  const std::vector<std::function<void(job&)>> changes{
    [](job& x) { x.data.rows = x.data.features = x.data.targets = 1; },
    [](job& x) { x.data.classes = 2; },
    [](job& x) { x.data.noise = 0; },
    [](job& x) { x.data.test_fraction = 0.999; },
    [](job& x) { x.data.test_fraction = 0.25, x.data.validation_fraction = 0.5; },
    [](job& x) { x.training.keep_best = false, x.training.evaluate_every = 0; },
    [](job& x) { x.model.hidden.assign(2, 1); },
    [](job& x) { x.model.kind = model_kind::softmax_regression; },
    [](job& x) {
      x.model.kind = model_kind::softmax_regression;
      x.model.loss = loss_kind::categorical_cross_entropy;
    },
    [](job& x) { x.model.loss = loss_kind::squared; },
    [](job& x) { x.optimizer.momentum = 0.999; },
    [](job& x) { x.optimizer.momentum = 0.9, x.optimizer.nesterov = true; },
    [](job& x) {
      x.optimizer.kind = optimizer_kind::adam, x.optimizer.beta1 = x.optimizer.beta2 = 0;
    },
    [](job& x) { x.optimizer.schedule.factor = 1; },
    [](job& x) { x.optimizer.schedule.minimum = x.optimizer.schedule.start = 1; },
    [](job& x) { x.optimizer.schedule = warmup_then(warmup_then({})); },
    [](job& x) { x.optimizer.schedule = warmup_then({schedule_kind::cosine}); },
    [](job& x) { x.training.slices = x.training.replicas = 1; },
    [](job& x) { x.training.epochs = 1; },
    [](job& x) { x.training.steps = 1; },
    [](job& x) { x.training.batch_size = 0; }, // all rows
    [](job& x) { x.training.patience = 1; },
    [](job& x) { x.training.target_loss = -1; },
    [](job& x) { x.training.target_loss = 1, x.training.evaluate_every = 0; },
    [](job& x) { x.runtime.threads = 1; },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    auto x = good_job();
    changes[i](x);
    EXPECT_EQ(keys_of(problems(x)), std::vector<std::string>{}) << "change " << i;
  }
}

TEST(job, all_mistakes_are_told_in_the_order_of_the_fields) {
  job x; // names no data
  x.data.rows = 0;
  x.model.hidden = {0};
  x.optimizer.learning_rate = -1;
  x.optimizer.schedule.factor = 2;
  x.training.epochs = 0;
  EXPECT_EQ(
    keys_of(problems(x)),
    (std::vector<std::string>{"data.file", "data.rows", "model.hidden", "optimizer.learning_rate",
                              "optimizer.schedule.factor", "training.epochs"}));
}

TEST(job, a_mistake_says_why_and_what_to_do) {
  auto x = good_job();
  x.data.test_fraction = 1;
  EXPECT_EQ(problems(x), (std::vector<job_problem>{{"data.test_fraction", "must be in [0, 1)",
                                                    "use a share of the rows such as 0.25"}}));
  x = good_job();
  x.optimizer.kind = optimizer_kind::adam;
  x.optimizer.momentum = 0.5;
  EXPECT_EQ(problems(x).at(0).why, "adam takes no momentum");
}

// What a job may say of a text: everything that has no use for one is refused by its key.

job text_job() {
  job x;
  x.data.file = "some.txt";
  x.data.format = file_format::text;
  return x;
}

/// Keys with problems, each once.
std::string keys(const job& x) {
  std::string result;
  for (const auto& problem : problems(x))
    if (result.find(problem.key) == std::string::npos)
      result += (result.empty() ? "" : " ") + problem.key;
  return result;
}

TEST(text_job, has_windows_fractions_folds_and_files_of_its_parts) {
  auto x = text_job();
  EXPECT_EQ(keys(x), "");
  x.data.text = {1, 1'000};
  x.data.test_fraction = x.data.validation_fraction = 0.1;
  EXPECT_EQ(keys(x), "");
  x.data.validation_fraction = 0;
  x.data.folds = 5;
  x.data.fold = 4;
  EXPECT_EQ(keys(x), "");
  x = text_job();
  x.data.test_file = "other.txt";
  EXPECT_EQ(keys(x), "");
}

TEST(text_job, refuses_by_its_key_what_has_no_use_for_a_text) {
  const change changes[] = {
    {"data.window", [](job& x) { x.data.text.window = 0; }},
    {"data.window", [](job& x) { x.data.text.window = 1'000'001; }},
    {"data.stride", [](job& x) { x.data.text.stride = 0; }},
    {"data.target", [](job& x) { x.data.target = "label"; }},
    {"data.ignore", [](job& x) { x.data.ignore = {"c0"}; }},
    {"data.header", [](job& x) { x.data.header = csv_header::yes; }},
    {"data.standardize", [](job& x) { x.data.standardize = true; }},
    {"data.stratify", [](job& x) { x.data.stratify = true, x.data.test_fraction = 0.2; }},
    {"data.shuffle", [](job& x) { x.data.shuffle = shuffle_kind::lanes; }},
    {"data.weight", [](job& x) { x.data.weight = "c0"; }},
    {"data.split_by", [](job& x) { x.data.split_by = "c0", x.data.test_fraction = 0.2; }},
    {"data.categorical", [](job& x) { x.data.categorical = {"c0"}; }},
    {"data.boolean", [](job& x) { x.data.boolean = {"c0"}; }},
    {"data.date", [](job& x) { x.data.date = {"c0"}; }},
    {"data.missing", [](job& x) { x.data.missing = missing_rule::drop; }},
    {"data.separator", [](job& x) { x.data.cells.separator = ";"; }},
    {"data.labels_file", [](job& x) { x.data.labels_file = "labels"; }},
    {"data.index_base", [](job& x) { x.data.index_base = 0; }},
    {"data.dense", [](job& x) { x.data.dense = row_form::sparse; }},
    {"data.hash_bits", [](job& x) { x.data.hash_bits = 10; }},
  };
  for (const auto& [key, apply] : changes) {
    auto x = text_job();
    apply(x);
    EXPECT_EQ(keys(x), key);
  }
}

TEST(text_job, windows_are_for_texts_alone) {
  auto x = text_job();
  x.data.text.window = 64;
  EXPECT_EQ(keys(x), "");
  x.data.format = file_format::by_name;
  EXPECT_EQ(keys(x), "data.window");
  x.data.text = {32, 2};
  EXPECT_EQ(keys(x), "data.stride");
  x.data.format = file_format::csv;
  EXPECT_EQ(keys(x), "data.stride");
  x.data.text = {};
  EXPECT_EQ(keys(x), "");
}

} // namespace
} // namespace troupe::job_test
