// The closed form and Gauss-Newton as optimizers of a job.

#include "actors/step/solver.hpp"
#include "data/text/failure.hpp"
#include "data/training_rows/batch_reader.hpp"
#include "models/solvers/least_squares.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/training.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace troupe::solver_test {
namespace {

job regression(optimizer_kind kind) {
  job x;
  x.name = "solved";
  x.seed = 3;
  x.data.synthetic = synthetic_kind::regression;
  x.data.rows = 1200; // more than one chunk, for training and for tests
  x.data.features = 6;
  x.data.targets = 2;
  x.data.test_fraction = 0.25;
  x.model.kind = model_kind::linear_regression;
  x.optimizer.kind = kind;
  x.training.epochs = 4;
  return x;
}

double mean_loss(const training_result& result, const dataset& rows) {
  const auto network = make_model(result.resolved, shape_of(*result.data));
  workspace memory;
  const auto sums =
    network->evaluate(result.parameters.values(), batch_of_rows(rows, 0, rows.row_count), memory);
  return sums.loss_sum / static_cast<double>(sums.sample_count);
}

/// Columns 0 and 1 are each other's double.
dataset dependent_columns() {
  dataset rows;
  rows.row_count = 8;
  rows.feature_count = 2;
  rows.feature_names = {"length", "twice"};
  rows.target_count = 1;
  rows.target_names = {"y"};
  for (size_t i = 0; i < 8; ++i) {
    const auto value = static_cast<float>(i);
    rows.features.insert(rows.features.end(), {value, 2 * value});
    rows.targets.push_back(3 * value + 1);
  }
  return rows;
}

TEST(solver, a_closed_form_leaves_what_any_job_leaves) {
  const auto x = regression(optimizer_kind::closed_form);
  const auto result = test::train_on(2, x);
  const auto& train = result.data->train;
  EXPECT_EQ(test::values_of(result.parameters),
            least_squares({train.row_count, train.features, {}, train.targets}, 6, 2));
  ASSERT_EQ(result.history.size(), 1u);
  EXPECT_EQ(result.history[0].epoch, 1u);
  EXPECT_EQ(result.history[0].steps, 1u);
  EXPECT_EQ(result.history[0].learning_rate, 0);
  EXPECT_NEAR(*result.history[0].train_loss, mean_loss(result, train), 1e-9);
  EXPECT_NEAR(*result.history[0].test_loss, mean_loss(result, result.data->test), 1e-9);
  EXPECT_GT(*result.summary.test_r2, 0.9);
  EXPECT_EQ(result.summary.steps, 1u);
  EXPECT_EQ(result.summary.epochs, 1u);
  EXPECT_EQ(result.summary.replicas, 1u);
  EXPECT_EQ(result.summary.slices, 1u);
  EXPECT_EQ(result.summary.samples, train.row_count);
  EXPECT_EQ(result.summary.stopped_by, "epochs");
}

TEST(solver, a_closed_form_needs_no_bias) {
  auto x = regression(optimizer_kind::closed_form);
  x.model.bias = false;
  const auto result = test::train_on(1, x);
  EXPECT_EQ(result.parameters.size(), 12u);
  const auto& train = result.data->train;
  EXPECT_EQ(test::values_of(result.parameters),
            least_squares({train.row_count, train.features, {}, train.targets}, 6, 2, {false, 0}));
}

TEST(solver, l2_means_the_same_to_the_closed_form_and_to_lbfgs) {
  auto x = regression(optimizer_kind::closed_form);
  x.optimizer.l2 = 0.5;
  const auto solved = test::values_of(test::train_on(1, x).parameters);
  x.optimizer.kind = optimizer_kind::lbfgs;
  x.training.batch_size = 0;
  x.training.epochs = 60;
  const auto searched = test::values_of(test::train_on(2, x).parameters);
  ASSERT_EQ(solved.size(), searched.size());
  for (size_t i = 0; i < solved.size(); ++i)
    EXPECT_NEAR(solved[i], searched[i], 1e-4) << i;
  x.optimizer.l2 = 0;
  EXPECT_GT(std::abs(test::values_of(test::train_on(2, x).parameters)[0] - searched[0]), 1e-2);
}

TEST(solver, dependent_columns_are_named_and_l2_gives_them_an_answer) {
  auto x = regression(optimizer_kind::closed_form);
  x.data.test_fraction = 0;
  test::real_system host{2};
  const auto problem =
    test::failure_of([&] { train(*host.system, x, prepare_data(x, dependent_columns())); });
  EXPECT_EQ(problem.code(), failure_code::bad_data);
  EXPECT_NE(std::string{problem.what()}.find("'twice'"), std::string::npos) << problem.what();
  EXPECT_NE(problem.hint().find("optimizer.l2"), std::string::npos);
  x.optimizer.l2 = 1e-6;
  const auto result = train(*host.system, x, prepare_data(x, dependent_columns()));
  EXPECT_NEAR(*result.summary.train_loss, 0, 1e-6);
}

TEST(solver, gauss_newton_fits_a_network_version_by_version) {
  auto x = regression(optimizer_kind::gauss_newton);
  x.data.targets = 1;
  x.data.rows = 300;
  x.model.kind = model_kind::neural_network;
  x.model.hidden = {4};
  x.model.activation = activation_kind::tanh;
  x.optimizer.damping = 10;
  x.training.epochs = 8;
  const auto result = test::train_on(2, x);
  ASSERT_EQ(result.history.size(), 8u);
  EXPECT_LT(*result.history.back().train_loss, *result.history.front().train_loss / 2);
  EXPECT_NEAR(*result.history.back().train_loss, mean_loss(result, result.data->train), 1e-6);
  for (const auto& row : result.history)
    EXPECT_TRUE(row.test_loss) << row.steps;
  x.training.steps = 3;
  EXPECT_NEAR(*test::train_on(2, x).summary.train_loss, *result.history[2].train_loss, 1e-9);
}

TEST(solver, stop_rules_and_the_order_of_messages_are_as_ever) {
  auto x = regression(optimizer_kind::gauss_newton);
  x.training.epochs = 50;
  x.training.patience = 2;
  const auto expected = test::train_on(2, x);
  EXPECT_EQ(expected.summary.stopped_by, "patience");
  EXPECT_LT(expected.summary.steps, 50u);
  for (uint64_t seed = 0; seed < 8; ++seed)
    EXPECT_EQ(test::train_in_order(x, seed).parameters, test::values_of(expected.parameters))
      << seed;
}

TEST(solver, stops_between_two_steps) {
  auto x = regression(optimizer_kind::gauss_newton);
  x.training.epochs = 1'000'000;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    test::ordered_company run{x};
    std::mt19937_64 random{seed};
    run.begin();
    for (int k = 0; k < 60; ++k)
      run.step(random);
    run.self()->send(run.actors().director(), atom::stop_v);
    run.run(random);
    const auto outcome = run.outcome();
    EXPECT_EQ(outcome.finished.reason, static_cast<uint8_t>(stop_reason::interrupt));
    x.training.steps = outcome.finished.version;
    if (outcome.finished.version > 0) {
      EXPECT_EQ(outcome.parameters, test::train_in_order(x, 0).parameters) << seed;
    }
    x.training.steps.reset();
  }
}

} // namespace
} // namespace troupe::solver_test
