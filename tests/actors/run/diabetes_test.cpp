// Linear regression on the diabetes data, standardised, all rows: every way to train it ends at the
// least-squares solution, whose mean squared error is 2859.6963 and whose R^2 is 0.517748.

#include "data/table/dataset.hpp"
#include "tests/support/training.hpp"

#include <gtest/gtest.h>

namespace troupe::diabetes_test {

namespace {

job diabetes_job() {
  job x;
  x.data.file = std::string{TROUPE_SOURCE_DIR} + "/examples/data/diabetes.csv";
  x.data.standardize = true;
  x.model.kind = model_kind::linear_regression;
  x.training.batch_size = 0;
  x.training.evaluate_every = 0;
  return x;
}

struct diabetes {
  std::shared_ptr<const prepared_data> data = load_data(diabetes_job());
  job resolved = resolve(diabetes_job(), shape_of(*data), 2);
  std::unique_ptr<model> network = make_model(resolved, shape_of(*data));
  batch rows{data->train.row_count, data->train.features, {}, data->train.targets};
};

void expect_least_squares(const diabetes& x, std::span<const float> parameters) {
  workspace memory;
  const auto sums = x.network->evaluate(parameters, x.rows, memory);
  const auto mean = sums.squared_error_sum / 442;
  EXPECT_NEAR(mean, 2859.6963, 2859.6963e-4);
  EXPECT_NEAR(1 - sums.squared_error_sum / total_squares(x.data->train), 0.517748, 0.517748e-4);
}

} // namespace

TEST(diabetes, closed_form_is_the_least_squares_solution) {
  auto x = diabetes_job();
  x.optimizer.kind = optimizer_kind::closed_form;
  const auto result = test::train_on(2, x);
  expect_least_squares({}, result.parameters.values());
  EXPECT_NEAR(*result.summary.train_loss, 2859.6963, 2859.6963e-4);
}

TEST(diabetes, gauss_newton_ends_at_the_least_squares_solution) {
  auto x = diabetes_job();
  x.optimizer.kind = optimizer_kind::gauss_newton;
  x.training.epochs = 3;
  expect_least_squares({}, test::train_on(2, x).parameters.values());
}

TEST(diabetes, lbfgs_ends_at_the_least_squares_solution) {
  const diabetes data;
  auto x = diabetes_job();
  x.optimizer.kind = optimizer_kind::lbfgs;
  x.training.epochs = 60;
  const auto result = test::train_on(2, x);
  expect_least_squares(data, result.parameters.values());
  EXPECT_NEAR(*result.summary.train_loss, 2859.6963, 2859.6963e-4) << "of the result itself";
}

TEST(diabetes, adafactor_ends_at_the_least_squares_solution) {
  const diabetes data;
  auto x = diabetes_job();
  x.optimizer.kind = optimizer_kind::adafactor;
  x.optimizer.learning_rate = 0.1;
  x.optimizer.schedule.kind = schedule_kind::exponential;
  x.optimizer.schedule.steps = 500;
  x.training.epochs = 3000;
  expect_least_squares(data, test::train_on(2, x).parameters.values());
}

TEST(diabetes, gradient_descent_and_adam_end_at_the_least_squares_solution) {
  const diabetes data;
  auto x = diabetes_job();
  x.training.epochs = 1000;
  x.optimizer.learning_rate = 0.1;
  x.optimizer.momentum = 0.9;
  expect_least_squares(data, test::train_on(2, x).parameters.values());
  x.optimizer = {};
  x.optimizer.kind = optimizer_kind::adam;
  x.optimizer.learning_rate = 2;
  expect_least_squares(data, test::train_on(2, x).parameters.values());
}

} // namespace troupe::diabetes_test
