// Whatever direction of rounding an application has set, before its actor system was made or on the
// thread that calls: a job's bits are the job's, and the application finds its own mode again.

#include "actors/embed/estimator.hpp"
#include "models/base/rounding.hpp"
#include "tests/support/networked.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/training.hpp"

#include <caf/event_based_actor.hpp>

#include <gtest/gtest.h>

#include <cfenv>
#include <functional>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace troupe::host_rounding_test {
namespace {

/// What a host may have set, for as long as one lives; threads made meanwhile inherit it.
class host_mode {
public:
  host_mode(int direction, bool flushes) {
    fegetenv(&before_);
    fesetround(direction);
#if defined(__x86_64__)
    if (flushes)
      _mm_setcsr(_mm_getcsr() | 0x8040); // flush to zero, denormals are zero
#endif
  }
  ~host_mode() {
    fesetenv(&before_);
  }

private:
  std::fenv_t before_;
};

struct named_mode {
  const char* name;
  int direction;
  bool flushes;
};

const named_mode modes[] = {{"upward", FE_UPWARD, false},
                            {"downward", FE_DOWNWARD, false},
                            {"toward zero, flushing", FE_TOWARDZERO, true},
                            {"flushing", FE_TONEAREST, true}};

/// What has to be equal: everything but times.
struct outcome {
  std::string job_sha256;
  std::string parameters_sha256;
  std::vector<history_row> history;

  friend bool operator==(const outcome&, const outcome&) = default;
};

outcome outcome_of(const training_result& result) {
  outcome x{result.summary.job_sha256, result.summary.parameters_sha256, result.history};
  for (auto& row : x.history)
    row.seconds = 0;
  return x;
}

/// The mode that an actor of the host's own finds on a thread of the system.
int direction_seen_by_an_actor(caf::actor_system& system) {
  caf::scoped_actor self{system};
  const auto other =
    self->spawn([]() -> caf::behavior { return {[](int) { return fegetround(); }}; });
  int result = -1;
  self->request(other, std::chrono::seconds{10}, 0)
    .receive([&](int direction) { result = direction; }, [](const caf::error&) {});
  return result;
}

outcome outcome_under(const named_mode& mode, const std::function<training_result()>& run) {
  const host_mode host{mode.direction, mode.flushes};
  const auto result = outcome_of(run());
  EXPECT_EQ(fegetround(), mode.direction) << "the caller's";
  return result;
}

void expect_same_bits(const std::function<training_result()>& run) {
  const auto expected = outcome_of(run());
  for (const auto& mode : modes)
    EXPECT_EQ(outcome_under(mode, run), expected) << mode.name;
}

void expect_same_bits(const job& x) {
  expect_same_bits([&] { return test::train_on(2, x); });
}

/// Early stopping on standardised rows of a skewed data set.
job early_stopping_job() {
  auto x = test::small_job();
  x.data.standardize = true;
  x.data.validation_fraction = 0.2;
  x.training.epochs = 8;
  x.training.patience = 3;
  x.training.class_weights.kind = class_weight_kind::balanced;
  x.optimizer.clip_norm = 0.5;
  x.optimizer.l2 = 0.01;
  return x;
}

TEST(host_rounding, changes_no_bits_of_synchronous_training) {
  expect_same_bits(early_stopping_job());
  auto x = test::small_job();
  x.optimizer.schedule.kind = schedule_kind::cosine;
  x.optimizer.schedule.steps = 15;
  x.model.dropout = 0.2;
  x.training.keep_best = true;
  expect_same_bits(x);
}

TEST(host_rounding, changes_no_bits_of_rules_that_see_the_whole_model) {
  auto x = test::small_job();
  x.training.batch_size = 0;
  x.optimizer.kind = optimizer_kind::lbfgs;
  expect_same_bits(x);
  x = test::small_job();
  x.data.synthetic = synthetic_kind::regression;
  x.data.standardize = true;
  x.training.slices.reset();
  x.training.replicas.reset();
  x.optimizer.kind = optimizer_kind::gauss_newton;
  expect_same_bits(x);
  x.model = {};
  x.model.kind = model_kind::linear_regression;
  x.optimizer.kind = optimizer_kind::closed_form;
  expect_same_bits(x);
}

TEST(host_rounding, changes_no_bits_of_local_rounds) {
  auto x = test::small_job();
  x.training.strategy = strategy_kind::parameters;
  x.training.slices.reset();
  x.training.members = 4;
  x.training.local_steps = 2;
  x.merge.averaging.kind = averaging_kind::exponential;
  x.merge.outer.kind = outer_kind::adam;
  expect_same_bits(x);
}

TEST(host_rounding, changes_no_bits_of_asynchronous_training_by_one_replica) {
  auto x = test::small_job();
  x.training.consistency = consistency_kind::asynchronous;
  x.training.slices.reset();
  x.training.replicas = 1;
  x.training.delay_compensation = 0.04;
  expect_same_bits(x);
}

TEST(host_rounding, changes_no_bits_of_what_a_file_says) {
  const temporary_folder folder;
  std::string rows;
  for (int i = 0; i < 90; ++i)
    rows += std::to_string(i) + "." + std::to_string(1234567 + 7919 * i) + ",1.1e-" +
            std::to_string(i % 30) + "," + std::to_string(i * i % 17) + ".3\n";
  auto x = test::small_job();
  x.data = {};
  x.data.file = folder.write("rows.csv", rows);
  x.data.standardize = true;
  x.data.test_fraction = 0.29;
  expect_same_bits(x);
}

TEST(host_rounding, changes_no_bits_of_a_cluster) {
  expect_same_bits([] {
    test::test_cluster cluster{early_stopping_job(),
                               test::plan_of({test::bringing(1, 1), test::bringing(1, 1)})};
    cluster.start_all();
    auto end = cluster[0].end();
    cluster[1].end();
    return std::move(*end.training);
  });
}

TEST(host_rounding, changes_no_bits_of_an_estimator) {
  std::vector<float> features, targets;
  for (int i = 0; i < 120; ++i) {
    features.push_back(static_cast<float>(i % 11) / 7);
    features.push_back(static_cast<float>(i % 13) / 3);
    targets.push_back(static_cast<float>(i % 11 + 2 * (i % 13)) / 9);
  }
  const matrix_view rows{features, 120, 2};
  const auto run = [&] {
    estimator_options options;
    options.standardize = true;
    options.training.epochs = 5;
    estimator x{options};
    x.fit(rows, targets);
    return std::pair{x.predict(rows), x.score(rows, targets)};
  };
  const auto expected = run();
  for (const auto& mode : modes) {
    const host_mode host{mode.direction, mode.flushes};
    EXPECT_EQ(run(), expected) << mode.name;
    EXPECT_EQ(fegetround(), mode.direction);
  }
}

TEST(host_rounding, is_left_as_it_was_for_the_hosts_own_actors) {
  const host_mode host{FE_UPWARD, false};
  test::real_system system{1};
  train(*system.system, test::small_job());
  EXPECT_EQ(direction_seen_by_an_actor(*system.system), FE_UPWARD);
}

} // namespace
} // namespace troupe::host_rounding_test
