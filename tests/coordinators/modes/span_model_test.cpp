// A sequence of decisions is followed in order, each once, and nothing but the updates that it takes moves a model.

#include "coordinators/modes/gradient_span.hpp"
#include "coordinators/modes/merged_span.hpp"
#include "tests/support/models.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace troupe::span_model_test {
namespace {

using test::buffer_of;
using test::floats;
using test::values_of;
using enum entry_kind;

/// Plain steps of 0.5 from 0.
std::unique_ptr<gradient_span> gradients(const gradient_span_options& options = {}) {
  auto with_rate = options;
  with_rate.optimizer.learning_rate = 0.5;
  auto result = std::make_unique<gradient_span>(with_rate);
  result->begin(buffer_of({0, 0}), {});
  return result;
}

struct followed_sequence {
  explicit followed_sequence(std::unique_ptr<span_model> model) : follower(std::move(model)) {}

  bool follow(const sequence_entry& entry) {
    decisions.write(entry);
    return follower.follow(decisions.take(0).front());
  }
  /// What a new task begins with.
  span_vectors give(uint64_t task, uint64_t place = 0) {
    follow({.kind = entry_kind::give, .number = task, .place = place});
    return follower.find(task)->vectors;
  }
  floats parameters() const { return values_of(follower.model().parameters()); }

