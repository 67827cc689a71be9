#include "models/merging/merge_weights.hpp"
#include "models/merging/robust.hpp"
#include "tests/support/models.hpp"
#include "tests/support/reference.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

namespace troupe::robust_test {
namespace {

using test::floats;
using test::spans_of;

// Honest models near 1, and `faulty_count` far away that agree with each other.
std::vector<floats> with_liars(size_t honest_count, size_t faulty_count, uint64_t seed) {
  auto models = test::normal_models(honest_count, 40, seed, 0.1f);
  for (auto& model : models)
    for (auto& value : model)
      value += 1;
  for (size_t k = 0; k < faulty_count; ++k)
    models.insert(models.begin() + static_cast<std::ptrdiff_t>(2 * k), floats(40, -1e6f));
  return models;
}

void expect_all_near(const floats& values, float expected, float distance) {
  for (auto value : values)
    EXPECT_NEAR(value, expected, distance);
}

double distance_sum(const std::vector<floats>& models, const floats& y) {
  double result = 0;
  for (const auto& model : models) {
    double squares = 0;
    for (size_t i = 0; i < y.size(); ++i)
      squares += std::pow(static_cast<double>(model[i]) - static_cast<double>(y[i]), 2);
    result += std::sqrt(squares);
  }
  return result;
}

TEST(robust_merge, median_is_the_middle_of_each_parameter) {
  EXPECT_EQ(coordinate_median(spans_of({{1, 9}, {5, -2}, {3, 4}})), (floats{3, 4}));
  EXPECT_EQ(coordinate_median(spans_of({{1, 9}, {5, -2}, {3, 4}, {100, 6}})), (floats{4, 5}));
  EXPECT_EQ(coordinate_median(spans_of({{7}})), floats{7});
}

TEST(robust_merge, median_of_great_values_does_not_overflow) {
  EXPECT_EQ(coordinate_median(spans_of({{3e38f}, {3e38f}})), floats{3e38f});
}

TEST(robust_merge, trimmed_mean_leaves_both_ends_out) {
  const std::vector<floats> models{{-100}, {1}, {2}, {6}, {1000}};
  EXPECT_EQ(trimmed_mean(spans_of(models), 1), floats{3});
  EXPECT_EQ(trimmed_mean(spans_of(models), 2), floats{2});
  EXPECT_EQ(trimmed_mean(spans_of({{1}, {2}, {6}}), 0), floats{3});
  EXPECT_THROW(trimmed_mean(spans_of({{1}, {2}}), 1), std::invalid_argument);
  EXPECT_THROW(trimmed_mean(spans_of({{1}, {2}}), ~size_t{0}), std::invalid_argument);
}

TEST(robust_merge, krum_scores_are_hand_worked) {
  // n = 5, f = 1: the squares to the two nearest.
  const std::vector<floats> models{{0}, {1}, {3}, {7}, {100}};
  EXPECT_EQ(krum_scores(spans_of(models), 1),
            (std::vector<double>{1 + 9, 1 + 4, 4 + 9, 16 + 36, 93 * 93 + 97 * 97}));
  EXPECT_EQ(krum(spans_of(models), 1), floats{1});
  EXPECT_EQ(multi_krum(spans_of(models), 1), floats{0.5f}) << "n - f - 2 = 2 models: 1 and 0";
  EXPECT_EQ(multi_krum(spans_of(models), 1, 3), floats{4.0f / 3});
}

TEST(robust_merge, krum_takes_the_first_of_equals) {
  EXPECT_EQ(krum(spans_of({{2}, {1}, {0}}), 0), floats{2}) << "1, 1, 1: n - 2 = 1 neighbour";
  EXPECT_EQ(krum(spans_of({{0}, {1}, {2}}), 0), floats{0});
}

TEST(robust_merge, krum_refuses_more_faulty_models_than_it_can_outvote) {
  const auto models = test::normal_models(4, 3, 1);
  EXPECT_THROW(krum(spans_of(models), 1), std::invalid_argument) << "n > 2 f + 2";
  EXPECT_NO_THROW(krum(spans_of(test::normal_models(5, 3, 1)), 1));
  EXPECT_THROW(krum(spans_of(models), ~size_t{0}), std::invalid_argument);
  EXPECT_THROW(multi_krum(spans_of(models), 0, 5), std::invalid_argument);
}

TEST(robust_merge, liars_do_not_move_the_result) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto models = with_liars(7, 2, seed);
    const auto spans = spans_of(models);
    expect_all_near(coordinate_median(spans), 1, 0.5f);
    expect_all_near(trimmed_mean(spans, 2), 1, 0.5f);
    expect_all_near(krum(spans, 2), 1, 0.6f);
    expect_all_near(multi_krum(spans, 2), 1, 0.5f);
    const auto median = geometric_median(spans, equal_weights(models.size()));
    expect_all_near(median.values, 1, 0.5f);
    EXPECT_TRUE(median.converged);
    EXPECT_LT(average(spans)[0], -1000) << "which is why one wants them";
  }
}

