#include "troupe/models/losses/evaluate_loss.hpp"

#include "troupe/tests/support/double_network.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace troupe {

namespace {

struct evaluated {
  batch_sums sums;
  std::vector<float> derivative;
};

evaluated evaluate(loss_kind kind, const batch& rows, const std::vector<float>& scores,
                   size_t score_count) {
  evaluated result;
  result.derivative.resize(scores.size());
  result.sums = evaluate_loss(kind, rows, scores, score_count, result.derivative);
  return result;
}

} // namespace

TEST(loss, squared_is_the_mean_over_outputs_summed_over_samples) {
  const std::vector<float> targets{1, 2, 3, 4};
  const auto [sums, derivative] =
    evaluate(loss_kind::squared, {2, {}, {}, targets}, {2, 4, 3, 1}, 2);
  EXPECT_EQ(sums.loss_sum, (1 + 4) / 2.0 + (0 + 9) / 2.0);
  EXPECT_EQ(sums.squared_error_sum, 14);
  EXPECT_EQ(sums.sample_count, 2u);
  EXPECT_EQ(derivative, (std::vector<float>{1, 2, 0, -3}));
}

TEST(loss, cross_entropy_of_equal_scores_is_the_logarithm_of_the_classes) {
  const std::vector<int32_t> labels{2};
  const auto [sums, derivative] =
    evaluate(loss_kind::categorical_cross_entropy, {1, {}, labels, {}}, {5, 5, 5, 5}, 4);
  EXPECT_NEAR(sums.loss_sum, std::log(4.0), 1e-12);
  EXPECT_EQ(derivative, (std::vector<float>{0.25f, 0.25f, -0.75f, 0.25f}));
  EXPECT_EQ(sums.correct_count, 0u) << "the first of equal scores is the prediction";
}

TEST(loss, cross_entropy_counts_right_predictions) {
  const std::vector<int32_t> labels{0, 1, 1};
  const auto [sums, derivative] =
    evaluate(loss_kind::categorical_cross_entropy, {3, {}, labels, {}}, {3, 1, 0, 2, 4, 2}, 2);
  EXPECT_EQ(sums.correct_count, 2u);
}

TEST(loss, derivatives_match_central_differences) {
  const std::vector<double> scores{0.3, -1.2, 2.1, 0.4};
  const std::vector<double> targets{0.1, 0.7, -0.4, 1.5};
  const std::vector<float> float_targets{targets.begin(), targets.end()};
  const std::vector<int32_t> labels{1};
  for (const auto& [kind, name] : name_table<loss_kind>::entries) {
    const auto [sums, derivative] =
      evaluate(kind, {1, {}, labels, float_targets}, {scores.begin(), scores.end()}, scores.size());
    EXPECT_NEAR(sums.loss_sum, test::loss_of_row(kind, scores, 1, targets), 1e-6) << name;
    for (size_t j = 0; j < scores.size(); ++j) {
      auto above = scores, below = scores;
      above[j] += 1e-6;
      below[j] -= 1e-6;
      const auto slope =
        (test::loss_of_row(kind, above, 1, targets) - test::loss_of_row(kind, below, 1, targets)) /
        2e-6;
      EXPECT_NEAR(derivative[j], slope, 1e-6) << name << ' ' << j;
    }
  }
}

TEST(loss, cross_entropy_survives_scores_far_apart) {
  const std::vector<int32_t> labels{1};
  const auto [sums, derivative] =
    evaluate(loss_kind::categorical_cross_entropy, {1, {}, labels, {}}, {1e30f, -1e30f}, 2);
  EXPECT_FLOAT_EQ(static_cast<float>(sums.loss_sum), 2e30f);
  EXPECT_EQ(derivative, (std::vector<float>{1, -1}));
}

TEST(loss, a_score_that_is_not_finite_makes_the_loss_not_finite) {
  const std::vector<int32_t> labels{0};
  const std::vector<float> targets{0, 0};
  for (const auto& [kind, name] : name_table<loss_kind>::entries)
    for (float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
      for (size_t place : {0u, 1u}) {
        std::vector<float> scores{0, 0};
        scores[place] = bad;
        const auto [sums, derivative] = evaluate(kind, {1, {}, labels, targets}, scores, 2);
        EXPECT_FALSE(std::isfinite(sums.loss_sum)) << name << ' ' << bad << ' ' << place;
      }
}

TEST(loss, shapes_and_labels_are_checked) {
  const std::vector<int32_t> labels{2};
  std::vector<float> scores{1, 2};
  EXPECT_THROW(evaluate(loss_kind::categorical_cross_entropy, {1, {}, labels, {}}, scores, 2),
               std::invalid_argument);
  EXPECT_THROW(evaluate(loss_kind::categorical_cross_entropy, {1, {}, {}, {}}, scores, 2),
               std::invalid_argument);
  EXPECT_THROW(evaluate(loss_kind::squared, {1, {}, {}, {}}, scores, 2), std::invalid_argument);
  EXPECT_THROW(evaluate(loss_kind::squared, {2, {}, {}, scores}, scores, 2), std::invalid_argument);
}

TEST(softmax, turns_rows_into_probabilities) {
  std::vector<float> scores{0, std::log(3.0f), 7, 7};
  softmax_rows(scores, 2);
  EXPECT_NEAR(scores[0], 0.25, 1e-7);
  EXPECT_NEAR(scores[1], 0.75, 1e-7);
  EXPECT_EQ(scores[2], 0.5f);
}

} // namespace troupe
