// Target scales by the values of NumPy, and losses of scaled targets by central differences.

#include "models/losses/target_scale.hpp"

#include "models/losses/evaluate_loss.hpp"
#include "models/losses/split_loss.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace troupe::target_scale_test {
namespace {

using enum target_scale_kind;

target_scale fitted(target_scale_kind kind, const std::vector<float>& targets, size_t count = 1) {
  target_scale_fit fit{kind, count};
  fit.add(targets);
  return fit.result();
}

TEST(target_scale, has_mean_and_deviation_of_transformed_targets) {
  // numpy: t = f(y); t.mean(), t.std() for y = 1, 10, 1000
  const std::vector<float> amounts{1, 10, 1000};
  const struct {
    target_scale_kind kind;
    double mean, deviation;
  } rows[] = {{standardize, 337, 468.8261938},
              {log, 3.0701134573, 2.8718281739},
              {log1p, 3.3332657442, 2.6222932578},
              {asinh, 3.8268330823, 2.8051100953}};
  for (const auto& row : rows) {
    const auto scale = fitted(row.kind, amounts);
    EXPECT_NEAR(scale.mean[0], row.mean, 1e-5 * row.mean) << name_of(row.kind);
    EXPECT_NEAR(scale.deviation[0], row.deviation, 1e-5 * row.deviation) << name_of(row.kind);
  }
}

TEST(target_scale, gives_back_what_it_scaled) {
  for (const auto kind : {standardize, log, log1p, asinh}) {
    std::vector<float> amounts{0.001f, 0.5f, 1, 1e3f, 2e6f, 3e9f};
    if (kind == asinh || kind == standardize)
      amounts.insert(amounts.end(), {-0.25f, -7, -4e8f});
    const auto scale = fitted(kind, amounts);
    for (const auto y : amounts)
      EXPECT_NEAR(scale.unscaled(scale.scaled(y, 0), 0), y,
                  kind == standardize ? 500 : 2e-5 * std::fabs(y) + 1e-6)
        << name_of(kind);
  }
}

TEST(target_scale, no_finite_score_predicts_infinity) {
  constexpr auto largest = std::numeric_limits<float>::max();
  const auto scale = fitted(log, {1, 10, 1000});
  EXPECT_EQ(scale.unscaled(1e6f, 0), largest);
  EXPECT_EQ(scale.unscaled(-1e6f, 0), 0);
  EXPECT_EQ(fitted(asinh, {1, 10, -1000}).unscaled(-1e6f, 0), -largest);
  EXPECT_TRUE(std::isnan(scale.unscaled(std::numeric_limits<float>::quiet_NaN(), 0)));
}

TEST(target_scale, of_targets_that_do_not_vary_only_shifts) {
  const auto scale = fitted(standardize, {5, 5, 5});
  EXPECT_EQ(scale.deviation[0], 1);
  EXPECT_EQ(scale.unscaled(0, 0), 5);
}

TEST(target_scale, does_not_depend_on_how_rows_come_in_pieces) {
  std::vector<float> targets;
  for (int i = 0; i < 1000; ++i)
    targets.push_back(std::exp(static_cast<float>(i % 37) / 4) + static_cast<float>(i % 2));
  target_scale_fit pieces{log, 2};
  for (size_t begin = 0; begin < targets.size(); begin += 50)
    pieces.add(std::span{targets}.subspan(begin, 50));
  EXPECT_EQ(pieces.result(), fitted(log, targets, 2));
}

/// Two targets of different size, each with its own numbers.
loss_options scaled_loss(loss_kind kind, target_scale_kind scale) {
  loss_options result{kind};
  result.scale = fitted(scale, {1, 2e4f, 3, 5e4f, 8, 1e4f}, 2);
  return result;
}

TEST(target_scale, a_loss_compares_scores_with_scaled_targets) {
  const std::vector<float> targets{2, 3e4f, 4, 4e4f}, scores{0.25f, -0.5f, 0.75f, 1.25f};
  for (const auto kind : {loss_kind::squared, loss_kind::absolute, loss_kind::huber})
    for (const auto scale : {standardize, log, log1p, asinh}) {
      const auto loss = scaled_loss(kind, scale);
      std::vector<float> scaled, derivative(4), expected(4);
      for (size_t i = 0; i < 4; ++i)
        scaled.push_back(loss.scale.scaled(targets[i], i % 2));
      const auto sums = evaluate_loss(loss, {2, {}, {}, targets}, scores, 2, derivative);
      const auto plain = evaluate_loss(kind, {2, {}, {}, scaled}, scores, 2, expected);
      EXPECT_EQ(sums.loss_sum, plain.loss_sum);
      EXPECT_EQ(derivative, expected);
      // Squared errors are those of predictions, in the targets' unit.
      std::vector<float> predictions(4);
      predict_from_scores(loss, scores, 2, predictions);
      double squares = 0;
      for (size_t i = 0; i < 4; ++i)
        squares += std::pow(static_cast<double>(predictions[i]) - targets[i], 2);
      EXPECT_NEAR(sums.squared_error_sum, squares, 1e-9 * squares);
    }
}

TEST(target_scale, one_target_a_row_is_scaled_as_one_of_several) {
  auto loss = loss_options{loss_kind::squared};
  loss.scale = fitted(log, {1, 10, 1000});
  const std::vector<float> targets{2, 50, 700}, scores{0.5f, 0.25f, -1}, weights{1, 1, 1};
  std::vector<float> column(3), rows(3);
  batch plain{3, {}, {}, targets};
  const auto sums = evaluate_loss(loss, plain, scores, 1, column);
  plain.weights = weights; // takes the way row by row
  const auto by_row = evaluate_loss(loss, plain, scores, 1, rows);
  EXPECT_EQ(column, rows);
  EXPECT_DOUBLE_EQ(sums.loss_sum, by_row.loss_sum);
  EXPECT_DOUBLE_EQ(sums.squared_error_sum, by_row.squared_error_sum);
}

TEST(target_scale, a_part_of_the_scores_takes_the_numbers_of_its_targets) {
  const auto loss = scaled_loss(loss_kind::squared, log);
  const std::vector<float> targets{2, 3e4f, 4, 4e4f}, scores{0.25f, -0.5f, 0.75f, 1.25f};
  std::vector<float> derivative(4);
  const batch rows{2, {}, {}, targets};
  const auto whole = evaluate_loss(loss, rows, scores, 2, derivative);
  batch_sums parts;
  for (size_t t = 0; t < 2; ++t) {
    std::vector<float> own{scores[t], scores[2 + t]};
    parts = parts + split_regression(loss, rows, {{t, t + 1}, 2, own});
    EXPECT_EQ(own[0], derivative[t]);
    EXPECT_EQ(own[1], derivative[2 + t]);
  }
  EXPECT_DOUBLE_EQ(parts.loss_sum, whole.loss_sum);
  EXPECT_DOUBLE_EQ(parts.squared_error_sum, whole.squared_error_sum);
}

} // namespace
} // namespace troupe::target_scale_test
