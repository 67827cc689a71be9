#include "models/optimizers/optimizer.hpp"
#include "models/training/regularization.hpp"

#include "models/base/random.hpp"
#include "models/math/reduction.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace troupe::regularization_test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

optimizer_options changes_of(double l1, double l2, double clip_value = 0, double clip_norm = 0) {
  optimizer_options options;
  options.learning_rate = 1;
  options.l1 = l1;
  options.l2 = l2;
  options.clip_value = clip_value;
  options.clip_norm = clip_norm;
  return options;
}

std::vector<float> changed(const optimizer_options& options, std::vector<float> gradient,
                           const std::vector<float>& parameters, float norm_factor = 1) {
  const regularization rule{options, {{0, parameters.size()}}};
  rule.apply(gradient, parameters.data(), 0, norm_factor);
  return gradient;
}

using values = std::vector<float>;

TEST(regularization, penalties_take_hand_worked_values) {
  const values p{2, -4, 0};
  EXPECT_EQ(changed(changes_of(0, 0.5), {1, 1, 1}, p), (values{2, -1, 1}));
  EXPECT_EQ(changed(changes_of(0.25, 0), {1, 1, 1}, p), (values{1.25f, 0.75f, 1}));
  EXPECT_EQ(changed(changes_of(0.25, 0.5), {1, 1, 1}, p), (values{2.25f, -1.25f, 1}));
}

TEST(regularization, clips_first_and_never_cuts_a_penalty) {
  EXPECT_EQ(changed(changes_of(0, 0, 1), {3, -3, 0.5f}, {8, 8, 8}), (values{1, -1, 0.5f}));
  EXPECT_EQ(changed(changes_of(0, 0.5, 1), {3, -3, 0.5f}, {8, 8, 8}), (values{5, 3, 4.5f}));
  EXPECT_EQ(changed(changes_of(0, 0.5, 0, 1), {4, 2, 0}, {8, 8, 8}, 0.25f), (values{5, 4.5f, 4}));
}

TEST(regularization, norm_is_scaled_only_above_the_limit) {
  const regularization rule{changes_of(0, 0, 0, 5), {}};
  EXPECT_EQ(rule.norm_factor(24), 1);
  EXPECT_EQ(rule.norm_factor(25), 1) << "at the limit is not above it";
  EXPECT_EQ(rule.norm_factor(100), 0.5);
  EXPECT_EQ(rule.norm_factor(0), 1);
  EXPECT_EQ(regularization{}.norm_factor(1e300), 1);
}

TEST(regularization, frozen_elements_are_not_penalized_and_stay) {
  parameter_layout layout;
  layout.add("layers.0.weight", {2, 3});
  layout.add("layers.0.bias", {2});
  layout.add("layers.1.weight", {1, 2});
  const std::vector<index_range> frozen{{6, 8}, {8, 10}};
  EXPECT_EQ(penalized_ranges(layout, frozen), (std::vector<index_range>{{0, 6}}));
  EXPECT_EQ(penalized_ranges(layout, {{0, 6}}), (std::vector<index_range>{{8, 10}}));
  const regularization rule{changes_of(0, 0), {}, frozen};
  EXPECT_FALSE(rule.active()) << "a gradient of 0 needs no change";
  const values before{1, 2, 3, 4};
  values next{5, 6, 7, 8};
  rule.hold(next, before.data(), 5); // elements 5 to 8
  EXPECT_EQ(next, (values{5, 2, 3, 4}));
}

TEST(regularization, weight_decay_leaves_frozen_elements) {
  auto options = changes_of(0, 0);
  options.kind = optimizer_kind::adamw;
  options.weight_decay = 0.5;
  const auto rule = make_optimizer(options);
  const regularization changes{options, {}, {{1, 2}}};
  optimizer_state state{rule->slot_count(), 2};
  const values gradient{0, 0}, parameters{4, 4};
  values next(2);
  const std::array<std::span<const float>, 1> inputs{gradient};
  ASSERT_TRUE(reducer{}.reduce_and_update({{0}}, inputs, *rule,
                                          rule->begin_step(0, 1, direction::descent), state,
                                          parameters, next, {&changes, 0, 1}));
  EXPECT_EQ(next, (values{2, 4}));
}

TEST(regularization, biases_are_excluded_by_name) {
  parameter_layout layout;
  layout.add("layers.0.weight", {2, 3});
  layout.add("layers.0.bias", {2});
  layout.add("layers.1.weight", {1, 2});
  layout.add("layers.1.scale", {4});
  layout.add("layers.1.bias", {1});
  EXPECT_EQ(penalized_ranges(layout), (std::vector<index_range>{{0, 6}, {8, 14}}));
}

