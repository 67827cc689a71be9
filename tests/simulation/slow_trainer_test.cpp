// One slow trainer among many, in virtual time with real training: what it loses, who waits for it,
// and how much sooner the others are where they want to be.

#include "tests/simulation/mode_trial.hpp"
#include "tests/simulation/world.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>

namespace troupe::simulation {
namespace {

using namespace std::chrono_literals;
timed_run train_at(const job& x, const std::vector<duration>& row_times) {
  testing_system host;
  return train_timed(host.get(), x, row_times);
}

/// 40 gradients for each trainer on average.
job small_job(size_t trainer_count, consistency_kind mode) {
  job x;
  x.seed = 2;
  x.data.synthetic = synthetic_kind::regression;
  x.data.rows = 80;
  x.data.features = 3;
  x.model.kind = model_kind::linear_regression;
  x.optimizer.learning_rate = 0.01;
  x.training.batch_size = 8;
  x.training.epochs = 4 * trainer_count;
  x.training.replicas = trainer_count;
  x.training.consistency = mode;
  return x;
}

/// Trainer 0 at half speed, 2 ms for a gradient of 8 rows; the others differ by a little, as they
/// do.
std::vector<duration> one_at_half_speed(size_t count) {
  std::vector<duration> row_times{250us};
  for (size_t i = 1; i < count; ++i)
    row_times.push_back(125us + i * 125ns);
  return row_times;
}

uint64_t discarded_by_others(const trainer_figures& figures) {
  uint64_t result = 0;
  for (size_t i = 1; i < figures.replicas.size(); ++i)
    result += figures.replicas[i].figures.discarded_count;
  return result;
}

/// Of all gradients, those it would bring at half speed.
uint64_t fair_share(size_t count) {
  return 40 * count / (2 * count - 1);
}

job digits_job() {
  job x;
  x.seed = 6;
  x.data.file = std::string{TROUPE_SOURCE_DIR} + "/examples/data/digits.csv.gz";
  x.data.test_fraction = 0.25;
  x.data.standardize = true;
  x.model.hidden = {32};
  x.optimizer.kind = optimizer_kind::adam;
  x.optimizer.learning_rate = 0.01;
  x.training.batch_size = 64;
  x.training.slices = 4;
  x.training.replicas = 4;
  x.training.epochs = 40;
  x.training.target_loss = 0.25;
  return x;
}

/// Virtual seconds to the target loss, one of four replicas being ten times slower.
double seconds_to_target(const job& x) {
  const auto result = train_at(x, {160us, 16us, 16us, 16us});
  EXPECT_EQ(result.finished.reason, static_cast<uint8_t>(stop_reason::target_loss));
  return result.finished.seconds;
}

TEST(slow_trainer, at_half_speed_it_loses_at_most_half_to_the_lag_rule) {
  for (size_t count : {4, 8, 16}) {
    const auto run = train_at(small_job(count, consistency_kind::lag), one_at_half_speed(count));
    const auto& slow = run.figures.replicas.at(0).figures;
    EXPECT_EQ(slow.applied_count + slow.discarded_count, slow.result_count) << count;
    EXPECT_NEAR(static_cast<double>(slow.result_count), static_cast<double>(fair_share(count)), 2);
    EXPECT_GE(slow.applied_count * 2, slow.result_count) << "the defect elsewhere: it loses all";
    EXPECT_EQ(discarded_by_others(run.figures), 0u) << count;
    const auto lags = std::accumulate(slow.lags.begin(), slow.lags.end(), uint64_t{0});
    EXPECT_EQ(lags, slow.result_count) << "each is in the table";
  }
}

TEST(slow_trainer, at_half_speed_it_paces_a_bounded_run_and_loses_nothing) {
  for (size_t count : {4, 8, 16}) {
    auto x = small_job(count, consistency_kind::bounded);
    x.training.staleness_max = 2;
    const auto run = train_at(x, one_at_half_speed(count));
    const auto& slow = run.figures.replicas.at(0).figures;
    for (const auto& [who, one, partition] : run.figures.replicas) {
      EXPECT_EQ(one.discarded_count, 0u) << count;
      EXPECT_EQ(one.applied_count, one.result_count) << count;
      EXPECT_LE(one.result_count, slow.result_count + 3) << "two ahead, and one under way";
      const std::chrono::duration<double> passed = one.waited + one.computed;
      EXPECT_NEAR(passed.count(), run.finished.seconds, 0.005) << "it computes or waits";
    }
    EXPECT_EQ(slow.waited, 0ns) << "for nobody";
    EXPECT_NEAR(run.finished.seconds, 0.080, 0.010) << "40 gradients of the slow one";
  }
}

TEST(slow_trainer, at_half_speed_it_holds_no_step_up_that_takes_the_first_ones) {
  for (size_t count : {4, 8, 16}) {
    auto x = small_job(count, consistency_kind::half_synchronous);
    x.training.first_count = count - 1;
    const auto run = train_at(x, one_at_half_speed(count));
    const auto& slow = run.figures.replicas.at(0).figures;
    EXPECT_EQ(slow.discarded_count, 0u) << "what is late counts into the next step";
    EXPECT_GE(slow.applied_count + 1, slow.result_count) << "all but one that is held at the end";
    EXPECT_GE(slow.result_count + 2, fair_share(count)) << count;
    EXPECT_LT(run.finished.seconds, 0.055) << count << " in step with it: 80 ms";
  }
}

TEST(slow_trainer, ten_times_slower_it_does_not_keep_the_others_from_their_target) {
  auto x = digits_job();
  const auto in_step = seconds_to_target(x);
  x.training.slices.reset();
  x.training.consistency = consistency_kind::asynchronous;
  EXPECT_LE(seconds_to_target(x), in_step / 2);
  x.training.consistency = consistency_kind::half_synchronous;
  x.training.first_count = 3;
  EXPECT_LE(seconds_to_target(x), in_step / 2);
  // In the long run a bound lets nobody be faster than the slowest: it helps as far as it reaches.
  x.training.consistency = consistency_kind::bounded;
  x.training.staleness_max = 16;
  EXPECT_LE(seconds_to_target(x), in_step / 2);
}

} // namespace
} // namespace troupe::simulation
