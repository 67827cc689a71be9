// Jobs of every kind of model, trained by actors on real rows.

#include "data/text/failure.hpp"
#include "data/training_rows/batch_reader.hpp"
#include "models/base/random.hpp"
#include "models/math/reduction.hpp"
#include "models/network/neural_network.hpp"
#include "models/optimizers/optimizer.hpp"
#include "models/solvers/least_squares.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/training.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace troupe::job_model_test {
namespace {

job small_regression() {
  auto x = test::small_job();
  x.data.synthetic = synthetic_kind::regression;
  x.data.test_fraction = 0;
  x.model = {};
  x.model.kind = model_kind::linear_regression;
  return x;
}

/// 90 rows of class 0 and 10 of class 1, on a line, with some overlap.
dataset uneven_classes() {
  dataset rows;
  rows.row_count = 100;
  rows.feature_count = 1;
  rows.feature_names = {"x"};
  rows.classes = {"no", "yes"};
  rows.target_names = {"answer"};
  for (size_t i = 0; i < 100; ++i) {
    const bool yes = i >= 90;
    rows.labels.push_back(yes ? 1 : 0);
    rows.features.push_back(static_cast<float>(i % 10) / 5 + (yes ? 1.0f : 0.0f));
  }
  return rows;
}

std::string failure_of(const job& x, dataset rows) {
  test::real_system host{1};
  return test::failure_of([&] { train(*host.system, x, prepare_data(x, std::move(rows))); }, "")
    .what();
}

/// Rows of class 1 that a trained model recognises, of 10.
size_t recognised(const job& x) {
  test::real_system host{2};
  const auto data = prepare_data(x, uneven_classes());
  const auto result = train(*host.system, x, data);
  const auto network = make_model(result.resolved, shape_of(*data));
  std::vector<float> predictions(200);
  workspace memory;
  network->predict(result.parameters.values(), data->train.features, predictions, memory);
  size_t count = 0;
  for (size_t i = 90; i < 100; ++i)
    count += predictions[2 * i + 1] > predictions[2 * i] ? 1 : 0;
  return count;
}

TEST(job_model, linear_regression_ends_at_least_squares) {
  auto x = small_regression();
  x.data.targets = 2;
  x.optimizer = {};
  x.optimizer.momentum = 0.9;
  x.optimizer.learning_rate = 0.1;
  x.training.batch_size = 0;
  x.training.epochs = 400;
  const auto result = test::train_on(2, x);
  const auto& train = result.data->train;
  const auto expected =
    least_squares({train.row_count, train.features, {}, train.targets}, train.feature_count, 2);
  const auto found = test::values_of(result.parameters);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t k = 0; k < found.size(); ++k)
    EXPECT_NEAR(found[k], expected[k], 2e-5) << k;
}

TEST(job_model, balanced_weights_recognise_the_rare_class) {
  job x;
  x.model.kind = model_kind::logistic_regression;
  x.optimizer.learning_rate = 0.5;
  x.optimizer.momentum = 0.9;
  x.training.batch_size = 0;
  x.training.epochs = 500;
  const auto plain = recognised(x);
  x.training.class_weights.kind = class_weight_kind::balanced;
  const auto balanced = recognised(x);
  EXPECT_GT(balanced, plain);
  x.training.class_weights = {class_weight_kind::list, {100.0 / 180, 5}};
  EXPECT_EQ(recognised(x), balanced) << "the same weights, written out";
}

TEST(job_model, dropout_is_off_when_test_rows_are_evaluated) {
  auto x = test::small_job();
  x.model.dropout = 0.5;
  const auto result = test::train_on(2, x);
  const auto& rows = result.data->test;
  const auto network = make_model(result.resolved, shape_of(*result.data));
  workspace memory;
  const auto sums =
    network->evaluate(result.parameters.values(), batch_of_rows(rows, 0, rows.row_count), memory);
  EXPECT_NEAR(*result.summary.test_loss, sums.loss_sum / static_cast<double>(sums.sample_count),
              1e-12);
}

