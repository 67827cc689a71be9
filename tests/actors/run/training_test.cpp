// A training run from outside: results, stopping, what goes wrong.

#include "tests/support/training.hpp"

#include "actors/base/guard.hpp"
#include "actors/run/job_data.hpp"
#include "data/table/dataset.hpp"
#include "data/text/failure.hpp"
#include "models/metrics/prediction_sums.hpp"
#include "models/network/neural_network.hpp"
#include "tests/support/failure_of.hpp"

#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>

namespace troupe::training_test {
namespace {

using test::small_job;

/// Mean loss and accuracy of parameters on a data set, computed here and now.
batch_sums evaluate(const training_result& result, const dataset& rows) {
  const auto network = make_model(result.resolved, shape_of(*result.data));
  workspace memory;
  return network->evaluate(result.parameters.values(),
                           {rows.row_count, rows.features, rows.labels, rows.targets}, memory);
}

TEST(training, reports_what_its_parameters_achieve) {
  const auto result = test::train_on(2, small_job());
  const auto sums = evaluate(result, result.data->test);
  EXPECT_NEAR(*result.summary.test_loss, sums.loss_sum / 50, 1e-6);
  EXPECT_EQ(*result.summary.test_accuracy, static_cast<double>(sums.correct_count) / 50);
  EXPECT_GT(*result.summary.test_accuracy, 0.5);
  EXPECT_EQ(result.summary.steps, 15u);
  EXPECT_EQ(result.summary.epochs, 3u);
  EXPECT_EQ(result.summary.samples, 450u);
  EXPECT_EQ(result.summary.steps_executed, 15u);
  EXPECT_EQ(result.history.size(), 3u);
  EXPECT_EQ(result.history[1].epoch, 2u);
  EXPECT_EQ(result.history[1].steps, 10u);
  EXPECT_FALSE(result.problem);
}

TEST(training, r2_compares_with_the_mean_of_the_test_targets) {
  auto x = small_job();
  x.data.synthetic = synthetic_kind::regression;
  x.model.hidden.clear();
  x.optimizer.learning_rate = 0.1;
  x.training.epochs = 60;
  const auto result = test::train_on(2, x);
  const auto& test = result.data->test;
  double mean = 0, total = 0;
  for (double y : test.targets)
    mean += y / static_cast<double>(test.targets.size());
  for (double y : test.targets)
    total += (y - mean) * (y - mean);
  const auto sums = evaluate(result, test);
  EXPECT_NEAR(*result.summary.test_r2, 1 - sums.squared_error_sum / total, 1e-6);
  EXPECT_GT(*result.summary.test_r2, 0.8);
}

TEST(training, errors_of_scaled_targets_are_in_their_unit) {
  auto x = small_job();
  x.data.synthetic = synthetic_kind::regression;
  x.data.target_scale = target_scale_kind::asinh;
  x.training.metrics = {"rmse"};
  x.training.epochs = 3;
  const auto result = test::train_on(2, x);
  const auto& rows = result.data->test;
  const auto network = make_model(result.resolved, shape_of(*result.data));
  std::vector<float> predictions(rows.targets.size());
  workspace memory;
  network->predict(result.parameters.values(), rows.features, predictions, memory);
  const auto sums = compare(predictions, rows.targets, 1);
  EXPECT_NEAR(*result.summary.test_r2, *sums.r2(), 1e-6);
  EXPECT_NEAR(*result.summary.metrics.at("test_rmse"), std::sqrt(*sums.mean_squared_error()), 1e-6);
  EXPECT_GT(std::abs(*result.summary.test_loss - *sums.mean_squared_error()), 1e-3)
    << "the loss is that of scaled targets";
}

TEST(training, the_first_epochs_loss_is_the_mean_over_its_steps_as_trained) {
  auto x = small_job();
  x.data.test_fraction = 0;
  x.training.batch_size = 0; // one step: its loss is that of the initial parameters
  x.training.epochs = 1;
  const auto result = test::train_on(1, x);
  const auto network = make_model(result.resolved, shape_of(*result.data));
  std::vector<float> initial(result.layout.size());
  network->initialize(x.seed, initial);
  workspace memory;
  const auto& rows = result.data->train;
  const auto sums =
    network->evaluate(initial, {rows.row_count, rows.features, rows.labels, {}}, memory);
  EXPECT_NEAR(*result.summary.train_loss, sums.loss_sum / 200, 1e-6);
  EXPECT_FALSE(result.summary.test_loss);
}

TEST(training, a_target_stops_at_the_same_version_for_everybody) {
  auto x = small_job();
  x.training.epochs = 100;
  x.training.target_loss = 0.3;
  const auto one = test::train_on(1, x);
  EXPECT_EQ(one.summary.stopped_by, "target-loss");
  EXPECT_LE(*one.summary.test_loss, 0.3);
  EXPECT_LT(one.summary.epochs, 100u);
  EXPECT_GT(one.history.at(one.history.size() - 2).test_loss, 0.3);
  x.training.replicas = 7;
  const auto seven = test::train_on(2, x);
  EXPECT_EQ(seven.summary.steps, one.summary.steps);
  EXPECT_EQ(test::values_of(seven.parameters), test::values_of(one.parameters));
}

TEST(training, patience_stops_after_epochs_without_improvement) {
  auto x = small_job();
  x.training.epochs = 100;
  x.training.patience = 3;
  x.training.tolerance = 10; // nothing improves by that much after the first
  const auto result = test::train_on(2, x);
  EXPECT_EQ(result.summary.stopped_by, "patience");
  EXPECT_EQ(result.summary.epochs, 4u);
}

TEST(training, stops_at_a_version_when_asked_and_keeps_what_is_trained) {
  auto x = small_job();
  x.training.epochs = 1'000'000;
  test::real_system host{2};
  std::atomic<bool> stop = false;
  train_options options;
  options.on_progress = [&](const training_progress&) { stop = true; };
  options.stop_requested = [&] { return stop.load(); };
  const auto result = train(*host.system, x, options);
  EXPECT_EQ(result.summary.stopped_by, "interrupt");
  EXPECT_GT(result.summary.steps, 0u);
  // The same number of steps, undisturbed, gives the same bits: it was a version.
  x.training.steps = result.summary.steps;
  x.training.replicas = 3;
  const auto undisturbed = test::train_on(1, x);
  EXPECT_EQ(test::values_of(undisturbed.parameters), test::values_of(result.parameters));
  EXPECT_EQ(undisturbed.summary.test_loss, result.summary.test_loss);
}

TEST(training, stops_at_any_moment_in_any_order_of_messages) {
  auto x = small_job();
  x.training.replicas = 3;
  std::map<uint64_t, std::vector<float>> undisturbed;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    test::ordered_company run{x};
    std::mt19937_64 random{seed};
    run.begin();
    const auto stop_after = random() % 260;
    for (size_t i = 0; i < stop_after && run.step(random); ++i) {
    }
    run.self()->send(run.actors().director(), atom::stop_v);
    run.self()->send(run.actors().director(), atom::stop_v); // twice is as good as once
    run.run(random);
    const auto outcome = run.outcome();
    const auto version = outcome.finished.version;
    if (version == 0)
      continue; // the initial parameters
    if (!undisturbed.contains(version)) {
      auto whole = x;
      whole.training.steps = version;
      undisturbed[version] = test::train_in_order(whole, 0).parameters;
    }
    EXPECT_EQ(outcome.parameters, undisturbed[version]) << seed << " at version " << version;
    ASSERT_FALSE(outcome.finished.history.empty()) << seed;
    EXPECT_EQ(outcome.finished.history.back().steps, version) << seed;
    EXPECT_TRUE(outcome.finished.history.back().test_loss) << seed;
  }
  EXPECT_GT(undisturbed.size(), 5u) << "the stops came at different versions";
}

TEST(training, a_gradient_that_is_not_finite_is_refused_and_named) {
  auto x = small_job();
  x.training.replicas = 4; // slices 4 and 5 are replica 2's
  for (float poison :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()})
    for (uint64_t seed : {1u, 2u, 3u}) {
      company_options options;
      hooks_of(options).poisoned_step = 6;
      hooks_of(options).poisoned_slice = 5;
      hooks_of(options).poison = poison;
      hooks_of(options).keeps_slices_apart = seed == 2;
      const auto outcome = test::train_in_order(x, seed, options);
      EXPECT_FALSE(outcome.finished.failed);
      EXPECT_EQ(outcome.finished.version, 6u);
      EXPECT_NE(outcome.finished.problem.find("step 6"), std::string::npos);
      EXPECT_NE(outcome.finished.problem.find(seed == 2 ? "slice 5" : "slices 4 to 5"),
                std::string::npos)
        << outcome.finished.problem;
      EXPECT_NE(outcome.finished.problem.find("replica 2"), std::string::npos);
      auto before = x;
      before.training.steps = 6;
      EXPECT_EQ(outcome.parameters, test::train_in_order(before, 0).parameters)
        << "the last finite version is kept";
    }
}

