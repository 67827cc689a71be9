#include "coordinators/modes/asynchronous_coordinator.hpp"

#include "tests/support/models.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <queue>
#include <stdexcept>

namespace troupe::asynchronous_coordinator_test {
namespace {

using test::floats;
using test::values_of;
using verdict = staleness_verdict;
using applied = std::vector<applied_gradient>;

asynchronous_options options_of(size_t trainer_count,
                                consistency_kind mode = consistency_kind::asynchronous) {
  asynchronous_options options;
  options.gradients.optimizer.learning_rate = 0.5;
  options.trainer_count = trainer_count;
  options.consistency.mode = mode;
  return options;
}

struct running {
  explicit running(const asynchronous_options& options, const floats& initial = {0})
    : coordinator(options), tickets(options.trainer_count) {
    coordinator.set_parameters(initial);
  }

  floats pull(size_t trainer) {
    const auto work = coordinator.pull(trainer);
    if (work.decision.verdict != verdict::proceed)
      return {};
    tickets[trainer] = work.decision.ticket;
    return values_of(work.parameters);
  }
  void pull_all() {
    for (size_t i = 0; i < tickets.size(); ++i)
      pull(i);
  }
  pushed_gradient push(size_t trainer, const floats& gradient, uint64_t samples = 1) {
    return coordinator.push(trainer, tickets[trainer], test::buffer_of(gradient), samples);
  }
  floats parameters() const { return values_of(coordinator.parameters()); }

