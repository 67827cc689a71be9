// L-BFGS as the optimizer of a job: versions, points and figures, seen from outside.

#include "data/training_rows/batch_reader.hpp"
#include "tests/support/reference.hpp"
#include "tests/support/training.hpp"
#include "tests/support/whole_model_run.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace troupe::lbfgs_job_test {
namespace {

job lbfgs_job() {
  auto x = test::small_job();
  x.optimizer = {};
  x.optimizer.kind = optimizer_kind::lbfgs;
  x.training.batch_size = 0;
  x.training.slices = 4;
  x.training.epochs = 30;
  return x;
}

struct plain_run {
  explicit plain_run(const job& x)
    : data(load_data(x)),
      network(make_model(resolve(x, shape_of(*data), 1), shape_of(*data))),
      rows(batch_of_rows(data->train, 0, data->train.row_count)),
      run(x.optimizer, network->layout(), start(x)) {}

  std::vector<float> start(const job& x) const {
    std::vector<float> values(network->layout().size());
    network->initialize(x.seed, values);
    return values;
  }

  void steps(size_t count) {
    for (size_t t = 0; t < count; ++t)
      ASSERT_TRUE(run.step_of([this](const std::vector<float>& p, std::vector<float>& gradient) {
        const auto sums = network->gradient(p, rows, gradient, memory);
        for (auto& value : gradient)
          value /= static_cast<float>(sums.sample_count);
        return sums.loss_sum / static_cast<double>(sums.sample_count);
      }));
  }

  double mean_loss(std::span<const float> parameters) {
    const auto sums = network->evaluate(parameters, rows, memory);
    return sums.loss_sum / static_cast<double>(sums.sample_count);
  }

  std::shared_ptr<const prepared_data> data;
  std::unique_ptr<model> network;
  batch rows;
  workspace memory;
  test::whole_model_run run;
};

TEST(lbfgs_job, takes_the_steps_of_the_rule_alone) {
  for (size_t steps : {1u, 2u, 5u, 12u}) {
    auto x = lbfgs_job();
    x.training.epochs = steps;
    plain_run plain{x};
    plain.steps(steps);
    const auto found = test::values_of(test::train_on(2, x).parameters);
    ASSERT_EQ(found.size(), plain.run.parameters.size());
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], plain.run.parameters[i], 1e-5) << steps << ' ' << i;
  }
}

TEST(lbfgs_job, each_row_shows_the_loss_of_its_own_version_and_none_rises) {
  auto x = lbfgs_job();
  x.optimizer.learning_rate = 20; // many points are turned down
  const auto result = test::train_on(2, x);
  plain_run plain{x};
  ASSERT_EQ(result.history.size(), 30u);
  size_t still = 0;
  for (size_t k = 1; k < result.history.size(); ++k) {
    EXPECT_LE(*result.history[k].train_loss, *result.history[k - 1].train_loss * (1 + 1e-6)) << k;
    still += result.history[k].train_loss == result.history[k - 1].train_loss;
  }
  EXPECT_GT(still, 3u) << "no point was ever turned down";
  EXPECT_NEAR(plain.mean_loss(result.parameters.values()), *result.history.back().train_loss, 1e-6);
  for (size_t steps = 1; steps <= 12; ++steps) {
    x.training.steps = steps;
    const auto cut = test::train_on(2, x);
    EXPECT_NEAR(plain.mean_loss(cut.parameters.values()), *result.history[steps - 1].train_loss,
                1e-6)
      << "stopped at version " << steps;
  }
}

TEST(lbfgs_job, test_figures_are_those_of_the_result) {
  auto x = lbfgs_job();
  x.optimizer.learning_rate = 20;
  for (size_t steps : {3u, 4u, 5u, 6u, 7u}) {
    x.training.steps = steps;
    const auto result = test::train_on(2, x);
    plain_run plain{x};
    const auto& test = plain.data->test;
    const auto sums = plain.network->evaluate(result.parameters.values(),
                                              batch_of_rows(test, 0, test.row_count), plain.memory);
    EXPECT_NEAR(*result.summary.test_loss, sums.loss_sum / 50, 1e-6) << steps;
  }
}