TEST(training, a_poisoned_gradient_on_real_threads_ends_the_run_too) {
  auto x = small_job();
  x.model.hidden = {700, 12}; // several shards, of which one meets the bad value
  company_options options;
  options.shard_count = 3;
  hooks_of(options).poisoned_step = 3;
  hooks_of(options).poison = std::numeric_limits<float>::quiet_NaN();
  const auto outcome = test::train_company(2, x, options);
  EXPECT_EQ(outcome.finished.version, 3u);
  EXPECT_NE(outcome.finished.problem.find("slices 0 to "), std::string::npos);
  auto before = x;
  before.training.steps = 3;
  EXPECT_EQ(outcome.parameters, test::values_of(test::train_on(1, before).parameters));
}

TEST(training, a_gradient_of_another_shape_is_refused_and_named) {
  auto x = small_job();
  company_options options;
  hooks_of(options).cut_step = 3;
  const auto finished = test::train_company(2, x, options).finished;
  EXPECT_TRUE(finished.failed);
  EXPECT_EQ(static_cast<failure_code>(finished.failure), failure_code::internal);
  EXPECT_NE(finished.problem.find("at step 3 a gradient of slices "), std::string::npos)
    << finished.problem;
  EXPECT_NE(finished.problem.find(" came from replica "), std::string::npos) << finished.problem;
}

