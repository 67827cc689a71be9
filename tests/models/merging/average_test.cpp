#include "models/merging/average.hpp"

#include "tests/support/models.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace troupe::average_test {

using test::floats;
using test::spans_of;

TEST(model_average, is_the_mean_of_each_parameter) {
  const std::vector<floats> models{{1, -2}, {3, 4}, {8, 1}};
  EXPECT_EQ(average(spans_of(models)), (floats{4, 1})) << "of all of them, not of every other one";
}

TEST(model_average, weighs_each_model) {
  const std::vector<floats> models{{1, -2}, {3, 4}};
  EXPECT_EQ(weighted_sum(spans_of(models), std::vector<double>{0.75, 0.25}), (floats{1.5, -0.5}));
}

TEST(model_average, of_equal_models_is_that_model_bit_for_bit) {
  const auto model = test::normal_models(1, 500, 3).front();
  for (size_t n : {1, 2, 3, 7, 49, 1000}) {
    auto copies = std::vector<floats>(n, model);
    const auto merged = average(spans_of(copies));
    EXPECT_EQ(merged, model) << n;
  }
  const std::vector<floats> zeros(3, floats{-0.0f});
  EXPECT_TRUE(std::signbit(average(spans_of(zeros))[0]));
}

TEST(model_average, does_not_overflow_on_the_way) {
  constexpr float great = std::numeric_limits<float>::max();
  const std::vector<floats> models(5, floats{great, -great});
  EXPECT_EQ(average(spans_of(models)), models.front());
}

TEST(model_average, rounds_down_and_up) {
  const floats values{1.5f, -1.5f, 2, -0.25f};
  const auto rounded = [&](merge_rounding how) {
    auto result = values;
    round_values(how, result);
    return result;
  };
  EXPECT_EQ(rounded(merge_rounding::none), values);
  EXPECT_EQ(rounded(merge_rounding::floor), (floats{1, -2, 2, -1}));
  EXPECT_EQ(rounded(merge_rounding::ceiling), (floats{2, -1, 2, 0}));
}

TEST(model_average, of_whole_numbers_stays_whole_when_rounded) {
  for (size_t n = 1; n < 60; ++n) {
    const std::vector<floats> models(n, floats{2, -3});
    for (auto how : {merge_rounding::floor, merge_rounding::ceiling}) {
      auto merged = average(spans_of(models));
      round_values(how, merged);
      EXPECT_EQ(merged, models.front()) << n << ": n times 2 / n may be just below 2 in double";
    }
  }
}

TEST(model_average, refuses_what_has_none) {
  EXPECT_THROW(average({}), std::invalid_argument);
  EXPECT_THROW(average(spans_of({{1, 2}, {1}})), std::invalid_argument);
  EXPECT_THROW(average(spans_of({{1}, {NAN}})), std::invalid_argument);
  EXPECT_THROW(weighted_sum(spans_of({{1}, {2}}), std::vector<double>{1}), std::invalid_argument);
  try {
    average(spans_of({{1}, {2}, {INFINITY}}));
    FAIL();
  } catch (const std::invalid_argument& problem) {
    EXPECT_STREQ(problem.what(), "weighted sum of models: a parameter of model 2 is not finite");
  }
}

namespace {

parameter_layout
layout_of(const std::vector<std::pair<std::string, std::vector<size_t>>>& tensors) {
  parameter_layout result;
  for (const auto& [name, shape] : tensors)
    result.add(name, shape);
  return result;
}

} // namespace

TEST(layout_union, has_each_name_once_where_it_first_appears) {
  const auto a = layout_of({{"w", {2}}, {"b", {1}}});
  const auto b = layout_of({{"c", {3}}, {"b", {1}}});
  const std::vector<const parameter_layout*> both{&a, &b};
  EXPECT_EQ(union_of(both), layout_of({{"w", {2}}, {"b", {1}}, {"c", {3}}}));
}

TEST(layout_union, lays_models_out_anew_with_zeros_for_what_is_missing) {
  const auto a = layout_of({{"w", {2}}, {"b", {1}}});
  const auto b = layout_of({{"c", {1}}, {"b", {1}}});
  const std::vector<const parameter_layout*> both{&a, &b};
  const auto whole = union_of(both);
  EXPECT_EQ(relaid(floats{1, 2, 3}, a, whole), (floats{1, 2, 3, 0}));
  EXPECT_EQ(relaid(floats{5, 6}, b, whole), (floats{0, 0, 6, 5}));
}

TEST(layout_union, refuses_a_name_with_two_shapes) {
  const auto a = layout_of({{"w", {2, 3}}});
  const auto b = layout_of({{"w", {3, 2}}});
  const std::vector<const parameter_layout*> both{&a, &b};
  try {
    union_of(both);
    FAIL();
  } catch (const std::invalid_argument& problem) {
    EXPECT_STREQ(problem.what(),
                 "union of layouts: tensor 'w' is 2 x 3 in one model and 3 x 2 in another");
  }
  EXPECT_THROW(relaid(floats{1}, a, a), std::invalid_argument);
  EXPECT_THROW(relaid(floats(6), a, layout_of({{"v", {6}}})), std::invalid_argument);
}

} // namespace troupe::average_test
