// Weights of rows: a row of weight 2 is the row twice, in every loss, whole or in parts, and in the solvers.

#include "models/base/random.hpp"
#include "models/losses/evaluate_loss.hpp"
#include "models/losses/split_loss.hpp"
#include "models/network/neural_network.hpp"
#include "models/solvers/least_squares.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace troupe::row_weights_test {
namespace {

/// Rows of two scores or one, with labels and targets, each so often as its weight says.
struct made_rows {
  std::vector<float> scores;
  std::vector<int32_t> labels;
  std::vector<float> targets;
  std::vector<float> weights;
  size_t width = 1;

  batch rows(bool classes) const {
    batch result;
    result.row_count = labels.size();
    if (classes)
      result.labels = labels;
    else
      result.targets = targets;
    result.weights = weights;
    return result;
  }
};

constexpr size_t row_total = 6;
const std::vector<float> whole_weights{2, 0, 1, 3, 1, 2};

made_rows weighted(size_t width) {
  made_rows x;
  x.width = width;
  x.scores.resize(row_total * width);
  x.targets.resize(row_total * width);
  fill_normal({1, random_purpose::synthetic_features, 0}, 0, 1, x.scores);
  fill_normal({2, random_purpose::synthetic_features, 0}, 0, 1, x.targets);
  for (auto& target : x.targets)
    target = std::fabs(target) + 0.1f; // of any loss
  x.labels = {0, 1, 1, 0, 1, 0};
  x.weights = whole_weights;
  return x;
}

made_rows repeated(const made_rows& x) {
  made_rows result;
  result.width = x.width;
  for (size_t i = 0; i < row_total; ++i)
    for (float n = 0; n < x.weights[i]; ++n) {
      const auto at = static_cast<std::ptrdiff_t>(i * x.width);
      const auto end = at + static_cast<std::ptrdiff_t>(x.width);
      result.scores.insert(result.scores.end(), x.scores.begin() + at, x.scores.begin() + end);
      result.targets.insert(result.targets.end(), x.targets.begin() + at, x.targets.begin() + end);
      result.labels.push_back(x.labels[i]);
    }
  return result;
}

TEST(row_weights, a_row_of_weight_two_is_the_row_twice_in_every_loss) {
  for (const auto& [kind, name] : name_table<loss_kind>::entries)
    for (const size_t width : {1, 2}) {
      const bool classes = is_classification(kind);
      if (classes && is_binary(kind) != (width == 1))
        continue;
      const auto once = weighted(width), often = repeated(once);
      std::vector<float> one(once.scores.size()), many(often.scores.size());
      const auto sums = evaluate_loss(kind, once.rows(classes), once.scores, width, one);
      const auto expected = evaluate_loss(kind, often.rows(classes), often.scores, width, many);
      EXPECT_NEAR(sums.loss_sum, expected.loss_sum, 1e-6 * expected.loss_sum) << name;
      EXPECT_EQ(sums.sample_count, row_total) << name << ": counts are not weighted";
      std::vector<float> plain(once.scores.size());
      auto unweighted = once.rows(classes);
      unweighted.weights = {};
      evaluate_loss(kind, unweighted, once.scores, width, plain);
      for (size_t i = 0; i < one.size(); ++i)
        EXPECT_EQ(one[i], plain[i] * whole_weights[i / width]) << name << i;
    }
}

TEST(row_weights, counts_and_squared_errors_stay_as_they_are) {
  const auto x = weighted(1);
  auto rows = x.rows(false);
  std::vector<float> derivative(x.scores.size());
  const auto sums = evaluate_loss(loss_kind::squared, rows, x.scores, 1, derivative);
  rows.weights = {};
  const auto plain = evaluate_loss(loss_kind::squared, rows, x.scores, 1, derivative);
  EXPECT_NE(sums.loss_sum, plain.loss_sum);
  EXPECT_NEAR(sums.squared_error_sum, plain.squared_error_sum, 1e-6);
}

TEST(row_weights, class_weight_times_row_weight_in_float) {
  // 0.1f * 0.3f is 0.030000001 in float; in double, or the factors one after the other, it is not.
  loss_options loss = loss_kind::categorical_cross_entropy;
  loss.class_weights = {0.1f, 0.7f};
  const std::vector<float> scores{1, 2}, weights{0.3f};
  const std::vector<int32_t> labels{0};
  batch rows{1, {}, labels, {}};
  rows.weights = weights;
  std::vector<float> derivative(2), plain(2);
  const auto sums = evaluate_loss(loss, rows, scores, 2, derivative);
  rows.weights = {};
  const auto unweighted =
    evaluate_loss(loss_kind::categorical_cross_entropy, rows, scores, 2, plain);
  EXPECT_EQ(sums.loss_sum, unweighted.loss_sum * (0.1f * 0.3f));
  EXPECT_EQ(derivative[0], plain[0] * (0.1f * 0.3f));
}

TEST(row_weights, parts_of_scores_weigh_rows_as_whole_ones) {
  const auto x = weighted(2);
  for (const bool classes : {true, false}) {
    loss_options loss = classes ? loss_kind::categorical_cross_entropy : loss_kind::huber;
    if (classes)
      loss.class_weights = {0.5f, 3};
    const auto rows = x.rows(classes);
    std::vector<float> whole(x.scores.size());
    const auto expected = evaluate_loss(loss, rows, x.scores, 2, whole);
    std::vector<std::vector<float>> own(2, std::vector<float>(row_total));
    std::vector<std::vector<float>> words(2, std::vector<float>(row_total * 4));
    std::vector<score_part> parts;
    for (size_t t = 0; t < 2; ++t) {
      for (size_t i = 0; i < row_total; ++i)
        own[t][i] = x.scores[2 * i + t];
      parts.push_back({{t, t + 1}, 2, own[t]});
    }
    batch_sums sums;
    if (!classes) {
      for (const auto& part : parts)
        sums = sums + split_regression(loss, rows, part);
    } else {
      std::vector<part_figures> figures;
      for (size_t t = 0; t < 2; ++t) {
        tell_figures(rows, parts[t], words[t]);
        figures.push_back({parts[t].units, words[t]});
      }
      for (size_t t = 0; t < 2; ++t)
        sums = split_cross_entropy(loss, rows, t, parts[t], figures);
    }
    EXPECT_NEAR(sums.loss_sum, expected.loss_sum, 1e-6);
    EXPECT_EQ(sums.sample_count, row_total);
    for (size_t i = 0; i < row_total; ++i)
      for (size_t t = 0; t < 2; ++t)
        EXPECT_NEAR(own[t][i], whole[2 * i + t], 1e-6);
  }
}

TEST(row_weights, there_is_one_for_each_row) {
  auto x = weighted(1);
  x.weights.pop_back();
  std::vector<float> derivative(row_total);
  EXPECT_THROW(evaluate_loss(loss_kind::squared, x.rows(false), x.scores, 1, derivative),
               std::invalid_argument);
  EXPECT_THROW(split_regression(loss_kind::squared, x.rows(false), {{0, 1}, 1, derivative}),
               std::invalid_argument);
  const std::vector<float> features(row_total, 1);
  auto rows = x.rows(false);
  rows.features = features;
  EXPECT_THROW(least_squares(rows, 1, 1, {false, 0}), std::invalid_argument);
}

TEST(row_weights, go_with_the_rows_of_a_part) {
  const auto x = weighted(1);
  const auto part = part_of(x.rows(false), 2, 3);
  ASSERT_EQ(part.weights.size(), 3u);
  EXPECT_EQ(part.weights[1], whole_weights[3]);
}

TEST(row_weights, solvers_take_a_row_of_weight_two_as_the_row_twice) {
  const size_t count = 40, features = 3;
  std::vector<float> x(count * features), y(count * 2), weights(count);
  fill_normal({1, random_purpose::synthetic_features, 0}, 5, 1, x);
  fill_normal({1, random_purpose::synthetic_targets, 0}, 0, 3, y);
  std::vector<float> often_x, often_y;
  for (size_t i = 0; i < count; ++i) {
    weights[i] = static_cast<float>(i % 3);
    for (size_t n = 0; n < i % 3; ++n) {
      const auto at = static_cast<std::ptrdiff_t>(i);
      often_x.insert(often_x.end(), x.begin() + 3 * at, x.begin() + 3 * at + 3);
      often_y.insert(often_y.end(), y.begin() + 2 * at, y.begin() + 2 * at + 2);
    }
  }
  batch rows{count, x, {}, y}, often{often_y.size() / 2, often_x, {}, often_y};
  rows.weights = weights;
  for (const bool bias : {true, false}) {
    const auto found = least_squares(rows, features, 2, {bias, 0.5});
    const auto expected = least_squares(often, features, 2, {bias, 0.5});
    for (size_t k = 0; k < found.size(); ++k)
      EXPECT_NEAR(found[k], expected[k], 1e-5) << k;
  }
  const neural_network network{{features, 2, {}, activation_kind::relu, loss_kind::squared}};
  std::vector<float> start(network.layout().size()), found(start), expected(start);
  workspace memory;
  gauss_newton_step(network, {0.5}, rows, start, found, memory);
  gauss_newton_step(network, {0.5}, often, start, expected, memory);
  for (size_t k = 0; k < found.size(); ++k)
    EXPECT_NEAR(found[k], expected[k], 1e-5) << k;
  weights.assign(count, 0);
  EXPECT_THROW(least_squares(rows, features, 2, {true, 0.5}), std::invalid_argument);
}

} // namespace
} // namespace troupe::row_weights_test
