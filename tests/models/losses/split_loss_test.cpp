#include "models/losses/split_loss.hpp"

#include "models/losses/evaluate_loss.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace troupe::split_loss_test {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

struct outcome {
  batch_sums sums;
  std::vector<float> derivative;
};

/// One row of scores, cut before these units.
outcome split(const std::vector<float>& scores, int32_t label, const std::vector<size_t>& bounds,
              const loss_options& loss = loss_kind::categorical_cross_entropy) {
  const std::vector<int32_t> labels{label};
  batch rows;
  rows.row_count = 1;
  rows.labels = labels;
  outcome result{{}, scores};
  std::vector<std::vector<float>> words;
  std::vector<part_figures> figures;
  std::vector<score_part> parts;
  for (size_t t = 0; t + 1 < bounds.size(); ++t) {
    const index_range units{bounds[t], bounds[t + 1]};
    parts.push_back(
      {units, scores.size(), std::span{result.derivative}.subspan(units.begin, units.size())});
    words.emplace_back(units.empty() ? 0 : 4);
    if (!units.empty())
      tell_figures(rows, parts.back(), words.back());
  }
  for (size_t t = 0; t < parts.size(); ++t)
    figures.push_back({parts[t].units, words[t]});
  for (size_t t = 0; t < parts.size(); ++t)
    if (!parts[t].units.empty()) {
      const auto sums = split_cross_entropy(loss, rows, t, parts[t], figures);
      EXPECT_TRUE(t == 0 || parts[0].units.empty() || sums == result.sums)
        << "every part says the same";
      result.sums = sums;
    }
  return result;
}

outcome whole(const std::vector<float>& scores, int32_t label) {
  const std::vector<int32_t> labels{label};
  batch rows;
  rows.row_count = 1;
  rows.labels = labels;
  outcome result{{}, scores};
  result.sums = evaluate_loss(loss_kind::categorical_cross_entropy, rows, scores, scores.size(),
                              result.derivative);
  return result;
}

void expect_same(const outcome& actual, const outcome& expected) {
  EXPECT_NEAR(actual.sums.loss_sum, expected.sums.loss_sum,
              1e-6 * (1 + std::abs(expected.sums.loss_sum)));
  EXPECT_EQ(actual.sums.correct_count, expected.sums.correct_count);
  EXPECT_EQ(actual.sums.sample_count, 1u);
  for (size_t j = 0; j < expected.derivative.size(); ++j)
    EXPECT_NEAR(actual.derivative[j], expected.derivative[j], 1e-6) << j;
}

} // namespace

// torch.nn.functional.cross_entropy(torch.tensor([[1., 2., 3., 4.]]), torch.tensor([1])): 2.440190
TEST(split_loss, a_hand_worked_row_cut_in_every_way) {
  for (int32_t label = 0; label < 4; ++label)
    for (const auto& bounds : std::vector<std::vector<size_t>>{
           {0, 4}, {0, 2, 4}, {0, 1, 4}, {0, 3, 3, 4}, {0, 0, 1, 2, 3, 4}, {0, 4, 4}})
      expect_same(split({1, 2, 3, 4}, label, bounds), whole({1, 2, 3, 4}, label));
  EXPECT_NEAR(split({1, 2, 3, 4}, 1, {0, 2, 4}).sums.loss_sum, 2.440190, 1e-6);
}

TEST(split_loss, the_first_of_equal_scores_wins_in_whichever_part) {
  for (int32_t label = 0; label < 4; ++label) {
    expect_same(split({2, 2, 2, 2}, label, {0, 2, 4}), whole({2, 2, 2, 2}, label));
    expect_same(split({1, 5, 5, 1}, label, {0, 2, 4}), whole({1, 5, 5, 1}, label));
  }
  EXPECT_EQ(split({1, 5, 5, 1}, 1, {0, 2, 4}).sums.correct_count, 1u);
  EXPECT_EQ(split({1, 5, 5, 1}, 2, {0, 2, 4}).sums.correct_count, 0u);
}

TEST(split_loss, far_scores_and_infinities_are_those_of_the_whole) {
  expect_same(split({-200, 100, -300, 90}, 3, {0, 2, 4}), whole({-200, 100, -300, 90}, 3));
  expect_same(split({-infinity, -infinity, 1, 2}, 2, {0, 2, 4}),
              whole({-infinity, -infinity, 1, 2}, 2));
  expect_same(split({1, 2, -infinity, 0}, 0, {0, 2, 4}), whole({1, 2, -infinity, 0}, 0));
}

TEST(split_loss, what_is_not_a_number_makes_no_number_in_every_part) {
  for (const auto& scores :
       std::vector<std::vector<float>>{{std::nanf(""), 1, 2, 3},
                                       {1, 2, std::nanf(""), 3},
                                       {1, infinity, 2, 3},
                                       {-infinity, -infinity, -infinity, -infinity}}) {
    const auto found = split(scores, 1, {0, 2, 4});
    EXPECT_FALSE(std::isfinite(found.sums.loss_sum));
  }
}

// Hand-worked: three targets, squared; the mean is over all three.
TEST(split_loss, parts_of_a_regression_are_shares_of_the_mean_over_all_targets) {
  const std::vector<float> targets{1, 2, 3};
  std::vector<float> left{2, 4}, right{6};
  batch rows;
  rows.row_count = 1;
  rows.targets = targets;
  const auto a = split_regression(loss_kind::squared, rows, {{0, 2}, 3, left});
  const auto b = split_regression(loss_kind::squared, rows, {{2, 3}, 3, right});
  EXPECT_DOUBLE_EQ(a.loss_sum, 5.0 / 3);
  EXPECT_DOUBLE_EQ(b.loss_sum, 9.0 / 3);
  EXPECT_EQ(a.sample_count, 1u);
  EXPECT_EQ(b.sample_count, 0u) << "counted once";
  EXPECT_DOUBLE_EQ((a + b).squared_error_sum, 14);
  EXPECT_FLOAT_EQ(left[0], 2.0f / 3);
  EXPECT_FLOAT_EQ(left[1], 4.0f / 3);
  EXPECT_FLOAT_EQ(right[0], 2.0f);
}

TEST(split_loss, shapes_and_labels_are_checked) {
  const std::vector<int32_t> labels{4};
  batch rows;
  rows.row_count = 1;
  rows.labels = labels;
  std::vector<float> scores{1, 2}, figures(4);
  EXPECT_THROW(tell_figures(rows, {{0, 2}, 4, scores}, figures), std::invalid_argument);
  EXPECT_THROW(tell_figures(rows, {{0, 3}, 5, scores}, figures), std::invalid_argument);
  EXPECT_THROW(split_regression(loss_kind::squared, rows, {{0, 2}, 4, scores}),
               std::invalid_argument);
}

} // namespace troupe::split_loss_test
