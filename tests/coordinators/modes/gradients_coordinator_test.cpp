#include "coordinators/modes/gradients_coordinator.hpp"
#include "models/optimizers/optimizer.hpp"
#include "tests/support/models.hpp"

#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace troupe::gradients_coordinator_test {
namespace {

using verdict = gradient_verdict;
using test::floats;
using test::values_of;

/// SGD with a learning rate of 0.5: all steps of the tests are exact.
gradients_coordinator_options options_of(size_t round_size = 1,
                                         direction way = direction::descent) {
  gradients_coordinator_options options;
  options.optimizer.learning_rate = 0.5;
  options.round_size = round_size;
  options.way = way;
  return options;
}

/// Running, with the given parameters.
struct running {
  explicit running(const floats& initial,
                   const gradients_coordinator_options& options = options_of())
    : coordinator(options) {
    coordinator.set_parameters(initial);
    coordinator.start();
  }

  verdict add(const floats& gradient_sum, uint64_t samples = 1) {
    return coordinator.add_gradients(gradient_sum, samples);
  }
  floats parameters() const { return values_of(coordinator.parameters()); }

  gradients_coordinator coordinator;
};

/// Rates 0.5, 0.25, 0.125, ...: the order of updates shows.
gradients_coordinator_options halving(size_t round_size = 1) {
  auto options = options_of(round_size);
  options.optimizer.schedule = {schedule_kind::step, 1, 0.5};
  return options;
}

TEST(gradients_coordinator, it_takes_hand_worked_steps) {
  running x{{1, 2}};
  EXPECT_EQ(x.add({2, -4}), verdict::applied);
  EXPECT_EQ(x.parameters(), (floats{0, 4})) << "1 - 0.5 * 2 and 2 + 0.5 * 4";
  EXPECT_EQ(x.add({4, 8}, 4), verdict::applied);
  EXPECT_EQ(x.parameters(), (floats{-0.5, 3})) << "the sum is divided by its samples, once";
  EXPECT_EQ(x.coordinator.update_count(), 2u);
  EXPECT_EQ(x.coordinator.queued_count(), 0u);
}

TEST(gradients_coordinator, ascent_makes_the_objective_large) {
  running x{{1}, options_of(1, direction::ascent)};
  x.add({4}, 2);
  EXPECT_EQ(x.parameters(), floats{2});
}

TEST(gradients_coordinator, unequal_parts_of_a_round_weigh_by_their_samples) {
  running x{{0}, options_of(2)};
  EXPECT_EQ(x.add({6}, 1), verdict::queued);
  EXPECT_EQ(x.parameters(), floats{0});
  EXPECT_EQ(x.add({2}, 3), verdict::applied);
  EXPECT_EQ(x.parameters(), floats{-1}) << "8 over 4 samples, not the mean of two means";
}

TEST(gradients_coordinator, each_round_moves_the_parameters_once) {
  running x{{0}, options_of(3)};
  const verdict expected[] = {verdict::queued, verdict::queued,  verdict::applied, verdict::queued,
                              verdict::queued, verdict::applied, verdict::queued};
  for (auto what : expected)
    EXPECT_EQ(x.add({2}), what);
  EXPECT_EQ(x.parameters(), floats{-2});
  EXPECT_EQ(x.coordinator.update_count(), 2u);
  EXPECT_EQ(x.coordinator.queued_count(), 1u);
}

TEST(gradients_coordinator, the_first_gradient_in_is_the_first_applied) {
  gradients_coordinator x{halving()};
  x.set_parameters(floats{0});
  for (float gradient : {4.0f, 8.0f, 16.0f})
    EXPECT_EQ(x.add_gradients(std::span{&gradient, 1}, 1), verdict::queued);
  x.start();
  EXPECT_EQ(values_of(x.parameters()), floats{-6}) << "4 / 2 + 8 / 4 + 16 / 8";
  EXPECT_EQ(x.update_count(), 3u) << "each on its own";
}

TEST(gradients_coordinator, asynchronously_each_gradient_is_applied_as_it_arrives) {
  running x{{0}, halving()};
  EXPECT_EQ(x.add({4}), verdict::applied);
  EXPECT_EQ(x.parameters(), floats{-2});
  EXPECT_EQ(x.add({8}), verdict::applied);
  EXPECT_EQ(x.parameters(), floats{-4});
}

TEST(gradients_coordinator, while_stopped_gradients_queue_and_start_applies_whole_rounds) {
  gradients_coordinator x{options_of(2)};
  x.set_parameters(floats{0});
  EXPECT_FALSE(x.running());
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(x.add_gradients(floats{2}, 1), verdict::queued);
  EXPECT_EQ(x.queued_count(), 5u);
  EXPECT_EQ(values_of(x.parameters()), floats{0});
  x.start();
  EXPECT_TRUE(x.running());
  EXPECT_EQ(x.update_count(), 2u);
  EXPECT_EQ(x.queued_count(), 1u) << "half a round waits for its other half";
  EXPECT_EQ(x.add_gradients(floats{2}, 1), verdict::applied);
  EXPECT_EQ(values_of(x.parameters()), floats{-3});
}

TEST(gradients_coordinator, stop_applies_what_is_left_of_a_round) {
  running x{{0}, options_of(3)};
  x.add({4}, 1);
  x.add({8}, 3);
  x.coordinator.stop();
  EXPECT_FALSE(x.coordinator.running());
  EXPECT_EQ(x.parameters(), floats{-1.5}) << "12 over 4 samples";
  EXPECT_EQ(x.coordinator.queued_count(), 0u);
  EXPECT_EQ(x.coordinator.update_count(), 1u);
}

TEST(gradients_coordinator, stop_while_stopped_applies_nothing) {
  gradients_coordinator x{options_of()};
  x.set_parameters(floats{0});
  x.add_gradients(floats{2}, 1);
  x.stop();
  EXPECT_EQ(x.queued_count(), 1u);
  x.start();
  EXPECT_EQ(values_of(x.parameters()), floats{-1}) << "nothing handed in is lost";
}

TEST(gradients_coordinator, any_starts_and_stops_lose_nothing) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random{seed};
    // One sample each and rounds of one: the parameter is minus half the sum of all gradients.
    gradients_coordinator x{options_of()};
    x.set_parameters(floats{0});
    float sum = 0;
    for (int event = 0; event < 40; ++event) {
      const auto what = random() % 4;
      if (what == 0) {
        x.start();
      } else if (what == 1) {
        x.stop();
      } else {
        const auto gradient = static_cast<float>(random() % 64);
        sum += gradient;
        x.add_gradients(std::span{&gradient, 1}, 1);
      }
    }
    x.start();
    x.stop();
    ASSERT_EQ(values_of(x.parameters()), floats{-0.5f * sum}) << "seed " << seed;
  }
}