TEST(training, a_value_that_only_a_later_shard_meets_ends_the_run_in_any_order) {
  auto x = small_job();
  x.model.hidden = {700, 12};
  x.data.test_fraction = 0; // no evaluation holds the director back from naming the end
  x.training.replicas = 2;
  x.training.steps = 4;
  auto before = x;
  before.training.steps = 3;
  const auto expected = test::values_of(test::train_on(1, before).parameters);
  for (uint64_t seed = 0; seed < 40; ++seed) {
    company_options options;
    options.shard_count = 3;
    hooks_of(options).poisoned_step = 3;
    hooks_of(options).poisoned_element = 14'000; // in the last block
    hooks_of(options).poison = std::numeric_limits<float>::quiet_NaN();
    const auto outcome = test::train_in_order(x, seed, options);
    EXPECT_FALSE(outcome.finished.failed) << seed << outcome.finished.problem;
    EXPECT_EQ(outcome.finished.version, 3u) << seed;
    EXPECT_NE(outcome.finished.problem.find("slices 0 to 3"), std::string::npos) << seed;
    EXPECT_EQ(outcome.parameters, expected) << seed;
    for (const auto& row : outcome.finished.history)
      EXPECT_LE(row.steps, 3u) << seed;
  }
}

TEST(training, divergence_keeps_the_last_finite_parameters) {
  auto x = small_job();
  x.optimizer.kind = optimizer_kind::sgd;
  x.optimizer.learning_rate = 1e30;
  x.training.epochs = 50;
  const auto result = test::train_on(2, x);
  ASSERT_TRUE(result.problem);
  EXPECT_NE(result.problem->find("diverged"), std::string::npos);
  EXPECT_EQ(result.summary.stopped_by, "diverged");
  for (auto value : result.parameters.values())
    ASSERT_TRUE(std::isfinite(value));
}