TEST(lbfgs_job, fits_logistic_regressions_to_the_solution_of_newtons_method) {
  const auto reference = test::load_reference("logistic.json");
  for (const auto& entry : reference.at("cases")) {
    dataset rows;
    rows.labels = test::flat<int32_t>(entry.at("labels"));
    rows.row_count = rows.labels.size();
    rows.features = test::flat<float>(entry.at("features"));
    rows.feature_count = rows.features.size() / rows.row_count;
    rows.feature_names.resize(rows.feature_count, "x");
    rows.classes = {"0", "1"};
    rows.target_names = {"y"};
    auto x = lbfgs_job();
    x.data.test_fraction = 0;
    x.model = {};
    x.model.kind = model_kind::logistic_regression;
    x.training.epochs = 100;
    test::real_system host{2};
    const auto result = train(*host.system, x, prepare_data(x, rows));
    auto expected = test::flat<double>(entry.at("weight"));
    expected.push_back(entry.at("bias"));
    const auto found = result.parameters.values();
    ASSERT_EQ(found.size(), expected.size());
    for (size_t k = 0; k < found.size(); ++k)
      EXPECT_NEAR(found[k], expected[k], 1e-4 * std::abs(expected[k])) << entry.at("name") << k;
    EXPECT_NEAR(*result.summary.train_loss, entry.at("loss").get<double>(), 1e-6);
  }
}

TEST(lbfgs_job, an_l2_penalty_moves_the_minimum_where_descent_finds_it) {
  auto x = lbfgs_job();
  x.model = {};
  x.model.kind = model_kind::softmax_regression;
  x.optimizer.l2 = 0.05;
  x.training.epochs = 60;
  const auto found = test::values_of(test::train_on(2, x).parameters);
  x.optimizer = {};
  x.optimizer.l2 = 0.05;
  x.optimizer.momentum = 0.9;
  x.optimizer.learning_rate = 0.2;
  x.training.epochs = 1500;
  const auto expected = test::values_of(test::train_on(2, x).parameters);
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], 1e-4) << i;
}

TEST(lbfgs_job, stays_where_it_converged_and_patience_ends_it) {
  auto x = lbfgs_job();
  x.data.test_fraction = 0;
  x.model = {};
  x.model.kind = model_kind::softmax_regression;
  x.optimizer.l2 = 0.05;
  x.training.epochs = 100;
  const auto once = test::train_on(2, x);
  x.training.epochs = 150;
  EXPECT_EQ(test::values_of(test::train_on(2, x).parameters), test::values_of(once.parameters));
  x.training.patience = 25;
  const auto stopped = test::train_on(2, x);
  EXPECT_EQ(stopped.summary.stopped_by, "patience");
  EXPECT_EQ(test::values_of(stopped.parameters), test::values_of(once.parameters));
}

TEST(lbfgs_job, a_start_that_is_not_finite_ends_it_and_a_later_point_does_not) {
  company_options options;
  hooks_of(options).poison = std::numeric_limits<float>::infinity();
  hooks_of(options).poisoned_step = 0;
  auto x = lbfgs_job();
  x.training.epochs = 6;
  const auto lost = test::train_company(2, x, options);
  EXPECT_NE(lost.finished.problem.find("diverged"), std::string::npos);
  EXPECT_EQ(lost.finished.version, 0u);
  hooks_of(options).poisoned_step = 2;
  const auto detour = test::train_company(2, x, options);
  EXPECT_EQ(detour.finished.problem, "");
  EXPECT_EQ(detour.finished.version, 6u);
  EXPECT_NE(detour.parameters, test::train_company(2, x, {}).parameters);
}

TEST(lbfgs_job, a_start_that_is_not_finite_is_told_of_by_the_shard_that_has_it) {
  auto x = lbfgs_job();
  x.model.hidden = {700, 12}; // four blocks
  company_options options;
  options.shard_count = 3;
  hooks_of(options).poison = std::numeric_limits<float>::infinity();
  hooks_of(options).poisoned_step = 0;
  hooks_of(options).poisoned_slice = 2;
  hooks_of(options).poisoned_element = 5000; // of the second block
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const auto lost = test::train_in_order(x, seed, options);
    EXPECT_NE(lost.finished.problem.find("of slice"), std::string::npos) << lost.finished.problem;
  }
}

TEST(lbfgs_job, steps_make_no_buffer_once_they_run) {
  auto x = lbfgs_job();
  x.training.epochs = 10;
  const auto few = test::train_company(2, x, {}).buffers_made;
  x.training.epochs = 60;
  EXPECT_LE(test::train_company(2, x, {}).buffers_made, few + 2);
}

} // namespace
} // namespace troupe::lbfgs_job_test