TEST(gradients_coordinator, clear_drops_what_is_queued_and_nothing_else) {
  auto options = options_of(2);
  options.optimizer.momentum = 0.5;
  running x{{0}, options};
  x.add({2});
  x.add({2});
  EXPECT_EQ(x.parameters(), floats{-1}) << "a mean of 2";
  x.add({100});
  x.coordinator.clear();
  EXPECT_EQ(x.coordinator.queued_count(), 0u);
  EXPECT_TRUE(x.coordinator.running());
  EXPECT_EQ(x.parameters(), floats{-1});
  x.add({2});
  x.add({2});
  EXPECT_EQ(x.parameters(), floats{-2.5}) << "the velocity of 2 was kept: 0.5 * 2 + 2";
}

TEST(gradients_coordinator, set_parameters_starts_the_optimizer_anew) {
  auto options = halving();
  options.optimizer.momentum = 0.5;
  running x{{0}, options};
  x.add({2});
  EXPECT_EQ(x.parameters(), floats{-1});
  x.coordinator.set_parameters(floats{0});
  EXPECT_EQ(x.coordinator.update_count(), 0u);
  x.add({2});
  EXPECT_EQ(x.parameters(), floats{-1}) << "no velocity, and the first rate of the schedule";
}

TEST(gradients_coordinator, set_parameters_keeps_what_is_queued_if_it_fits) {
  gradients_coordinator x{options_of()};
  x.set_parameters(floats{0, 0});
  x.add_gradients(floats{2, 4}, 1);
  EXPECT_THROW(x.set_parameters(floats{1}), std::invalid_argument);
  EXPECT_EQ(values_of(x.parameters()), (floats{0, 0})) << "nothing has changed";
  x.set_parameters(floats{10, 10});
  x.start();
  EXPECT_EQ(values_of(x.parameters()), (floats{9, 8}));
  x.set_parameters(floats{1, 2, 3});
  EXPECT_EQ(x.add_gradients(floats{2, 2, 2}, 1), verdict::applied) << "another size is fine now";
  EXPECT_EQ(values_of(x.parameters()), (floats{0, 1, 2}));
}