TEST(robust_merge, geometric_median_agrees_with_numpy) {
  const auto reference = test::load_reference("merging.json").at("geometric_median");
  std::vector<floats> points;
  for (const auto& point : reference.at("points"))
    points.push_back(test::flat<float>(point));
  const auto found = geometric_median(spans_of(points), equal_weights(5), {1e-9});
  ASSERT_TRUE(found.converged);
  const auto expected = test::flat<float>(reference.at("median"));
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(found.values[i], expected[i], 1e-6) << i;
}

TEST(robust_merge, geometric_median_is_better_than_its_neighbours) {
  const auto models = test::normal_models(9, 6, 4);
  const auto found = geometric_median(spans_of(models), equal_weights(9)).values;
  const double best = distance_sum(models, found);
  for (size_t i = 0; i < found.size(); ++i)
    for (float step : {-0.01f, 0.01f}) {
      auto other = found;
      other[i] += step;
      EXPECT_LE(best, distance_sum(models, other));
    }
}

TEST(robust_merge, geometric_median_may_be_one_of_the_models) {
  // The mean of these is a model: Weiszfeld's own step would divide by 0 there.
  const std::vector<floats> star{{0, 0}, {1, 0}, {-1, 0}, {0, 1}, {0, -1}};
  const auto found = geometric_median(spans_of(star), equal_weights(5));
  EXPECT_EQ(found.values, (floats{0, 0}));
  EXPECT_TRUE(found.converged);
  // It starts at a model that is not the median, and leaves it: (0, 0) is the mean here too.
  const std::vector<floats> left{{0, 0}, {-1, 0}, {-1, 0.1f}, {-1, -0.1f}, {3, 0}};
  const auto moved = geometric_median(spans_of(left), equal_weights(5));
  EXPECT_NEAR(moved.values[0], -1 + 0.1 / std::sqrt(3), 1e-5) << "where the pulls are in balance";
}

TEST(robust_merge, geometric_median_of_equal_models_is_that_model) {
  const auto model = test::normal_models(1, 50, 2).front();
  const std::vector<floats> copies(4, model);
  const auto found = geometric_median(spans_of(copies), equal_weights(4));
  EXPECT_EQ(found.values, model);
  EXPECT_TRUE(found.converged);
  EXPECT_EQ(found.steps, 1u);
}

TEST(robust_merge, geometric_median_follows_most_of_the_weight) {
  const std::vector<floats> models{{0, 0}, {4, 4}};
  const auto found = geometric_median(spans_of(models), std::vector<double>{0.9, 0.1});
  EXPECT_NEAR(found.values[0], 0, 1e-4);
}

TEST(robust_merge, geometric_median_stops_at_its_limit_and_says_so) {
  const auto models = test::normal_models(9, 6, 4);
  const auto found = geometric_median(spans_of(models), equal_weights(9), {1e-15, 3});
  EXPECT_EQ(found.steps, 3u);
  EXPECT_FALSE(found.converged);
  EXPECT_THROW(geometric_median(spans_of(models), equal_weights(9), {0}), std::invalid_argument);
}

TEST(robust_merge, values_that_are_not_finite_are_refused) {
  const std::vector<floats> models{{1}, {2}, {NAN}};
  EXPECT_THROW(coordinate_median(spans_of(models)), std::invalid_argument);
  EXPECT_THROW(trimmed_mean(spans_of(models), 1), std::invalid_argument);
  EXPECT_THROW(krum(spans_of(models), 0), std::invalid_argument);
  EXPECT_THROW(geometric_median(spans_of(models), equal_weights(3)), std::invalid_argument);
}

TEST(sign_flip, hands_in_the_update_reversed_and_so_many_times_as_long) {
  const auto flipped = [](floats values, const floats& start, double factor) {
    flip_update(start, factor, values);
    return values;
  };
  EXPECT_EQ(flipped({3, -1, 5}, {1, 1, 5}, 4), (floats{-7, 9, 5})) << "updates 2, -2, 0";
  EXPECT_EQ(flipped({3, -1}, {1, 1}, 1), (floats{-1, 3})) << "the mirror image";
  EXPECT_EQ(flipped({-1, 3}, {1, 1}, 1), (floats{3, -1})) << "and back";
  EXPECT_THROW(flipped({3, -1}, {1}, 1), std::invalid_argument);
}

} // namespace
} // namespace troupe::robust_test