  asynchronous_coordinator coordinator;
  std::vector<uint64_t> tickets;
};

// Least squares on one row a trainer, in virtual time: f_i = (a_i w - b_i)^2 / 2 with the common
// minimum w = 3. Returns how far from it training ends.
double distance_after(const asynchronous_options& options, uint64_t until) {
  running x{options};
  using finished = std::pair<uint64_t, size_t>;
  std::priority_queue<finished, std::vector<finished>, std::greater<>> done;
  std::vector<floats> read(options.trainer_count);
  const auto begin = [&](size_t trainer, uint64_t now) {
    read[trainer] = x.pull(trainer);
    if (!read[trainer].empty())
      done.push({now + (trainer == 0 ? 300 : 100 + trainer), trainer});
  };
  for (size_t i = 0; i < options.trainer_count; ++i)
    begin(i, 0);
  while (!done.empty() && done.top().first <= until) {
    const auto [when, trainer] = done.top();
    done.pop();
    const float a = 0.5f + 0.1f * static_cast<float>(trainer);
    const auto result = x.push(trainer, {a * a * (read[trainer][0] - 3)});
    begin(trainer, when);
    for (auto other : result.released)
      begin(other, when);
  }
  EXPECT_GT(x.coordinator.rule().update_count(), 20u);
  return std::abs(static_cast<double>(x.parameters()[0]) - 3);
}

TEST(asynchronous_coordinator, applies_each_gradient_as_it_arrives) {
  running x{options_of(2)};
  EXPECT_EQ(x.pull(0), floats{0});
  EXPECT_EQ(x.pull(1), floats{0});
  const auto first = x.push(1, {4}, 2);
  EXPECT_EQ(first.verdict, gradient_verdict::applied);
  EXPECT_EQ(x.parameters(), floats{-1});
  EXPECT_EQ(x.push(0, {2}).decision.staleness, 1u);
  EXPECT_EQ(x.parameters(), floats{-2});
}

TEST(asynchronous_coordinator, a_gradient_that_comes_twice_is_applied_once) {
  running x{options_of(1)};
  x.pull(0);
  x.push(0, {2});
  const auto again = x.push(0, {2});
  EXPECT_EQ(again.decision.reason, staleness_reason::unknown_ticket);
  EXPECT_EQ(again.verdict, std::nullopt);
  EXPECT_EQ(x.parameters(), floats{-1});
}

TEST(asynchronous_coordinator, a_pull_that_comes_twice_gets_the_same_snapshot) {
  running x{options_of(2)};
  x.pull_all();
  x.push(1, {2});
  EXPECT_EQ(x.pull(0), floats{0});
  x.push(0, {0});
  EXPECT_EQ(x.pull(0), floats{-1}) << "a new ticket, a new snapshot";
}

TEST(asynchronous_coordinator, a_lost_trainers_snapshot_is_not_kept_for_its_return) {
  running x{options_of(2)};
  x.pull_all();
  x.push(1, {2});
  x.coordinator.lost(0);
  x.coordinator.joined(0);
  EXPECT_EQ(x.pull(0), floats{-1});
}

TEST(asynchronous_coordinator, late_gradients_take_smaller_steps_with_any_optimizer) {
  for (auto kind : {optimizer_kind::sgd, optimizer_kind::adam}) {
    auto options = options_of(2);
    options.gradients.optimizer.kind = kind;
    const auto move_of = [&] {
      running x{options};
      x.pull(0);
      for (int i = 0; i < 4; ++i) {
        x.pull(1);
        x.push(1, {kind == optimizer_kind::sgd ? 0.0f : 1.0f});
      }
      const auto before = x.parameters()[0];
      x.push(0, {1});
      return x.parameters()[0] - before;
    };
    const auto whole = move_of();
    options.consistency.scaling = step_scaling::inverse;
    EXPECT_NEAR(move_of(), whole / 4, 1e-6) << name_of(kind);
  }
}

TEST(asynchronous_coordinator, delay_compensation_corrects_what_is_late) {
  auto options = options_of(2);
  options.compensation = delay_compensation_options{0.5};
  running x{options};
  x.pull_all();
  x.push(1, {4}); // 0 -> -2; not late, so not changed
  EXPECT_EQ(x.parameters(), floats{-2});
  x.push(0, {2}); // 2 + 0.5 * 4 * (-2 - 0) = -2
  EXPECT_EQ(x.parameters(), floats{-1});
  options.consistency.mode = consistency_kind::half_synchronous;
  EXPECT_THROW(asynchronous_coordinator{options}, std::invalid_argument);
}

TEST(asynchronous_coordinator, half_synchronous_steps_are_one_update_of_all_that_is_held) {
  auto options = options_of(3, consistency_kind::half_synchronous);
  options.consistency.first_count = 2;
  running x{options};
  x.pull_all();
  const auto first = x.push(0, {2}, 1);
  EXPECT_EQ(first.verdict, gradient_verdict::queued);
  EXPECT_TRUE(first.applied.empty());
  EXPECT_EQ(x.parameters(), floats{0});
  EXPECT_TRUE(x.pull(0).empty());
  const auto second = x.push(1, {6}, 3);
  EXPECT_EQ(second.verdict, gradient_verdict::applied);
  EXPECT_EQ(second.applied, (applied{{0, 0}, {1, 0}}));
  EXPECT_EQ(second.released, std::vector<size_t>{0});
  EXPECT_EQ(x.parameters(), floats{-1}) << "8 over 4 samples";
  EXPECT_EQ(x.push(2, {4}).verdict, gradient_verdict::queued) << "late: of the next step";
  x.pull(1);
  x.push(1, {0});
  EXPECT_EQ(x.parameters(), floats{-2});
}

TEST(asynchronous_coordinator, a_step_that_waits_for_a_lost_trainer_alone_is_made) {
  auto options = options_of(3, consistency_kind::half_synchronous);
  options.consistency.first_count = 3;
  running x{options};
  x.pull_all();
  x.push(0, {2});
  x.push(1, {2});
  x.pull(0);
  const auto gone = x.coordinator.lost(2);
  EXPECT_EQ(gone.released, std::vector<size_t>{0});
  EXPECT_EQ(gone.verdict, gradient_verdict::applied);
  EXPECT_EQ(gone.applied, (applied{{0, 0}, {1, 0}}));
  EXPECT_EQ(x.parameters(), floats{-1});
  EXPECT_TRUE(x.coordinator.lost(2).released.empty());
  EXPECT_EQ(x.coordinator.lost(9).verdict, std::nullopt);
}

TEST(asynchronous_coordinator, a_loss_that_leads_to_a_bad_update_says_so) {
  auto options = options_of(2, consistency_kind::half_synchronous);
  options.consistency.first_count = 2;
  options.gradients.optimizer.learning_rate = 1e38;
  running x{options};
  x.pull(0);
  x.push(0, {1e38f});
  const auto gone = x.coordinator.lost(1);
  EXPECT_EQ(gone.verdict, gradient_verdict::update_refused);
  EXPECT_TRUE(gone.applied.empty());
  EXPECT_EQ(x.parameters(), floats{0});
}

TEST(asynchronous_coordinator, a_refused_update_applies_nothing) {
  auto options = options_of(1);
  options.gradients.optimizer.learning_rate = 1e38;
  running x{options};
  x.pull(0);
  const auto pushed = x.push(0, {1e38f});
  EXPECT_EQ(pushed.verdict, gradient_verdict::update_refused);
  EXPECT_TRUE(pushed.applied.empty());
}

TEST(asynchronous_coordinator, a_new_trainer_takes_part_from_where_the_slowest_is) {
  auto options = options_of(1, consistency_kind::bounded);
  running x{options};
  x.pull(0);
  x.push(0, {2});
  x.coordinator.joined(1);
  x.tickets.resize(2);
  EXPECT_EQ(x.pull(1), floats{-1});
  x.pull(0);
  x.push(0, {2});
  EXPECT_TRUE(x.pull(0).empty()) << "it waits for the new one";
  EXPECT_EQ(x.push(1, {2}).released, std::vector<size_t>{0});
  EXPECT_EQ(x.parameters(), floats{-3});
  EXPECT_THROW(x.coordinator.joined(7), std::out_of_range);
}

TEST(asynchronous_coordinator, a_held_step_grows_with_the_trainers) {
  auto options = options_of(3, consistency_kind::half_synchronous);
  options.consistency.first_count = 3;
  running x{options};
  x.coordinator.lost(2);
  EXPECT_EQ(x.coordinator.rule().first_count(), 2u);
  x.coordinator.joined(2);
  EXPECT_EQ(x.coordinator.rule().first_count(), 3u);
  x.pull_all();
  x.push(0, {2});
  EXPECT_EQ(x.push(1, {2}).verdict, gradient_verdict::queued);
  EXPECT_EQ(x.push(2, {2}).verdict, gradient_verdict::applied);
}

TEST(asynchronous_coordinator, a_useless_gradient_is_refused_and_holds_nobody_up) {
  auto options = options_of(2, consistency_kind::bounded);
  running x{options};
  x.pull_all();
  x.push(0, {2});
  EXPECT_TRUE(x.pull(0).empty());
  const auto bad = x.push(1, {NAN});
  EXPECT_EQ(bad.verdict, gradient_verdict::not_finite);
  EXPECT_EQ(bad.released, std::vector<size_t>{0});
  EXPECT_EQ(x.parameters(), floats{-1});
  x.pull(1);
  EXPECT_EQ(x.push(1, {1, 2}).verdict, gradient_verdict::wrong_size);
  x.pull(0);
  EXPECT_EQ(x.push(0, {1}, 0).verdict, gradient_verdict::no_samples);
  EXPECT_EQ(x.coordinator.rule().update_count(), 1u);
}

TEST(asynchronous_coordinator, a_discarded_gradient_moves_nothing) {
  auto options = options_of(2, consistency_kind::lag);
  options.consistency.lag_ratio = 0.5;
  running x{options};
  x.pull_all();
  x.push(1, {2});
  const auto late = x.push(0, {100});
  EXPECT_EQ(late.decision.reason, staleness_reason::late);
  EXPECT_EQ(late.verdict, std::nullopt);
  EXPECT_EQ(x.parameters(), floats{-1});
  EXPECT_EQ(x.pull(0), floats{-1}) << "a new ticket, a new snapshot";
}

TEST(asynchronous_coordinator, has_nothing_to_give_before_it_has_parameters) {
  asynchronous_coordinator x{options_of(1)};
  const auto work = x.pull(0);
  EXPECT_EQ(work.decision.verdict, verdict::refuse);
  EXPECT_EQ(work.decision.reason, staleness_reason::no_parameters);
  x.set_parameters(floats{1});
  const auto ticket = x.pull(0).decision.ticket;
  x.set_parameters(floats{2, 3});
  const auto old = x.push(0, ticket, test::buffer_of({1}), 1);
  EXPECT_EQ(old.decision.verdict, verdict::refuse) << "tickets of other parameters are void";
  EXPECT_EQ(values_of(x.pull(0).parameters), (floats{2, 3}));
}

// Two of three gradients are there; the third comes in another life, of fewer or as many trainers.
TEST(asynchronous_coordinator, gradients_that_wait_for_others_are_saved_and_complete_their_step) {
  auto options = options_of(3, consistency_kind::half_synchronous);
  options.gradients.optimizer.kind = optimizer_kind::adam;
  options.consistency.first_count = 3;
  options.consistency.scaling = step_scaling::inverse;
  asynchronous_coordinator x{options};
  x.set_parameters(floats{1, 2});
  const auto hand_in = [](asynchronous_coordinator& to, size_t trainer, const floats& gradient) {
    return to.push(trainer, to.pull(trainer).decision.ticket, test::buffer_of(gradient), 2);
  };
  hand_in(x, 0, {4, 1});
  hand_in(x, 1, {-1, 3});
  const auto shape = gradient_span::shape_of(span_options_of(options));
  EXPECT_EQ(shape, (state_shape{2 + 2, 3 + 2 * 2}));
  state_saver out{2};
  x.save(out);
  const auto saved = out.take();
  EXPECT_EQ(saved.shape(), shape);
  for (const size_t living : {3u, 1u}) {
    asynchronous_coordinator y{options};
    y.set_parameters(floats{1, 2});
    for (size_t i = living; i < 3; ++i)
      y.lost(i);
    state_loader in{saved};
    y.load(in);
    EXPECT_EQ(y.rule().held_count(), 2u);
    const auto last = hand_in(y, 0, {2, 2});
    EXPECT_EQ(last.verdict, gradient_verdict::applied);
    EXPECT_EQ(last.applied, (applied{{0, 0}})) << "the others are nobody's";
    EXPECT_EQ(y.rule().held_count(), 0u);
    EXPECT_EQ(hand_in(y, 0, {0, 0}).verdict,
              living == 1 ? gradient_verdict::applied : gradient_verdict::queued);
    if (living == 3) {
      hand_in(x, 2, {2, 2});
      EXPECT_EQ(values_of(y.parameters()), values_of(x.parameters()));
    }
  }
}

TEST(asynchronous_coordinator, every_mode_trains_with_a_slow_trainer) {
  for (const auto& [mode, name] : name_table<consistency_kind>::entries) {
    auto options = options_of(4, mode);
    options.gradients.optimizer.learning_rate = 0.3;
    options.consistency.first_count = 3;
    options.consistency.staleness_max = 2;
    EXPECT_LT(distance_after(options, 6000), 0.01) << name;
    options.consistency.scaling = step_scaling::polynomial;
    EXPECT_LT(distance_after(options, 6000), 0.05) << name;
  }
}

} // namespace
} // namespace troupe::asynchronous_coordinator_test
