#include "models/math/reduction.hpp"
#include "models/optimizers/optimizer.hpp"

#include "models/base/random.hpp"
#include "models/math/tree_accumulator.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace troupe::reduction_test {
namespace {

constexpr auto add = reduction_plan::add;

std::vector<std::vector<float>> random_inputs(size_t count, size_t size) {
  std::vector<std::vector<float>> inputs(count, std::vector<float>(size));
  for (size_t k = 0; k < count; ++k)
    fill_normal({5, random_purpose::initialization, k}, 0, 1000, inputs[k]);
  return inputs;
}

std::vector<std::span<const float>> spans_of(const std::vector<std::vector<float>>& inputs) {
  return {inputs.begin(), inputs.end()};
}

TEST(reduction, adds_in_the_order_of_its_plan) {
  for (size_t size : {1u, 5u, 2048u, 2049u, 10'000u}) {
    const auto inputs = random_inputs(4, size);
    const reduction_plan plan{{0, 1, add, 2, 3, add, add}};
    std::vector<float> out(size);
    reducer sums;
    sums.reduce(plan, spans_of(inputs), out);
    for (size_t i = 0; i < size; ++i)
      ASSERT_EQ(out[i], (inputs[0][i] + inputs[1][i]) + (inputs[2][i] + inputs[3][i])) << i;
  }
}

TEST(reduction, rounds_every_sum_of_two_to_its_format) {
  const size_t size = 3000;
  auto inputs = random_inputs(4, size);
  const auto round = [](float x) {
    round_to(number_format::bf16, {&x, 1});
    return x;
  };
  for (auto& input : inputs)
    for (auto& x : input)
      x = round(x);
  std::vector<float> expected(size), out(size), left(size), right(size);
  for (size_t i = 0; i < size; ++i)
    expected[i] = round(round(inputs[0][i] + inputs[1][i]) + round(inputs[2][i] + inputs[3][i]));
  reducer sums{number_format::bf16};
  sums.reduce({{0, 1, add, 2, 3, add, add}}, spans_of(inputs), out);
  EXPECT_EQ(out, expected);
  // Two who add a half each, and a third one; or one beside the other.
  sums.reduce({{0, 1, add}}, spans_of(inputs), left);
  sums.reduce({{2, 3, add}}, spans_of(inputs), right);
  sums.reduce({{0, 1, add}}, std::vector<std::span<const float>>{left, right}, out);
  EXPECT_EQ(out, expected);
  add_into(left, right, number_format::bf16);
  EXPECT_EQ(left, expected);
}

TEST(reduction, another_order_gives_other_bits) {
  const auto inputs = random_inputs(4, 1000);
  std::vector<float> tree(1000), chain(1000);
  reducer sums;
  sums.reduce({{0, 1, add, 2, 3, add, add}}, spans_of(inputs), tree);
  sums.reduce({{0, 1, add, 2, add, 3, add}}, spans_of(inputs), chain);
  EXPECT_NE(tree, chain);
}

TEST(reduction, parts_of_a_span_update_like_the_whole) {
  optimizer_options options;
  options.kind = optimizer_kind::adam;
  const auto rule = make_optimizer(options);
  const size_t size = 9000;
  const auto inputs = random_inputs(3, size);
  const reduction_plan plan{{0, 1, add, 2, add}};
  std::vector<float> parameters(size), whole(size), parts(size);
  fill_normal({6, random_purpose::initialization, 0}, 0, 1, parameters);
  reducer sums;
  const auto step = rule->begin_step(0, 7, direction::descent);
  ASSERT_TRUE(
    sums.reduce_and_update(plan, spans_of(inputs), *rule, step, {2, size}, parameters, whole));
  const size_t cuts[] = {0, 4096, 4100, 8192, size};
  for (size_t c = 0; c + 1 < std::size(cuts); ++c) {
    const auto begin = cuts[c], count = cuts[c + 1] - cuts[c];
    auto part = spans_of(inputs);
    for (auto& input : part)
      input = input.subspan(begin, count);
    ASSERT_TRUE(sums.reduce_and_update(plan, part, *rule, step, {2, count},
                                       std::span{parameters}.subspan(begin, count),
                                       std::span{parts}.subspan(begin, count)));
  }
  EXPECT_EQ(whole, parts);
}

TEST(reduction, a_value_that_is_not_finite_is_found_wherever_it_is) {
  const auto rule = make_optimizer({});
  for (size_t place : {0u, 2047u, 2048u, 4999u})
    for (size_t culprit : {0u, 1u}) {
      auto inputs = random_inputs(2, 5000);
      inputs[culprit][place] = std::numeric_limits<float>::infinity();
      std::vector<float> parameters(5000), next(5000);
      reducer sums;
      EXPECT_FALSE(sums.reduce_and_update({{0, 1, add}}, spans_of(inputs), *rule,
                                          rule->begin_step(0, 1, direction::descent), {},
                                          parameters, next));
      EXPECT_EQ(find_not_finite(spans_of(inputs)), culprit);
    }
  EXPECT_EQ(find_not_finite(spans_of(random_inputs(2, 10))), 2u);
}

TEST(reduction, plans_that_are_no_programs_are_refused) {
  const auto inputs = random_inputs(2, 3);
  std::vector<float> out(3);
  reducer sums;
  for (const auto& plan : {reduction_plan{{}}, reduction_plan{{add}}, reduction_plan{{0, add}},
                           reduction_plan{{0, 1}}, reduction_plan{{2}}, reduction_plan{{-7}}})
    EXPECT_THROW(sums.reduce(plan, spans_of(inputs), out), std::invalid_argument);
  out.resize(2);
  EXPECT_THROW(sums.reduce({{0}}, spans_of(inputs), out), std::invalid_argument);
  EXPECT_THROW(add_into(out, inputs[0]), std::invalid_argument);
}

/// Shows the order of additions.
struct traced {
  std::string text;
  friend traced operator+(const traced& a, const traced& b) {
    return {"(" + a.text + b.text + ")"};
  }
};

TEST(tree_accumulator, splits_at_the_largest_power_of_two_below_the_count) {
  const auto tree = [](size_t count) {
    tree_accumulator<traced> sums;
    for (size_t i = 0; i < count; ++i)
      sums.push({std::string(1, static_cast<char>('a' + i))});
    return sums.total().text;
  };
  EXPECT_EQ(tree(0), "");
  EXPECT_EQ(tree(1), "a");
  EXPECT_EQ(tree(2), "(ab)");
  EXPECT_EQ(tree(3), "((ab)c)");
  EXPECT_EQ(tree(5), "(((ab)(cd))e)");
  EXPECT_EQ(tree(7), "(((ab)(cd))((ef)g))");
  EXPECT_EQ(tree(8), "(((ab)(cd))((ef)(gh)))");
}

} // namespace
} // namespace troupe::reduction_test