TEST(training, steps_allocate_no_buffer_once_they_run_steadily) {
  auto x = small_job();
  x.training.replicas = 4;
  x.training.epochs = 1;
  const auto few = test::train_in_order(x, 1).buffers_made;
  x.training.epochs = 40;
  const auto many = test::train_in_order(x, 1).buffers_made;
  EXPECT_LE(few, 8u + 4u);
  EXPECT_LE(many, 8u + 4u) << "a gradient for each slice, three versions and one in hand";
}

TEST(training, a_system_without_our_types_is_refused_by_name) {
  caf::actor_system_config config;
  caf::actor_system system{config};
  const auto problem = test::failure_of([&] { train(system, small_job()); });
  EXPECT_EQ(problem.code(), failure_code::internal);
  EXPECT_NE(problem.hint().find("troupe::configure"), std::string::npos);
}

TEST(training, every_problem_of_a_job_is_named_at_once) {
  job x;
  x.training.epochs = 0;
  x.optimizer.learning_rate = -1;
  const auto problem = test::failure_of([&] { test::train_on(1, x); });
  EXPECT_EQ(problem.code(), failure_code::bad_job);
  for (const char* key : {"data.file", "training.epochs", "optimizer.learning_rate"})
    EXPECT_NE(problem.reason().find(key), std::string::npos) << key;
}

TEST(training, a_lost_actor_ends_the_run_with_its_name) {
  auto x = small_job();
  x.training.epochs = 1'000'000;
  test::ordered_company run{x};
  std::mt19937_64 random{1};
  run.begin();
  for (int i = 0; i < 100; ++i)
    run.step(random);
  caf::anon_send_exit(run.actors().replicas()[1], caf::exit_reason::kill);
  run.run(random);
  const auto outcome = run.outcome();
  EXPECT_TRUE(outcome.finished.failed);
  EXPECT_NE(outcome.finished.problem.find("replica 1 was lost"), std::string::npos);
}

TEST(training, progress_comes_with_each_epoch_and_in_order) {
  test::ordered_company run{small_job()};
  std::mt19937_64 random{3};
  run.begin();
  run.run(random);
  const auto finished = run.outcome().finished;
  std::vector<history_row> rows;
  for (const auto& news : run.progress)
    if (news.finished_epoch)
      rows.push_back(*news.finished_epoch);
  EXPECT_EQ(rows, finished.history);
  EXPECT_EQ(run.progress.back().epochs, 3u);
  EXPECT_EQ(run.progress.back().steps_in_epoch, 5u);
}

TEST(training, history_every_leaves_rows_out_and_changes_nothing_else) {
  auto x = small_job();
  x.training.epochs = 7;
  x.training.evaluate_every = 2;
  const auto all = test::train_on(2, x);
  x.training.history_every = 3;
  const auto some = test::train_on(2, x);
  EXPECT_EQ(test::values_of(some.parameters), test::values_of(all.parameters));
  std::vector<uint64_t> epochs;
  for (const auto& row : some.history) {
    epochs.push_back(row.epoch);
    auto expected = all.history.at(row.epoch - 1);
    expected.seconds = row.seconds;
    EXPECT_EQ(row, expected) << "epoch " << row.epoch;
  }
  EXPECT_EQ(epochs, (std::vector<uint64_t>{2, 3, 4, 6, 7}));
}

TEST(training, who_subscribes_late_hears_of_the_end_all_the_same) {
  test::ordered_company run{small_job()};
  std::mt19937_64 random{3};
  run.self()->send(run.actors().director(), atom::begin_v);
  run.run(random);
  run.self()->send(run.actors().director(), atom::watch_v,
                   caf::actor_cast<observer_actor>(run.self()));
  run.run(random);
  EXPECT_EQ(run.outcome().finished.version, 15u);
}

