#include "coordinators/modes/staleness_rule.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

namespace troupe::staleness_rule_test {
namespace {

using verdict = staleness_verdict;
using reason = staleness_reason;
using trainers = std::vector<size_t>;
using applied = std::vector<applied_gradient>;

staleness_options mode_of(consistency_kind mode) {
  staleness_options options;
  options.mode = mode;
  return options;
}

staleness_options bounded(size_t staleness_max) {
  auto options = mode_of(consistency_kind::bounded);
  options.staleness_max = staleness_max;
  return options;
}

staleness_options half(size_t first_count, bool drop_late = false) {
  auto options = mode_of(consistency_kind::half_synchronous);
  options.first_count = first_count;
  options.drop_late = drop_late;
  return options;
}

staleness_options lag(double ratio, std::optional<size_t> discards_in_row_max = 1) {
  auto options = mode_of(consistency_kind::lag);
  options.lag_ratio = ratio;
  options.discards_in_row_max = discards_in_row_max;
  return options;
}

// Pulls, and keeps the ticket.
struct played {
  played(const staleness_options& options, size_t count) : rule(options, count), tickets(count) {}

  staleness_decision pull(size_t trainer) {
    const auto decision = rule.on_pull(trainer);
    if (decision.verdict == verdict::proceed)
      tickets[trainer] = decision.ticket;
    return decision;
  }
  void pull_all() {
    for (size_t i = 0; i < tickets.size(); ++i)
      pull(i);
  }
  staleness_decision push(size_t trainer) { return rule.on_gradient(trainer, tickets[trainer]); }
  staleness_decision both(size_t trainer) {
    EXPECT_EQ(pull(trainer).verdict, verdict::proceed);
    return push(trainer);
  }