TEST(gradients_coordinator, parameters_are_a_snapshot) {
  running x{{1}};
  const auto before = x.coordinator.parameters();
  for (int i = 0; i < 5; ++i)
    x.add({2});
  EXPECT_EQ(values_of(before), floats{1});
  EXPECT_EQ(x.parameters(), floats{-4});
}

TEST(gradients_coordinator, a_gradient_is_copied) {
  gradients_coordinator x{options_of()};
  x.set_parameters(floats{0});
  floats gradient{2};
  x.add_gradients(gradient, 1);
  gradient[0] = 100;
  x.start();
  EXPECT_EQ(values_of(x.parameters()), floats{-1});
}

TEST(gradients_coordinator, what_cannot_be_applied_is_refused_by_name) {
  constexpr auto infinity = std::numeric_limits<float>::infinity();
  gradients_coordinator empty{options_of()};
  EXPECT_EQ(empty.add_gradients(floats{1}, 1), verdict::no_parameters);
  EXPECT_FALSE(empty.parameters());
  running x{{1, 1}};
  EXPECT_EQ(x.add({1}), verdict::wrong_size);
  EXPECT_EQ(x.add({1, 1, 1}), verdict::wrong_size);
  EXPECT_EQ(x.add({1, 1}, 0), verdict::no_samples);
  EXPECT_EQ(x.add({1, std::nanf("")}), verdict::not_finite);
  EXPECT_EQ(x.add({-infinity, 1}), verdict::not_finite);
  EXPECT_EQ(x.parameters(), (floats{1, 1}));
  EXPECT_EQ(x.coordinator.queued_count(), 0u);
  EXPECT_EQ(x.coordinator.refused_update_count(), 0u);
  EXPECT_EQ(x.add({2, 2}), verdict::applied) << "as if nothing had been";
}

TEST(gradients_coordinator, an_update_that_would_not_be_finite_is_refused) {
  constexpr auto largest = std::numeric_limits<float>::max();
  auto options = options_of();
  options.optimizer.learning_rate = 8;
  options.optimizer.momentum = 0.5;
  running x{{1}, options};
  x.add({2});
  EXPECT_EQ(x.parameters(), floats{-15});
  EXPECT_EQ(x.add({largest}), verdict::update_refused);
  EXPECT_EQ(x.parameters(), floats{-15});
  EXPECT_EQ(x.coordinator.update_count(), 1u);
  EXPECT_EQ(x.coordinator.refused_update_count(), 1u);
  EXPECT_EQ(x.coordinator.queued_count(), 0u);
  EXPECT_TRUE(x.coordinator.running());
  EXPECT_EQ(x.add({2}), verdict::applied);
  EXPECT_EQ(x.parameters(), floats{-31}) << "nothing of the bad update is left in the velocity";
}

TEST(gradients_coordinator, finite_gradients_whose_sum_is_not_are_refused_as_an_update) {
  constexpr auto largest = std::numeric_limits<float>::max();
  running x{{1}, options_of(2)};
  x.add({largest});
  EXPECT_EQ(x.add({largest}), verdict::update_refused);
  EXPECT_EQ(x.parameters(), floats{1});
}

TEST(gradients_coordinator, start_and_stop_say_what_became_of_the_queue) {
  gradients_coordinator x{options_of(2)};
  x.set_parameters(floats{0});
  for (float gradient : {2.0f, 2.0f, 3e38f, 3e38f, 2.0f})
    x.add_gradients(std::span{&gradient, 1}, 1);
  EXPECT_EQ(x.start(), (drain_report{1, 1})) << "running, and told that one went wrong";
  EXPECT_EQ(x.queued_count(), 1u);
  EXPECT_EQ(x.stop(), (drain_report{1, 0}));
  EXPECT_EQ(x.stop(), drain_report{}) << "stopped already";
}

TEST(gradients_coordinator, flush_applies_half_a_round_and_goes_on) {
  running x{{0}, options_of(3)};
  EXPECT_EQ(x.coordinator.flush(), drain_report{});
  x.add({2});
  x.add({6}, 3);
  EXPECT_EQ(x.coordinator.flush(), (drain_report{1, 0}));
  EXPECT_EQ(x.parameters(), floats{-1});
  EXPECT_TRUE(x.coordinator.running());
  gradients_coordinator stopped{options_of(3)};
  stopped.set_parameters(floats{0});
  stopped.add_gradients(floats{2}, 1);
  EXPECT_EQ(stopped.flush(), drain_report{}) << "what queues while stopped waits for start";
}