// Linear regression on the diabetes data, standardised, all rows: every way to train it ends at the
// least-squares solution, whose mean squared error is 2859.6963 and whose R^2 is 0.517748.

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
  expect_least_squares({}, test::values_of(test::train_on(2, x).parameters));
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
  expect_least_squares(data, test::values_of(test::train_on(2, x).parameters));
}

TEST(diabetes, gradient_descent_and_adam_end_at_the_least_squares_solution) {
  const diabetes data;
  auto x = diabetes_job();
  x.training.epochs = 1000;
  x.optimizer.learning_rate = 0.1;
  x.optimizer.momentum = 0.9;
  expect_least_squares(data, test::values_of(test::train_on(2, x).parameters));
  x.optimizer = {};
  x.optimizer.kind = optimizer_kind::adam;
  x.optimizer.learning_rate = 2;
  expect_least_squares(data, test::values_of(test::train_on(2, x).parameters));
}

// Who runs out of memory all the same is told by name, with what the plan had counted on. And a run
// ends with the code of what its part met: damaged data are no defect of the program.

using thrower_actor = caf::typed_actor<caf::reacts_to<std::string>>;

struct thrower_state {
  thrower_actor::behavior_type make_behavior() {
    return {[](const std::string& what) {
      if (what == "no memory")
        throw std::bad_alloc();
      if (what == "damage")
        throw failure(failure_code::bad_data, "chunk 7 is damaged", "rows", "make it anew");
      throw std::runtime_error(what);
    }};
  }

  std::string work_in_hand() const { return work; }

  std::string work;
};

thrower_actor::behavior_type thrower(self_pointer<thrower_actor, thrower_state> self,
                                     const std::string& work) {
  guard(self);
  self->state.work = work;
  return self->state.make_behavior();
}

/// What an actor's end says after it threw.
failure end_of_thrower(const std::string& what, const std::string& work = {}) {
  caf::actor_system_config config;
  caf::actor_system system{config};
  caf::scoped_actor self{system};
  const auto actor = self->spawn<caf::monitored>(thrower, work);
  self->send(actor, what);
  caf::error why;
  self->receive([&](const caf::down_msg& news) { why = news.reason; });
  return loss_failure(system, why);
}

TEST(memory_shortage, an_actor_without_memory_ends_the_run_as_a_job_that_is_too_large) {
  EXPECT_EQ(end_of_thrower("no memory").code(), failure_code::bad_job);
  EXPECT_EQ(end_of_thrower("no memory").reason(), "there is not enough memory");
  EXPECT_EQ(end_of_thrower("something else").code(), failure_code::internal);
  EXPECT_EQ(end_of_thrower("something else").reason(), "something else");
}

TEST(memory_shortage, an_actor_that_meets_damaged_data_ends_the_run_with_their_code_and_all_words) {
  const auto told = end_of_thrower("damage", "step 3");
  EXPECT_EQ(told.code(), failure_code::bad_data);
  EXPECT_EQ(told.reason(), "rows: chunk 7 is damaged, at step 3; make it anew");
}

TEST(memory_shortage, the_plan_s_figure_is_told_and_other_failures_are_left_alone) {
  const data_shape shape{100, 0, 4, 3, true, {30, 30, 40}};
  job x;
  x.model.hidden = {8};
  const auto resolved = resolve(x, shape, 1);
  const auto told = with_plan(
    {failure_code::bad_job, "shard 0 was lost: there is not enough memory"}, resolved, shape);
  EXPECT_EQ(told.code(), failure_code::bad_job);
  EXPECT_TRUE(told.reason().starts_with(
    "shard 0 was lost: there is not enough memory; the plan counts on about "))
    << told.reason();
  EXPECT_FALSE(told.hint().empty());
  EXPECT_EQ(with_plan({failure_code::internal, "a defect"}, resolved, shape).reason(), "a defect");
}

} // namespace
} // namespace troupe::training_test