  staleness_rule rule;
  std::vector<uint64_t> tickets;
};

void expect(const staleness_decision& decision, verdict what, reason why) {
  EXPECT_EQ(decision.verdict, what);
  EXPECT_EQ(name_of(decision.reason), name_of(why));
}

TEST(staleness_rule, asynchronously_everything_is_applied_as_it_comes) {
  played x{{}, 3};
  x.pull(0);
  x.pull(1);
  EXPECT_EQ(x.both(2).staleness, 0u);
  EXPECT_EQ(x.both(2).staleness, 0u) << "a trainer's own updates do not make it late";
  EXPECT_EQ(x.push(0).staleness, 2u);
  EXPECT_EQ(x.push(1).staleness, 3u);
  EXPECT_EQ(x.rule.update_count(), 4u);
  EXPECT_EQ(x.rule.account(1), (trainer_account{1, 0, 0, 0, 3}));
}

TEST(staleness_rule, nothing_is_applied_twice) {
  played x{{}, 2};
  x.pull(0);
  expect(x.push(0), verdict::proceed, reason::none);
  expect(x.push(0), verdict::refuse, reason::unknown_ticket);
  expect(x.rule.on_gradient(1, 77), verdict::refuse, reason::unknown_ticket);
  expect(x.rule.on_useless(0, x.tickets[0]), verdict::refuse, reason::unknown_ticket);
  expect(x.rule.on_gradient(5, 1), verdict::refuse, reason::not_a_trainer);
  x.pull(0);
  expect(x.rule.on_gradient(1, x.tickets[0]), verdict::refuse, reason::unknown_ticket);
  EXPECT_EQ(x.rule.update_count(), 1u);
}

TEST(staleness_rule, a_pull_that_comes_twice_gets_the_same_ticket) {
  played x{{}, 2};
  const auto first = x.pull(0);
  x.both(1);
  EXPECT_EQ(x.pull(0), first);
  EXPECT_EQ(x.push(0).staleness, 1u) << "it counts from the first pull";
}

TEST(staleness_rule, bounded_lets_nobody_get_further_ahead_than_the_bound) {
  played x{bounded(2), 2};
  x.both(0);
  x.both(0);
  x.both(0);
  expect(x.pull(0), verdict::wait, reason::too_far_ahead);
  EXPECT_EQ(x.rule.released(), trainers{});
  x.pull(1);
  EXPECT_EQ(x.rule.released(), trainers{}) << "a pull is no progress";
  x.push(1);
  EXPECT_EQ(x.rule.released(), trainers{0});
  EXPECT_EQ(x.rule.released(), trainers{}) << "named once";
  EXPECT_EQ(x.pull(0).verdict, verdict::proceed);
}

TEST(staleness_rule, bounded_by_zero_marches_in_step) {
  played x{bounded(0), 3};
  for (int step = 0; step < 3; ++step) {
    for (size_t i = 0; i < 3; ++i)
      EXPECT_EQ(x.pull(i).verdict, verdict::proceed);
    x.push(1);
    expect(x.pull(1), verdict::wait, reason::too_far_ahead);
    x.push(0);
    x.push(2);
    EXPECT_EQ(x.rule.released(), trainers{1});
  }
}

TEST(staleness_rule, nobody_waits_for_a_lost_trainer) {
  played x{bounded(0), 3};
  x.pull_all();
  x.push(0);
  x.push(1);
  x.pull(0);
  x.pull(1);
  const auto decision = x.rule.on_lost(2);
  EXPECT_EQ(decision.verdict, verdict::proceed);
  EXPECT_EQ(x.rule.released(), (trainers{0, 1}));
  expect(x.push(2), verdict::refuse, reason::not_a_trainer);
  expect(x.pull(2), verdict::refuse, reason::not_a_trainer);
  expect(x.rule.on_lost(2), verdict::refuse, reason::not_a_trainer);
  expect(x.rule.on_lost(9), verdict::refuse, reason::not_a_trainer);
}

TEST(staleness_rule, who_comes_back_is_as_far_as_the_slowest) {
  played x{bounded(1), 2};
  x.pull(1);
  x.rule.on_lost(1);
  for (int i = 0; i < 10; ++i)
    x.both(0);
  x.rule.on_joined(1);
  EXPECT_EQ(x.rule.clock(1), 10u) << "nobody waits for what it missed";
  expect(x.push(1), verdict::refuse, reason::unknown_ticket);
  x.rule.on_joined(1);
  EXPECT_EQ(x.both(1).verdict, verdict::proceed);
}

TEST(staleness_rule, half_synchronously_the_first_gradients_make_the_step) {
  played x{half(2), 3};
  x.pull_all();
  const auto first = x.push(2);
  expect(first, verdict::wait, reason::held);
  EXPECT_TRUE(first.applied.empty());
  EXPECT_EQ(x.rule.account(2).applied_count, 0u) << "training may end before the step is full";
  expect(x.pull(2), verdict::wait, reason::step_open);
  const auto second = x.push(0);
  EXPECT_EQ(second.verdict, verdict::proceed);
  EXPECT_TRUE(second.completes_step);
  EXPECT_EQ(second.applied, (applied{{2, 0}, {0, 0}}));
  EXPECT_EQ(x.rule.account(2).applied_count, 1u);
  EXPECT_EQ(x.rule.update_count(), 1u);
  EXPECT_EQ(x.rule.released(), trainers{2});
  // The third is late: it counts into the next step, and its trainer may bring a fresh one too.
  const auto late = x.push(1);
  expect(late, verdict::wait, reason::held);
  EXPECT_EQ(late.staleness, 1u);
  EXPECT_EQ(x.rule.held_count(), 1u);
  EXPECT_EQ(x.rule.account(1).staleness_max, 0u);
  EXPECT_EQ(x.both(1).applied, (applied{{1, 1}, {1, 0}}));
  EXPECT_EQ(x.rule.account(1).staleness_max, 1u);
}

TEST(staleness_rule, half_synchronously_late_gradients_are_dropped_if_so_chosen) {
  played x{half(2, true), 3};
  x.pull_all();
  x.push(0);
  x.push(2);
  expect(x.push(1), verdict::refuse, reason::late);
  EXPECT_EQ(x.rule.account(1).discarded_count, 1u);
  EXPECT_EQ(x.rule.held_count(), 0u);
  x.pull(1);
  x.both(0);
  x.both(2);
  expect(x.push(1), verdict::wait, reason::held); // not twice in a row
}

TEST(staleness_rule, half_synchronous_steps_shrink_when_trainers_are_lost) {
  played x{half(3), 3};
  x.pull_all();
  x.push(0);
  x.push(1);
  const auto decision = x.rule.on_lost(2);
  EXPECT_TRUE(decision.completes_step) << "it was the one they waited for";
  EXPECT_EQ(decision.applied, (applied{{0, 0}, {1, 0}}));
  EXPECT_EQ(x.rule.update_count(), 1u);
  EXPECT_FALSE(x.rule.on_lost(1).completes_step) << "a step without gradients is none";
  EXPECT_TRUE(x.both(0).completes_step);
}

TEST(staleness_rule, lag_counts_the_updates_of_others) {
  played x{lag(0.5), 4}; // T = 2
  EXPECT_EQ(x.rule.lag_limit(4), 2u);
  x.pull(0);
  x.both(1);
  EXPECT_EQ(x.push(0).verdict, verdict::proceed) << "one update of others";
  x.pull(0);
  x.both(1);
  x.both(2);
  const auto late = x.push(0);
  expect(late, verdict::refuse, reason::late);
  EXPECT_EQ(late.staleness, 2u);
  EXPECT_EQ(x.rule.update_count(), 4u) << "a discarded one is no update";
  EXPECT_EQ(x.rule.account(0), (trainer_account{1, 1, 1, 1, 1}));
}

TEST(staleness_rule, the_lag_limit_is_never_below_one) {
  const staleness_rule x{lag(0.1), 2};
  EXPECT_EQ(x.lag_limit(2), 1u);
  EXPECT_EQ(x.lag_limit(25), 2u);
  EXPECT_EQ(staleness_rule(lag(1.5), 1).lag_limit(7), 10u);
}

TEST(staleness_rule, with_one_trainer_nothing_is_ever_discarded) {
  for (double ratio : {0.01, 0.5, 1.0, 1.5}) {
    played x{lag(ratio, std::nullopt), 1};
    for (int i = 0; i < 100; ++i)
      EXPECT_EQ(x.both(0).verdict, verdict::proceed) << ratio;
  }
  played left{lag(0.1, std::nullopt), 2};
  left.pull(0);
  left.both(1);
  left.rule.on_lost(1);
  EXPECT_EQ(left.push(0).verdict, verdict::proceed) << "the only one that is left";
}

TEST(staleness_rule, nobody_loses_more_in_a_row_than_allowed) {
  for (size_t row : {0, 1, 3}) {
    played x{lag(0.1, row), 2};
    uint64_t applied_count = 0;
    for (int i = 0; i < 40; ++i) {
      x.pull(0);
      x.both(1);
      applied_count += x.push(0).verdict == verdict::proceed ? 1 : 0;
    }
    EXPECT_EQ(applied_count, 40 / (row + 1));
    EXPECT_EQ(x.rule.account(0).discards_in_row_max, row);
  }
}

TEST(staleness_rule, steps_shrink_with_staleness_if_so_chosen) {
  auto options = mode_of(consistency_kind::asynchronous);
  const auto scale_after = [&](int updates) {
    played x{options, 2};
    x.pull(0);
    for (int i = 0; i < updates; ++i)
      x.both(1);
    return x.push(0).step_scale;
  };
  EXPECT_EQ(scale_after(7), 1);
  options.scaling = step_scaling::inverse;
  EXPECT_EQ(scale_after(0), 1);
  EXPECT_EQ(scale_after(1), 1);
  EXPECT_EQ(scale_after(4), 0.25);
  options.scaling = step_scaling::polynomial;
  EXPECT_EQ(scale_after(0), 1);
  EXPECT_NEAR(scale_after(3), 0.5, 1e-15);
  options.scaling_power = 1;
  EXPECT_NEAR(scale_after(3), 0.25, 1e-15);
}

TEST(staleness_rule, a_useless_gradient_holds_nobody_up_and_is_no_update) {
  played x{bounded(0), 2};
  x.pull(0);
  x.pull(1);
  x.push(0);
  x.pull(0);
  EXPECT_EQ(x.rule.on_useless(1, x.tickets[1]).verdict, verdict::proceed);
  EXPECT_EQ(x.rule.update_count(), 1u);
  EXPECT_EQ(x.rule.account(1).applied_count, 0u);
  EXPECT_EQ(x.rule.released(), trainers{0});
}

TEST(staleness_rule, impossible_options_throw) {
  EXPECT_THROW(staleness_rule({}, 0), std::invalid_argument);
  EXPECT_THROW(staleness_rule(half(0), 2), std::invalid_argument);
  EXPECT_THROW(staleness_rule(half(3), 2), std::invalid_argument);
  EXPECT_THROW(staleness_rule(lag(0), 2), std::invalid_argument);
  EXPECT_THROW(staleness_rule(lag(NAN), 2), std::invalid_argument);
  auto options = mode_of(consistency_kind::asynchronous);
  options.scaling_power = -1;
  EXPECT_THROW(staleness_rule(options, 2), std::invalid_argument);
}

} // namespace
} // namespace troupe::staleness_rule_test