  sequence decisions;
  sequence_follower follower;
};

TEST(sequence_follower, takes_each_update_once_and_forgets_what_was_dropped) {
  followed_sequence x{gradients()};
  EXPECT_EQ(values_of(x.give(1).values), (floats{0, 0}));
  x.follow({.kind = give, .number = 2});
  x.follower.put(1, {buffer_of({2, 4}), {}});
  x.follower.put(2, {buffer_of({100, 100}), {}});
  x.follower.put(3, {buffer_of({100, 100}), {}}); // no task
  x.follow({.kind = take, .number = 1, .sample_count = 2});
  EXPECT_EQ(x.parameters(), (floats{0, 0})) << "it is in place, no model was made yet";
  x.follow({.kind = drop, .number = 2});
  EXPECT_TRUE(x.follow({.kind = close}));
  EXPECT_EQ(x.parameters(), (floats{-0.5, -1}));
  EXPECT_EQ(x.follower.open_count(), 0u);
  EXPECT_EQ(x.follower.position(), 5u);
}

TEST(sequence_follower, an_evaluation_that_is_given_again_is_of_the_same_model) {
  followed_sequence x{gradients()};
  const auto number = evaluation_of(0);
  x.follow({.kind = give, .number = number, .evaluates = true});
  x.give(1);
  x.follower.put(1, {buffer_of({2, 4}), {}});
  x.follow({.kind = take, .number = 1});
  x.follow({.kind = close});
  x.follow({.kind = give, .number = number, .evaluates = true, .worker = "late"});
  EXPECT_EQ(values_of(x.follower.find(number)->vectors.values), (floats{0, 0}));
  EXPECT_EQ(x.follower.find(number)->model_number, 0u);
  x.follow({.kind = drop, .number = number, .evaluates = true});
  EXPECT_EQ(x.follower.open_count(), 0u);
}

TEST(sequence_follower, what_is_out_of_order_is_an_error) {
  followed_sequence x{gradients()};
  EXPECT_THROW(x.follower.follow({.kind = close, .position = 2}), std::logic_error);
  EXPECT_THROW(x.follower.follow({.kind = close, .position = 0}), std::logic_error);
  x.follow({.kind = give, .number = 1});
  EXPECT_THROW(x.follow({.kind = give, .number = 5, .evaluates = true, .worker = "late"}),
               std::logic_error)
    << "an evaluation of a version that is gone";
  EXPECT_THROW(x.follow({.kind = take, .number = 2}), std::logic_error) << "not given";
  followed_sequence y{gradients()};
  y.follow({.kind = give, .number = 1});
  EXPECT_THROW(y.follow({.kind = take, .number = 1}), std::logic_error) << "not here";
}

TEST(sequence_follower, an_open_task_keeps_what_it_began_with) {
  followed_sequence x{gradients()};
  x.give(1);
  x.give(2);
  EXPECT_EQ(x.follower.find(1)->model_number, 0u);
  x.follower.put(2, {buffer_of({2, 2}), {}});
  x.follow({.kind = take, .number = 2});
  x.follow({.kind = pass, .step = 7});
  x.follow({.kind = close});
  EXPECT_EQ(values_of(x.follower.find(1)->vectors.values), (floats{0, 0}));
  EXPECT_EQ(x.follower.find(2), nullptr);
  EXPECT_EQ(values_of(x.give(3).values), (floats{-1, -1}));
  EXPECT_EQ(x.follower.find(3)->model_number, 2u) << "numbers of models are even";
}

TEST(gradient_span, a_late_gradient_is_corrected_by_what_moved_since_its_task_began) {
  followed_sequence x{gradients({.compensation = delay_compensation_options{.lambda = 0.5}})};
  for (uint64_t task : {1, 2})
    x.follow({.kind = give, .number = task});
  for (uint64_t task : {1, 2})
    x.follower.put(task, {buffer_of({2, 0}), {}});
  x.follow({.kind = take, .number = 1});
  x.follow({.kind = close});
  EXPECT_EQ(x.parameters(), (floats{-1, 0})) << "nothing moved since";
  x.follow({.kind = take, .number = 2});
  x.follow({.kind = close});
  EXPECT_EQ(x.parameters(), (floats{-1, 0})) << "2 + 0.5 * 2 * 2 * -1 = 0";
}

TEST(gradient_span, gradients_in_place_make_one_step_and_scales_shorten_it) {
  followed_sequence x{gradients({.held_max = 2})};
  for (uint64_t task : {1, 2}) {
    x.follow({.kind = give, .number = task});
    x.follower.put(task, {buffer_of({4, 8}), {}});
    x.follow({.kind = take, .number = task, .sample_count = 2, .step_scale = 0.5});
  }
  EXPECT_EQ(x.follower.model().held_count(), 2u);
  state_saver saver{2};
  x.follower.model().save(saver);
  const auto saved = saver.take();
  EXPECT_EQ(saved.shape(), gradient_span::shape_of({.held_max = 2}));
  x.follow({.kind = close});
  EXPECT_EQ(x.parameters(), (floats{-0.5, -1}));
  const auto other = gradients({.held_max = 2}); // goes on from there
  state_loader loader{saved};
  other->load(loader);
  EXPECT_EQ(other->held_count(), 2u);
  EXPECT_TRUE(other->close({}));
  EXPECT_EQ(values_of(other->parameters()), (floats{-0.5, -1}));
}

TEST(gradient_span, an_update_that_is_not_finite_leaves_the_model) {
  followed_sequence x{gradients()};
  x.follow({.kind = give, .number = 1});
  x.follower.put(1, {buffer_of({1, std::numeric_limits<float>::infinity()}), {}});
  x.follow({.kind = take, .number = 1});
  EXPECT_FALSE(x.follow({.kind = close}));
  EXPECT_EQ(x.parameters(), (floats{0, 0}));
  EXPECT_EQ(x.follower.model().held_count(), 0u);
}

TEST(merged_span, members_are_merged_in_their_order_and_keep_their_states) {
  const merged_span_options options{
    .member_count = 3,
    .slot_count = 1,
    .merge = {.rule = merge_rule::weighted, .weighting = merge_weighting::samples}};
  followed_sequence x{std::make_unique<merged_span>(options, buffer_of({1, 1}))};
  for (uint64_t member : {2, 0}) {
    const auto task = member + 1;
    const auto given = x.give(task, member);
    EXPECT_EQ(values_of(given.values), (floats{1, 1}));
    EXPECT_EQ(given.state.slot_count(), 1u);
    optimizer_state after{1, 2};
    after.slot(0)[0] = static_cast<float>(member);
    x.follower.put(task, {buffer_of({static_cast<float>(member), 4}), after});
    x.follow({.kind = take, .number = task, .place = member, .sample_count = member + 1});
  }
  EXPECT_TRUE(x.follow({.kind = close, .round = 1})); // member 1 was left out
  EXPECT_EQ(x.parameters(), (floats{1.5, 4})) << "(1 * 0 + 3 * 2) / 4";
  const auto again = x.give(9, 2);
  EXPECT_EQ(values_of(again.values), (floats{1.5, 4}));
  EXPECT_EQ(again.state.slot(0)[0], 2);
  EXPECT_EQ(x.give(10, 1).state.slot(0)[0], 0);
}

TEST(merged_span, a_void_round_forgets_its_updates) {
  const merged_span_options options{.sums = {16, 4, 8}};
  followed_sequence x{std::make_unique<merged_span>(options, buffer_of({1, 1}))};
  ring_sum one{options.sums, 2};
  const floats start{1, 1}, moved{3, 5};
  one.add(start, moved, 1, measure_update(start, moved));
  const auto bring = [&](uint64_t task, uint64_t group) {
    const buffer low{2}, high{2};
    split_words(one.words(), low.values(), high.values());
    x.follow({.kind = give, .number = task});
    x.follower.put(task, {low, optimizer_state{std::vector<buffer>{high}}});
    x.follow({.kind = take, .number = task, .place = group});
  };
  bring(1, 0);
  x.follow({.kind = close, .round = 1, .is_void = true});
  EXPECT_EQ(x.parameters(), start);
  bring(2, 3); // a group of its own
  x.follow({.kind = close, .round = 2});
  EXPECT_EQ(x.parameters(), moved) << "once, not the void round's besides";
}

} // namespace
} // namespace troupe::span_model_test