TEST(job_model, a_step_drops_by_seed_step_and_row) {
  // Three steps of the whole batch in two slices, done again here without actors.
  auto x = test::small_job();
  x.data.test_fraction = 0;
  x.model.dropout = 0.5;
  x.optimizer = {};
  x.training.batch_size = 0;
  x.training.slices = 2;
  const auto result = test::train_on(2, x);
  const auto& rows = result.data->train;
  const auto network = make_model(result.resolved, shape_of(*result.data));
  const auto size = network->layout().size();
  const auto rule = make_optimizer(result.resolved.optimizer);
  const optimizer_state state{rule->slot_count(), size};
  std::vector<float> parameters(size), first(size), second(size), next(size);
  network->initialize(x.seed, parameters);
  workspace memory;
  const auto gradient = [&](uint64_t step, size_t begin, std::vector<float>& out) {
    auto part = batch_of_rows(rows, begin, 100);
    part.seed = x.seed;
    part.step = step;
    network->gradient(parameters, part, out, memory);
  };
  for (uint64_t step = 0; step < 3; ++step) {
    gradient(step, 0, first);
    gradient(step, 100, second);
    add_into(first, second);
    rule->update(rule->begin_step(step, 200, direction::descent),
                 {first.data(), parameters.data(), next.data(), 0, size}, state);
    parameters.swap(next);
  }
  EXPECT_EQ(test::values_of(result.parameters), parameters);
}

TEST(job_model, a_gathered_batch_knows_its_rows) {
  const auto rows = uneven_classes();
  const std::vector<uint32_t> chosen{95, 3, 40};
  batch_reader reader;
  const auto gathered = reader.gather(rows, chosen);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(gathered.row_number(i), chosen[i]);
  EXPECT_EQ(batch_of_rows(rows, 7, 3).row_number(2), 9u);
}

TEST(job_model, targets_and_classes_that_do_not_fit_are_refused) {
  auto x = small_regression();
  x.model.loss = loss_kind::poisson; // the synthetic targets are around 0
  test::real_system host{1};
  const auto problem = test::failure_of([&] { train(*host.system, x); });
  EXPECT_NE(std::string{problem.what()}.find("poisson needs targets of at least 0"),
            std::string::npos)
    << problem.what();
  auto three = uneven_classes();
  three.classes.push_back("maybe");
  three.labels[5] = 2;
  job logistic;
  logistic.model.kind = model_kind::logistic_regression;
  EXPECT_NE(failure_of(logistic, three).find("needs exactly two classes, the data has 3"),
            std::string::npos);
}

TEST(job_model, shape_counts_classes_and_finds_the_lowest_target) {
  job x;
  EXPECT_EQ(shape_of(*prepare_data(x, uneven_classes())).class_counts,
            (std::vector<size_t>{90, 10}));
  auto regression = small_regression();
  regression.data.test_fraction = 0.5;
  const auto data = load_data(regression);
  float lowest = data->train.targets[0];
  for (const auto* targets : {&data->train.targets, &data->test.targets})
    for (auto target : *targets)
      lowest = std::min(lowest, target);
  EXPECT_EQ(shape_of(*data).target_minimum, static_cast<double>(lowest));
}

// Jobs on sparse rows: what dense rows come to, to rounding, and the same bits whoever computes.