TEST(gradients_coordinator, a_step_scale_shortens_the_step) {
  running x{{0}, options_of(2)};
  x.coordinator.add_gradients(floats{4}, 1, 1);
  x.coordinator.add_gradients(floats{4}, 3, 0.5);
  EXPECT_EQ(x.parameters(), floats{-0.625f}) << "8 / 4 / 2, times (1 + 3 / 2) / 4";
  for (double scale : {0.0, -1.0, 1.5, double{NAN}})
    EXPECT_THROW(x.coordinator.add_gradients(floats{4}, 1, scale), std::invalid_argument);
  EXPECT_EQ(x.coordinator.queued_count(), 0u);
}

TEST(gradients_coordinator, problem_says_why_and_changes_nothing) {
  gradients_coordinator x{options_of()};
  EXPECT_EQ(x.problem(floats{1}, 1), verdict::no_parameters);
  x.set_parameters(floats{0});
  EXPECT_EQ(x.problem(floats{1, 2}, 1), verdict::wrong_size);
  EXPECT_EQ(x.problem(floats{1}, 0), verdict::no_samples);
  EXPECT_EQ(x.problem(floats{NAN}, 1), verdict::not_finite);
  EXPECT_EQ(x.problem(floats{1}, 1), std::nullopt);
  EXPECT_EQ(x.queued_count(), 0u);
}

TEST(gradients_coordinator, impossible_options_throw) {
  EXPECT_THROW(gradients_coordinator{options_of(0)}, std::invalid_argument);
  auto options = options_of();
  options.optimizer.learning_rate = 0;
  EXPECT_THROW(gradients_coordinator{options}, std::invalid_argument);
}

TEST(gradients_coordinator, a_round_adds_its_gradients_along_the_tree) {
  // (1e8 + 1) + (-1e8 + 1) is 0 in floats, one after the other gives 1.
  running x{{0}, options_of(4)};
  for (float gradient : {1e8f, 1.0f, -1e8f, 1.0f})
    x.add({gradient});
  EXPECT_EQ(x.parameters(), floats{0});
}

TEST(gradients_coordinator, the_callers_rounding_mode_does_not_show) {
  floats results[2];
  const int modes[] = {FE_TONEAREST, FE_UPWARD};
  for (size_t i = 0; i < 2; ++i) {
    running x{{1}};
    std::fesetround(modes[i]);
    for (int k = 0; k < 5; ++k)
      x.add({1}, 3);
    const auto mode = std::fegetround();
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(mode, modes[i]) << "and stays as it was";
    results[i] = x.parameters();
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST(gradients_coordinator, several_models_train_like_one_optimizer_on_all_their_rows) {
  // Sums of gradients of (p - a)^2 / 2 over rows a; small whole numbers, so that any order is
  // exact.
  const std::vector<floats> parts{{1, 2, 3}, {10}, {4, 6, 8, 2}};
  const auto gradient_sum = [](float p, const floats& rows) {
    float sum = 0;
    for (auto a : rows)
      sum += p - a;
    return sum;
  };
  auto options = options_of(parts.size());
  options.optimizer.momentum = 0.5;
  running x{{16}, options};
  const auto rule = make_optimizer(options.optimizer);
  const optimizer_state state{rule->slot_count(), 1};
  float alone = 16;
  for (uint64_t t = 0; t < 3; ++t) {
    for (const auto& rows : parts)
      x.add({gradient_sum(x.parameters()[0], rows)}, rows.size());
    float sum = 0, next = 0;
    for (const auto& rows : parts)
      sum += gradient_sum(alone, rows);
    rule->update(rule->begin_step(t, 8, direction::descent), {&sum, &alone, &next, 0, 1}, state);
    alone = next;
    ASSERT_EQ(x.parameters(), floats{alone}) << "step " << t;
  }
  EXPECT_EQ(x.coordinator.update_count(), 3u);
}

TEST(gradients_coordinator, each_verdict_says_what_is_wrong) {
  EXPECT_EQ(std::string{name_of(verdict::applied)}, "applied");
  EXPECT_EQ(std::string{name_of(verdict::queued)}, "queued");
  EXPECT_EQ(std::string{name_of(verdict::no_parameters)}, "no parameters are set yet");
  EXPECT_EQ(std::string{name_of(verdict::wrong_size)},
            "the gradient's size is not that of the parameters");
  EXPECT_EQ(std::string{name_of(verdict::no_samples)}, "the gradient sums over no samples");
  EXPECT_EQ(std::string{name_of(verdict::not_finite)}, "a value is not finite");
  EXPECT_EQ(std::string{name_of(verdict::update_refused)},
            "the updated parameters would not be finite");
}

} // namespace
} // namespace troupe::gradients_coordinator_test
