// Runs that keep their best version: which one it is, and that its bits are those of a run that
// never went beyond it.

#include "data/table/dataset.hpp"
#include "tests/support/training.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace troupe::best_version_test {
namespace {

/// The small job on noisy rows with a rate so high that validation gets worse before patience ends.
job early_stopping_job() {
  auto x = test::small_job();
  x.data.noise = 1.5;
  x.data.validation_fraction = 0.2;
  x.optimizer.learning_rate = 0.05;
  x.training.epochs = 40;
  x.training.patience = 3;
  return x;
}

/// A job of 7 steps an epoch without evaluation: the first shard's figures decide what is best.
job training_loss_job() {
  auto x = early_stopping_job();
  x.model.hidden = {700, 12}; // 15,051 parameters: 4 blocks
  x.data.test_fraction = x.data.validation_fraction = 0;
  x.training.keep_best = true;
  x.training.patience = std::nullopt;
  x.training.slices = 2;
  return x;
}

company_options poison_in_the_last_shard() {
  company_options result;
  hooks_of(result).poison = std::numeric_limits<float>::quiet_NaN();
  hooks_of(result).poisoned_slice = 1;
  hooks_of(result).poisoned_element = 14'000;
  return result;
}

/// The bits of a plain run of the same job that ends after `steps`.
std::vector<float> stopped_by_steps(job x, uint64_t steps) {
  x.training.keep_best = false;
  x.training.patience = std::nullopt;
  x.training.steps = steps;
  x.training.replicas = 1;
  return test::values_of(test::train_on(1, x).parameters);
}

const history_row& best_row(const std::vector<history_row>& history) {
  return *std::ranges::min_element(history, {},
                                   [](const history_row& row) { return *row.validation_loss; });
}

TEST(best_version, is_the_row_of_the_least_validation_loss_and_the_run_stopped_there) {
  const auto x = early_stopping_job();
  const auto result = test::train_on(2, x);
  const auto& best = best_row(result.history);
  EXPECT_EQ(result.summary.stopped_by, "patience");
  EXPECT_EQ(result.summary.best_version, best.steps);
  EXPECT_EQ(result.summary.steps, best.steps);
  EXPECT_EQ(result.history.back().steps, best.steps + 3 * 4) << "patience of 3 epochs of 4 steps";
  EXPECT_EQ(result.summary.steps_executed, result.history.back().steps);
  EXPECT_EQ(test::values_of(result.parameters), stopped_by_steps(x, best.steps));
}

TEST(best_version, has_the_figures_of_its_row_in_the_summary) {
  const auto result = test::train_on(2, early_stopping_job());
  const auto& best = best_row(result.history);
  ASSERT_NE(best.test_loss, result.history.back().test_loss);
  EXPECT_EQ(result.summary.epochs, best.epoch);
  EXPECT_EQ(result.summary.train_loss, best.train_loss);
  EXPECT_EQ(result.summary.test_loss, best.test_loss);
  EXPECT_EQ(result.summary.test_accuracy, best.test_accuracy);
  EXPECT_EQ(result.summary.validation_loss, best.validation_loss);
  EXPECT_EQ(result.summary.validation_accuracy, best.validation_accuracy);
}

TEST(best_version, is_judged_by_what_its_parameters_achieve_on_the_validation_rows) {
  auto x = early_stopping_job();
  for (auto kind : {synthetic_kind::classification, synthetic_kind::regression}) {
    x.data.synthetic = kind;
    const auto result = test::train_on(2, x);
    const auto& rows = result.data->validation;
    ASSERT_EQ(rows.row_count, 40u);
    const auto network = make_model(result.resolved, shape_of(*result.data));
    workspace memory;
    const auto sums =
      network->evaluate(result.parameters.values(),
                        {rows.row_count, rows.features, rows.labels, rows.targets}, memory);
    EXPECT_NEAR(*result.summary.validation_loss, sums.loss_sum / 40, 1e-6);
    if (kind == synthetic_kind::classification) {
      EXPECT_EQ(result.summary.validation_accuracy, static_cast<double>(sums.correct_count) / 40);
      EXPECT_FALSE(result.summary.validation_r2);
    } else {
      EXPECT_NEAR(*result.summary.validation_r2, 1 - sums.squared_error_sum / total_squares(rows),
                  1e-6);
      EXPECT_FALSE(result.summary.validation_accuracy);
    }
  }
}

TEST(best_version, is_the_same_for_any_number_of_replicas_and_shards) {
  auto x = early_stopping_job();
  x.model.hidden = {700, 12}; // 15,051 parameters: 4 blocks
  x.optimizer.learning_rate = 0.01;
  const auto expected = test::train_on(1, x);
  ASSERT_LT(expected.summary.steps, expected.history.back().steps);
  for (size_t replicas : {1u, 2u, 4u})
    for (size_t shards : {1u, 2u, 4u, 9u}) {
      x.training.replicas = replicas;
      company_options options;
      options.shard_count = shards;
      const auto outcome = test::train_company(2, x, options);
      EXPECT_EQ(outcome.finished.version, expected.summary.best_version);
      EXPECT_TRUE(outcome.finished.is_best);
      EXPECT_EQ(outcome.parameters, test::values_of(expected.parameters))
        << replicas << ' ' << shards;
    }
}

TEST(best_version, is_the_same_in_any_order_of_messages) {
  auto x = early_stopping_job();
  for (const bool watches_training : {false, true}) {
    if (watches_training) {
      x.data.test_fraction = x.data.validation_fraction = 0;
      x.training.keep_best = true;
      x.training.epochs = 8;
    }
    const auto expected = test::train_on(1, x);
    ASSERT_TRUE(expected.summary.best_version);
    for (size_t replicas : {1u, 2u, 4u})
      for (uint64_t seed = 0; seed < 8; ++seed) {
        x.training.replicas = replicas;
        const auto outcome = test::train_in_order(x, seed);
        EXPECT_EQ(outcome.finished.version, expected.summary.best_version) << replicas << seed;
        EXPECT_EQ(outcome.parameters, test::values_of(expected.parameters)) << replicas << seed;
        EXPECT_EQ(outcome.finished.history.size(), expected.history.size()) << replicas << seed;
      }
  }
}

TEST(best_version, is_not_kept_when_the_job_says_so_and_then_nothing_changes) {
  auto x = early_stopping_job();
  x.training.epochs = test::train_on(2, x).history.size(); // three beyond the best one
  x.training.patience = std::nullopt;
  const auto kept = test::train_on(2, x);
  x.training.keep_best = false;
  const auto last = test::train_on(2, x);
  EXPECT_EQ(kept.summary.steps, last.summary.steps - 3 * 4);
  EXPECT_EQ(last.summary.steps, last.history.back().steps);
  EXPECT_FALSE(last.summary.best_version);
  ASSERT_EQ(kept.history.size(), last.history.size());
  for (size_t i = 0; i < kept.history.size(); ++i)
    EXPECT_EQ(kept.history[i].validation_loss, last.history[i].validation_loss) << i;
  EXPECT_EQ(kept.summary.job_sha256, last.summary.job_sha256) << "steps are the same";
  x.training.steps = kept.summary.steps;
  EXPECT_EQ(test::values_of(test::train_on(2, x).parameters), test::values_of(kept.parameters));
}

TEST(best_version, is_not_kept_by_jobs_without_validation_rows_unless_they_ask) {
  auto x = early_stopping_job();
  x.data.validation_fraction = 0;
  const auto last = test::train_on(2, x);
  EXPECT_FALSE(last.summary.best_version);
  EXPECT_EQ(last.summary.steps, last.history.back().steps);
  x.training.keep_best = true;
  const auto kept = test::train_on(2, x);
  const auto least = std::ranges::min_element(
    kept.history, {}, [](const history_row& row) { return *row.test_loss; });
  EXPECT_EQ(kept.summary.best_version, least->steps) << "the test loss is watched";
}

TEST(best_version, is_what_an_interrupt_yields_at_any_moment_in_any_order_of_messages) {
  auto x = early_stopping_job();
  x.training.replicas = 3;
  x.training.patience = std::nullopt;
  std::map<uint64_t, std::vector<float>> undisturbed;
  size_t best_count = 0, other_count = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    test::ordered_company run{x};
    std::mt19937_64 random{seed};
    run.begin();
    const auto stop_after = random() % 900;
    for (size_t i = 0; i < stop_after && run.step(random); ++i) {
    }
    run.self()->send(run.actors().director(), atom::stop_v);
    run.run(random);
    const auto outcome = run.outcome();
    const auto version = outcome.finished.version;
    if (version == 0)
      continue; // the initial parameters
    auto evaluated = outcome.finished.history;
    std::erase_if(evaluated, [](const history_row& row) { return row.steps % 4 != 0; });
    ASSERT_EQ(outcome.finished.is_best, !evaluated.empty()) << seed;
    if (outcome.finished.is_best) {
      EXPECT_EQ(version, best_row(evaluated).steps) << seed;
    }
    ++(evaluated.empty() ? other_count : best_count);
    if (!undisturbed.contains(version))
      undisturbed[version] = stopped_by_steps(x, version);
    EXPECT_EQ(outcome.parameters, undisturbed[version]) << seed << " at version " << version;
  }
  EXPECT_GT(best_count, 10u);
  EXPECT_GT(other_count, 2u) << "some stops came before the first evaluation";
}