TEST(regularization, pieces_that_cut_tensors_are_penalized_like_the_whole) {
  const std::vector<index_range> ranges{{2, 5}, {7, 8}, {9, 20}};
  const regularization rule{changes_of(0.5, 0.25), ranges};
  values p(24), gradient(24, 1.0f);
  for (size_t i = 0; i < p.size(); ++i)
    p[i] = static_cast<float>(i) - 11.5f;
  auto whole = gradient;
  rule.apply(whole, p.data(), 0, 1);
  for (size_t i = 0; i < p.size(); ++i) {
    const bool penalized = (i >= 2 && i < 5) || i == 7 || (i >= 9 && i < 20);
    EXPECT_EQ(whole[i], penalized ? 1 + 0.25f * p[i] + (p[i] > 0 ? 0.5f : -0.5f) : 1) << i;
  }
  for (size_t size = 1; size < 24; ++size) {
    auto pieces = gradient;
    for (size_t begin = 0; begin < 24; begin += size)
      rule.apply(std::span{pieces}.subspan(begin, std::min(size, 24 - begin)), p.data() + begin,
                 begin, 1);
    EXPECT_EQ(pieces, whole) << size;
  }
}

TEST(regularization, squares_are_added_in_double_and_show_what_is_not_finite) {
  values sum(1000, 2.0f);
  EXPECT_EQ(square_sum(sum, 0.5f), 1000);
  sum[3] = 2e30f; // its square is no float
  EXPECT_NEAR(square_sum(sum, 0.5f), 1e60, 1e54);
  sum[999] = infinity;
  EXPECT_FALSE(std::isfinite(square_sum(sum, 0.5f)));
}

TEST(regularization, options_out_of_range_are_refused) {
  for (const auto& options : {changes_of(-1, 0), changes_of(0, -1), changes_of(0, 0, -1),
                              changes_of(0, 0, 0, -1), changes_of(0, 0, 1, 1), changes_of(NAN, 0)})
    EXPECT_THROW((regularization{options, {}}), std::invalid_argument);
}

TEST(regularization, the_sweep_changes_the_mean_and_then_updates) {
  const auto options = changes_of(0, 0.5, 1);
  const auto rule = make_optimizer(options);
  const regularization change{options, {{10, 12}}}; // elements 0 and 1 of this span
  const values a{8, -2, 6}, b{4, -2, 2}, p{4, 4, 4};
  values next(3);
  reducer sums;
  const std::vector<std::span<const float>> inputs{a, b};
  ASSERT_TRUE(sums.reduce_and_update({{0, 1, reduction_plan::add}}, inputs, *rule,
                                     rule->begin_step(0, 8, direction::descent), {}, p, next,
                                     {&change, 10}));
  // Means 1.5, -0.5, 1; clipped 1, -0.5, 1; penalties 2, 2, none.
  EXPECT_EQ(next, (values{1, 2.5f, 3}));
}

TEST(regularization, a_gradient_that_is_not_finite_is_found_before_clipping_hides_it) {
  for (auto kind : {optimizer_kind::sgd, optimizer_kind::rprop})
    for (float bad : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()}) {
      auto options = changes_of(0, 0, 1);
      options.kind = kind;
      const auto rule = make_optimizer(options);
      const regularization change{options, {}};
      values gradient(5000, 1.0f), p(5000), next(5000);
      gradient[4321] = bad;
      const std::vector<std::span<const float>> inputs{gradient};
      reducer sums;
      EXPECT_FALSE(sums.reduce_and_update({{0}}, inputs, *rule,
                                          rule->begin_step(0, 1, direction::descent),
                                          {rule->slot_count(), 5000}, p, next, {&change}));
    }
}

TEST(regularization, parts_of_a_span_change_like_the_whole) {
  auto options = changes_of(0.01, 0.1, 0.5);
  options.kind = optimizer_kind::nadam;
  const size_t size = 9000;
  const regularization change{options, {{0, 3000}, {3001, 8999}}};
  const auto rule = make_optimizer(options);
  values gradient(size), p(size), whole(size), parts(size);
  fill_normal({5, random_purpose::initialization, 0}, 0, 20, gradient);
  fill_normal({6, random_purpose::initialization, 0}, 0, 1, p);
  const auto step = rule->begin_step(0, 7, direction::descent);
  reducer sums;
  const auto run = [&](size_t begin, size_t count, values& out) {
    const std::vector<std::span<const float>> inputs{std::span{gradient}.subspan(begin, count)};
    return sums.reduce_and_update({{0}}, inputs, *rule, step, {rule->slot_count(), count},
                                  std::span{p}.subspan(begin, count),
                                  std::span{out}.subspan(begin, count), {&change, begin});
  };
  ASSERT_TRUE(run(0, size, whole));
  for (const auto& [begin, end] : {index_range{0, 4096}, {4096, 8192}, {8192, size}})
    ASSERT_TRUE(run(begin, end - begin, parts));
  EXPECT_EQ(whole, parts);
}

} // namespace
} // namespace troupe::regularization_test
