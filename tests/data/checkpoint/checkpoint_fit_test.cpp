// Checkpoints with right checksums and another shape: each field is held against the job.

#include "data/checkpoint/checkpoint.hpp"

#include "tests/support/some_checkpoint.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

namespace troupe::checkpoint_fit_test {
namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

/// A job of 4 steps an epoch, of 10 rows each, and a checkpoint of it.
const checkpoint_expectation expected{5, 2, 3, 4, 10};

checkpoint fitting() {
  auto x = some_checkpoint(9);
  x.optimizer_numbers = {0.1, -0.0, infinity};
  return x;
}

TEST(checkpoint_fit, a_checkpoint_of_the_job_fits) {
  EXPECT_EQ(misfit(fitting(), expected), std::nullopt);
  auto plain = fitting();
  plain.best_parameters = {};
  plain.best_version = 77; // means nothing without parameters
  plain.history.clear();
  plain.stop = {};
  EXPECT_EQ(misfit(plain, expected), std::nullopt);
}

struct odd_field {
  const char* name;
  std::function<void(checkpoint&)> change;
  const char* reason;
};

class odd_checkpoint : public testing::TestWithParam<odd_field> {};

TEST_P(odd_checkpoint, is_refused_by_what_differs) {
  auto x = fitting();
  GetParam().change(x);
  EXPECT_EQ(misfit(x, expected).value_or("it fits"), GetParam().reason);
}

const_buffer with_nan(size_t size) {
  const buffer result{size};
  std::ranges::fill(result.values(), 1.0f);
  result.values()[2] = std::numeric_limits<float>::quiet_NaN();
  return result;
}

INSTANTIATE_TEST_SUITE_P(
  fields, odd_checkpoint,
  testing::Values(
    odd_field{"parameters", [](checkpoint& x) { x.parameters = some_tensor(6, 1); },
              "it has 6 parameters, the job has 5"},
    odd_field{"no_parameters", [](checkpoint& x) { x.parameters = {}; },
              "it has 0 parameters, the job has 5"},
    odd_field{"no_slots", [](checkpoint& x) { x.slots.clear(); },
              "it has 0 optimizer slots, the job has 2"},
    odd_field{"a_slot_more", [](checkpoint& x) { x.slots.push_back(x.slots[0]); },
              "it has 3 optimizer slots, the job has 2"},
    odd_field{"slot_size", [](checkpoint& x) { x.slots[1] = some_tensor(4, 1); },
              "it has 4 values in an optimizer slot, the job has 5"},
    odd_field{"numbers", [](checkpoint& x) { x.optimizer_numbers.resize(200'000); },
              "it has 200000 optimizer numbers, the job has 3"},
    odd_field{"best_size", [](checkpoint& x) { x.best_parameters = some_tensor(1, 1); },
              "it has 1 best parameters, the job has 5"},
    odd_field{"nan", [](checkpoint& x) { x.parameters = with_nan(5); },
              "value 2 of the parameters is not finite"},
    odd_field{"best_nan", [](checkpoint& x) { x.best_parameters = with_nan(5); },
              "value 2 of the best parameters is not finite"},
    odd_field{"plateau_beyond", [](checkpoint& x) { x.plateau.best_version = 10; },
              "the plateau rule's best version is 10, at most 9 is possible"},
    odd_field{"plateau_nan", [](checkpoint& x) { x.plateau.best_loss = not_a_number; },
              "the plateau rule's best loss is no number"},
    odd_field{"reductions_fall",
              [](checkpoint& x) {
                x.reductions = {3, 3};
              },
              "the steps from which its rate is lower do not rise"},
    odd_field{"reduction_beyond",
              [](checkpoint& x) {
                x.reductions = {3, 10};
              },
              "the last reduction of its rate is 10, at most 9 is possible"},
    odd_field{"row_beyond", [](checkpoint& x) { x.history[1].steps = 60; },
              "the history's row of step 60 is beyond its version, 9"},
    odd_field{"row_twice", [](checkpoint& x) { x.history[1] = x.history[0]; },
              "the history's row of step 4 stands behind that of step 4"},
    odd_field{"row_of_nothing", [](checkpoint& x) { x.history[0].steps = 0; },
              "the history's row of step 0 stands behind that of step 0"},
    odd_field{"epoch", [](checkpoint& x) { x.history[1].epoch = 3; },
              "the history's row of step 8 says epoch 3, it was epoch 2"},
    odd_field{"row_time", [](checkpoint& x) { x.history[0].seconds = infinity; },
              "the history's row of step 4: its time is not finite"},
    odd_field{"time", [](checkpoint& x) { x.seconds = not_a_number; }, "its time is not finite"},
    odd_field{"samples", [](checkpoint& x) { x.metrics.sample_count = 91; },
              "the number of samples in its metrics is 91, at most 90 is possible"},
    odd_field{"right_answers", [](checkpoint& x) { x.metrics.correct_count = 18; },
              "the number of right answers in its metrics is 18, at most 17 is possible"},
    odd_field{"loss", [](checkpoint& x) { x.metrics.loss_sum = not_a_number; },
              "the loss in its metrics is not finite"},
    odd_field{"squares", [](checkpoint& x) { x.metrics.squared_error_sum = infinity; },
              "the squared error in its metrics is not finite"},
    odd_field{"stop_version", [](checkpoint& x) { x.stop.best_version = 10; },
              "the stop rule's best version is 10, at most 9 is possible"},
    odd_field{"stop_wait", [](checkpoint& x) { x.stop.waited = 10; },
              "the stop rule's wait is 10, at most 9 is possible"},
    odd_field{"stop_loss", [](checkpoint& x) { x.stop.best_loss = not_a_number; },
              "the stop rule's best loss is no number"},
    odd_field{"best_version", [](checkpoint& x) { x.best_version = 10; },
              "the best version is 10, at most 9 is possible"},
    odd_field{"best_loss", [](checkpoint& x) { x.best_loss = not_a_number; },
              "the best version's loss is no number"},
    odd_field{"replicas", [](checkpoint& x) { x.replicas.resize(100'001); },
              "the number of its replicas is 100001, at most 100000 is possible"}),
  [](const auto& field) { return std::string{field.param.name}; });

} // namespace
} // namespace troupe::checkpoint_fit_test