TEST(best_version, is_what_a_run_that_diverges_yields) {
  auto x = early_stopping_job();
  const auto undisturbed = test::train_on(1, x);
  company_options options;
  hooks_of(options).poison = std::numeric_limits<float>::quiet_NaN();
  hooks_of(options).poisoned_slice = 1;
  for (uint64_t after : {1u, 5u}) {
    const auto best = *undisturbed.summary.best_version;
    hooks_of(options).poisoned_step = best + after;
    for (uint64_t seed = 0; seed < 10; ++seed) {
      const auto outcome = test::train_in_order(x, seed, options);
      EXPECT_EQ(outcome.finished.reason, static_cast<uint8_t>(stop_reason::diverged));
      EXPECT_EQ(outcome.finished.version, best) << seed;
      EXPECT_EQ(outcome.parameters, test::values_of(undisturbed.parameters)) << seed;
      EXPECT_NE(outcome.finished.problem.find("version " + std::to_string(best) + ", the best one"),
                std::string::npos)
        << outcome.finished.problem;
      EXPECT_LE(outcome.finished.history.back().steps, best + after) << seed;
    }
  }
}

TEST(best_version, that_a_shard_cannot_reach_is_not_kept) {
  const auto x = training_loss_job();
  auto options = poison_in_the_last_shard();
  hooks_of(options).poisoned_step = 13; // the last of the second epoch
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto outcome = test::train_in_order(x, seed, options);
    EXPECT_EQ(outcome.finished.reason, static_cast<uint8_t>(stop_reason::diverged)) << seed;
    EXPECT_EQ(outcome.finished.version, 7u) << "the first epoch's";
    EXPECT_TRUE(outcome.finished.is_best);
  }
}

