// Jobs of every kind of model, trained by actors on real rows.

#include "data/text/failure.hpp"
#include "data/training_rows/batch_reader.hpp"
#include "models/math/reduction.hpp"
#include "models/network/neural_network.hpp"
#include "models/optimizers/optimizer.hpp"
#include "models/solvers/least_squares.hpp"
#include "tests/support/training.hpp"

#include <gtest/gtest.h>

#include <cmath>

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
  try {
    train(*host.system, x, prepare_data(x, std::move(rows)));
  } catch (const failure& problem) {
    return problem.what();
  }
  return "";
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

} // namespace

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
  try {
    train(*host.system, x);
    FAIL() << "negative targets were taken";
  } catch (const failure& problem) {
    EXPECT_NE(std::string{problem.what()}.find("poisson needs targets of at least 0"),
              std::string::npos)
      << problem.what();
  }
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

} // namespace troupe::job_model_test