/// Like a9a: 123 features that are there or not, about 14 in a row; labels of two or more classes by a
/// hidden rule.
std::string adults(size_t rows, size_t classes) {
  std::string text;
  std::vector<float> rule(123 * classes);
  fill_normal({1, random_purpose::synthetic_targets, 0}, 0, 1, rule);
  const random_sequence sequence{2, random_purpose::synthetic_features, 0};
  for (uint32_t i = 0; i < rows; ++i) {
    std::string entries;
    std::vector<float> scores(classes);
    uint32_t feature = 0;
    for (uint32_t k = 0; feature < 123; ++k) {
      feature += sequence.block(i * 64 + k)[0] % 17;
      if (feature >= 123)
        break;
      entries += ' ' + std::to_string(++feature) + ":1";
      for (size_t c = 0; c < classes; ++c)
        scores[c] += rule[c * 123 + feature - 1];
    }
    const auto label = std::ranges::max_element(scores) - scores.begin();
    text += std::to_string(label) + entries + '\n';
  }
  return text;
}

struct sparse_job : testing::Test {
  job about(size_t classes, row_form dense) {
    job x = test::small_job();
    x.data = {};
    x.data.file = folder.write("rows.svm", adults(500, classes));
    x.data.test_fraction = 0.2;
    x.data.dense = dense;
    x.training.batch_size = 64;
    return x;
  }

  temporary_folder folder;
};

struct kind_of_job {
  const char* name;
  size_t classes;
  std::function<void(job&)> change;
};

const std::vector<kind_of_job> kinds{
  {"network with dropout", 3, [](job& x) { x.model.dropout = 0.2; }},
  {"softmax regression, penalised, clipped", 3,
   [](job& x) {
     x.model.kind = model_kind::softmax_regression;
     x.model.hidden.clear();
     x.optimizer.l1 = 1e-4;
     x.optimizer.l2 = 1e-3;
     x.optimizer.clip_norm = 0.5;
   }},
  {"logistic regression by sgd", 2,
   [](job& x) {
     x.model = {};
     x.model.kind = model_kind::logistic_regression;
     x.optimizer = {};
     x.optimizer.learning_rate = 0.1;
     x.optimizer.momentum = 0.9;
   }},
  {"logistic regression by lbfgs", 2,
   [](job& x) {
     x.model = {};
     x.model.kind = model_kind::logistic_regression;
     x.optimizer = {};
     x.optimizer.kind = optimizer_kind::lbfgs;
     x.optimizer.l2 = 1e-2;
     x.training.batch_size = 0;
     x.training.epochs = 5;
   }},
  {"network by adafactor", 3, [](job& x) { x.optimizer.kind = optimizer_kind::adafactor; }},
  {"scores of numbers", 3,
   [](job& x) { x.model.loss = loss_kind::squared, x.optimizer.kind = optimizer_kind::adagrad; }},
};

TEST_F(sparse_job, is_the_job_of_dense_rows_to_rounding) {
  for (const auto& kind : kinds) {
    SCOPED_TRACE(kind.name);
    auto x = about(kind.classes, row_form::by_content);
    kind.change(x);
    const auto dense = test::train_on(2, x);
    EXPECT_FALSE(dense.data->train.is_sparse());
    x.data.dense = row_form::sparse;
    const auto sparse = test::train_on(2, x);
    ASSERT_TRUE(sparse.data->train.is_sparse());
    EXPECT_EQ(dense.data->test.labels, sparse.data->test.labels);
    EXPECT_NE(dense.summary.job_sha256, sparse.summary.job_sha256);
    const auto values = [](const training_result& result) {
      std::vector<float> logical(result.layout.size());
      result.layout.to_logical(test::values_of(result.parameters), logical);
      return logical;
    };
    const auto expected = values(dense), found = values(sparse);
    ASSERT_EQ(expected.size(), found.size());
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(expected[i], found[i], 1e-5 * std::max(1.0f, std::fabs(expected[i]))) << i;
    EXPECT_NEAR(*dense.summary.test_loss, *sparse.summary.test_loss,
                1e-5 * *dense.summary.test_loss);
  }
}