TEST(best_version, does_not_hide_that_a_shard_could_not_reach_the_end) {
  auto x = training_loss_job();
  x.optimizer.learning_rate = 0.5; // the loss goes up and down
  const auto history = test::train_on(1, x).history;
  const auto worse = std::ranges::adjacent_find(
    history, [](const auto& a, const auto& b) { return a.train_loss <= b.train_loss; });
  ASSERT_NE(worse, history.end());
  x.training.steps = worse->steps + 7;
  auto options = poison_in_the_last_shard();
  hooks_of(options).poisoned_step = worse->steps + 6;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto outcome = test::train_in_order(x, seed, options);
    EXPECT_EQ(outcome.finished.reason, static_cast<uint8_t>(stop_reason::diverged)) << seed;
    EXPECT_EQ(outcome.finished.history.back().steps, worse->steps) << seed;
    EXPECT_TRUE(outcome.finished.is_best) << seed;
  }
}

TEST(best_version, costs_a_buffer_or_two_and_no_more) {
  auto x = early_stopping_job();
  x.training.patience = std::nullopt;
  const auto kept = test::train_in_order(x, 1);
  x.training.keep_best = false;
  const auto last = test::train_in_order(x, 1);
  EXPECT_LE(kept.buffers_made, last.buffers_made + 2);
}

} // namespace
} // namespace troupe::best_version_test