TEST_F(sparse_job, has_the_same_bits_on_any_number_of_threads_and_replicas) {
  for (const auto& kind : kinds) {
    SCOPED_TRACE(kind.name);
    auto x = about(kind.classes, row_form::sparse);
    kind.change(x);
    x.training.replicas = 1;
    const auto alone = test::values_of(test::train_on(1, x).parameters);
    for (const size_t count : {2, 3}) {
      x.training.replicas = count;
      EXPECT_EQ(alone, test::values_of(test::train_on(count, x).parameters)) << count;
    }
  }
}

TEST_F(sparse_job, scales_without_a_shift) {
  job x;
  x.data.file = folder.write("few.svm", "0 1:-4 3:2\n1 1:2 400:5\n0 3:1\n1\n");
  x.data.standardize = true;
  const auto data = load_data(x);
  const auto& rows = data->train.sparse;
  EXPECT_EQ(rows.values, (std::vector<float>{-1, 1, 0.5, 1, 0.5}));
  EXPECT_TRUE(data->features.mean.empty());
  ASSERT_EQ(data->features.deviation.size(), 400u);
  EXPECT_EQ(data->features.deviation[0], 4);
  EXPECT_EQ(data->features.deviation[1], 1);
  EXPECT_EQ(data->features.deviation[2], 2);
}

TEST_F(sparse_job, splits_rows_as_dense_ones_are_split) {
  auto x = about(2, row_form::by_content);
  x.data.validation_fraction = 0.3;
  const auto dense = load_data(x);
  x.data.dense = row_form::sparse;
  const auto sparse = load_data(x);
  EXPECT_NE(dense->fingerprint, sparse->fingerprint);
  const std::pair<const dataset*, const dataset*> parts[] = {
    {&dense->train, &sparse->train},
    {&dense->test, &sparse->test},
    {&dense->validation, &sparse->validation}};
  for (const auto& [expected, found] : parts) {
    EXPECT_EQ(expected->labels, found->labels);
    ASSERT_EQ(expected->row_count, found->row_count);
    ASSERT_EQ(found->sparse.row_count(), found->row_count);
    const auto rows = found->sparse.rows(0, found->row_count);
    std::vector<float> filled(expected->features.size());
    for (size_t i = 0; i < found->row_count; ++i)
      for (size_t e = 0; e < rows.features_of(i).size(); ++e)
        filled[i * 123 + rows.features_of(i)[e]] = rows.values_of(i)[e];
    EXPECT_EQ(expected->features, filled);
  }
}

TEST_F(sparse_job, says_what_has_no_sparse_form) {
  const auto refused_key = [&](const std::function<void(job&)>& change) -> std::string {
    auto x = about(2, row_form::sparse);
    x.model.loss = loss_kind::squared;
    change(x);
    try {
      test::train_on(1, x);
    } catch (const failure& error) {
      // What is wrong with a job alone is told as "key: why; hint".
      const auto reason = error.reason();
      EXPECT_TRUE(!error.hint().empty() || reason.find("; ") != reason.npos);
      return error.where().empty() ? reason.substr(0, reason.find(':')) : error.where();
    }
    return "accepted";
  };
  EXPECT_EQ(refused_key([](job& x) {
              x.model.kind = model_kind::linear_regression;
              x.model.hidden.clear();
              x.optimizer.kind = optimizer_kind::closed_form;
              x.training.batch_size = 0;
            }),
            "optimizer.kind");
  EXPECT_EQ(refused_key([](job& x) { x.model.cuts = 2; }), "model.cuts");
  EXPECT_EQ(refused_key([&](job& x) { x.data.file = folder.write("rows.csv", "1,2\n3,4\n"); }),
            "data.dense");
  // Where nobody asks for sparse rows, what needs dense ones gets them.
  auto x = about(2, row_form::by_content);
  x.data.file = folder.write("wide.svm", "1 400:1\n2 1:1\n");
  EXPECT_TRUE(load_data(x)->train.is_sparse());
  x.model.cuts = 2;
  EXPECT_FALSE(load_data(x)->train.is_sparse());
}

} // namespace
} // namespace troupe::job_model_test
