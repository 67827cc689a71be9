#include "models/losses/evaluate_loss.hpp"

#include "models/losses/split_loss.hpp"
#include "tests/support/double_network.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace troupe::loss_test {
namespace {

constexpr auto cross_entropy = loss_kind::categorical_cross_entropy;

struct evaluated {
  batch_sums sums;
  std::vector<float> derivative;
};

evaluated evaluate(const loss_options& loss, const batch& rows, const std::vector<float>& scores,
                   size_t score_count) {
  evaluated result;
  result.derivative.resize(scores.size());
  result.sums = evaluate_loss(loss, rows, scores, score_count, result.derivative);
  return result;
}

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
  const auto [sums, derivative] = evaluate(cross_entropy, {1, {}, labels, {}}, {5, 5, 5, 5}, 4);
  EXPECT_NEAR(sums.loss_sum, std::log(4.0), 1e-12);
  EXPECT_EQ(derivative, (std::vector<float>{0.25f, 0.25f, -0.75f, 0.25f}));
  EXPECT_EQ(sums.correct_count, 0u) << "the first of equal scores is the prediction";
}

TEST(loss, cross_entropy_counts_right_predictions) {
  const std::vector<int32_t> labels{0, 1, 1};
  const auto [sums, derivative] =
    evaluate(cross_entropy, {3, {}, labels, {}}, {3, 1, 0, 2, 4, 2}, 2);
  EXPECT_EQ(sums.correct_count, 2u);
}

TEST(loss, derivatives_match_central_differences) {
  const std::vector<double> four{0.3, -1.2, 2.1, 0.4};
  const std::vector<double> targets{0.1, 0.7, 0.4, 1.5}; // above 0 for gamma
  const std::vector<float> float_targets{targets.begin(), targets.end()};
  const std::vector<int32_t> labels{1};
  for (const auto& [kind, name] : name_table<loss_kind>::entries) {
    const auto scores = is_binary(kind) ? std::vector<double>{0.3} : four;
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
  const auto [sums, derivative] = evaluate(cross_entropy, {1, {}, labels, {}}, {1e30f, -1e30f}, 2);
  EXPECT_FLOAT_EQ(static_cast<float>(sums.loss_sum), 2e30f);
  EXPECT_EQ(derivative, (std::vector<float>{1, -1}));
}

TEST(loss, a_score_that_is_not_finite_makes_the_loss_not_finite) {
  const std::vector<float> targets{0, 0};
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const auto& [kind, name] : name_table<loss_kind>::entries)
    for (float bad : {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity})
      for (size_t place : {0u, 1u}) {
        const size_t columns = is_binary(kind) ? 1 : 2;
        const std::vector<int32_t> labels{columns == 1 ? static_cast<int32_t>(place) : 0};
        std::vector<float> scores(columns);
        scores[place % columns] = bad;
        if (kind == cross_entropy && bad == -infinity && place == 1)
          continue; // a class of probability 0 is no problem while it is not the label
        const auto [sums, derivative] = evaluate(kind, {1, {}, labels, targets}, scores, columns);
        EXPECT_FALSE(std::isfinite(sums.loss_sum)) << name << ' ' << bad << ' ' << place;
      }
}

TEST(loss, regressions_match_hand_worked_rows) {
  // errors 0.5 and -3
  const std::vector<float> targets{1, 4};
  const std::vector<float> scores{1.5f, 1};
  const auto of = [&](const loss_options& loss) {
    return evaluate(loss, {1, {}, {}, targets}, scores, 2);
  };
  const auto absolute = of(loss_kind::absolute);
  EXPECT_EQ(absolute.sums.loss_sum, 3.5 / 2);
  EXPECT_EQ(absolute.sums.squared_error_sum, 9.25);
  EXPECT_EQ(absolute.derivative, (std::vector<float>{0.5f, -0.5f}));
  loss_options huber = loss_kind::huber;
  huber.huber_threshold = 2;
  EXPECT_EQ(of(huber).sums.loss_sum, (0.125 + 2 * (3 - 1)) / 2);
  EXPECT_EQ(of(huber).derivative, (std::vector<float>{0.25f, -1}));
}

TEST(loss, an_exact_hit_has_no_absolute_slope) {
  const std::vector<float> one{1};
  EXPECT_EQ(evaluate(loss_kind::absolute, {1, {}, {}, one}, {1}, 1).derivative[0], 0);
}

TEST(loss, deviances_match_hand_worked_rows) {
  // mean e^0 = 1 against 0 and 3
  const std::vector<float> counts{0, 3};
  const auto poisson = evaluate(loss_kind::poisson, {2, {}, {}, counts}, {0, 0}, 1);
  EXPECT_NEAR(poisson.sums.loss_sum, 2 * 1 + 2 * (3 * std::log(3.0) - 2), 1e-10);
  EXPECT_EQ(poisson.derivative, (std::vector<float>{2, -4}));
  EXPECT_NEAR(poisson.sums.squared_error_sum, 1 + 4, 1e-10) << "errors are those of the means";
  const std::vector<float> amounts{1, 3};
  const auto gamma = evaluate(loss_kind::gamma, {2, {}, {}, amounts}, {0, 0}, 1);
  EXPECT_NEAR(gamma.sums.loss_sum, 0 + 2 * (3 - std::log(3.0) - 1), 1e-10);
  EXPECT_EQ(gamma.derivative, (std::vector<float>{0, -4}));
}

TEST(loss, hinges_match_hand_worked_rows) {
  // signed scores -0.5, 0.25, 1, 2
  const std::vector<int32_t> labels{1, 0, 1, 0};
  const std::vector<float> scores{-0.5f, -0.25f, 1, -2};
  const batch rows{4, {}, labels, {}};
  const auto hinge = evaluate(loss_kind::hinge, rows, scores, 1);
  EXPECT_EQ(hinge.sums.loss_sum, 1.5 + 0.75);
  EXPECT_EQ(hinge.sums.correct_count, 3u);
  EXPECT_EQ(hinge.derivative, (std::vector<float>{-1, 1, 0, 0}));
  const auto squared = evaluate(loss_kind::squared_hinge, rows, scores, 1);
  EXPECT_EQ(squared.sums.loss_sum, 2.25 + 0.5625);
  EXPECT_EQ(squared.derivative, (std::vector<float>{-3, 1.5f, 0, 0}));
}

TEST(loss, a_score_of_zero_is_even_odds_and_predicts_the_first_class) {
  const std::vector<int32_t> labels{0, 1};
  const auto [sums, derivative] =
    evaluate(loss_kind::binary_cross_entropy, {2, {}, labels, {}}, {0, 0}, 1);
  EXPECT_NEAR(sums.loss_sum, 2 * std::log(2.0), 1e-10);
  EXPECT_EQ(derivative, (std::vector<float>{0.5f, -0.5f}));
  EXPECT_EQ(sums.correct_count, 1u);
}

TEST(loss, class_weights_multiply_loss_and_derivative_but_no_count) {
  const std::vector<int32_t> labels{0, 1};
  loss_options loss = loss_kind::hinge;
  loss.class_weights = {3, 0.5f};
  const auto [sums, derivative] = evaluate(loss, {2, {}, labels, {}}, {0, 0}, 1);
  EXPECT_EQ(sums.loss_sum, 3.5);
  EXPECT_EQ(sums.sample_count, 2u);
  EXPECT_EQ(derivative, (std::vector<float>{3, -0.5f}));
  loss.class_weights = {1, 1, 1};
  EXPECT_THROW(evaluate(loss, {2, {}, labels, {}}, {0, 0}, 1), std::invalid_argument);
}

TEST(link, probabilities_and_losses_match_libm) {
  for (const auto& [kind, name] : name_table<link_kind>::entries)
    for (double z = -6; z <= 6; z += 0.37) {
      const auto expected = test::probability_of(kind, z);
      EXPECT_NEAR(link_probability(kind, z), expected, 1e-9) << name << ' ' << z;
      const auto [value, slope] = cross_entropy_of(kind, z);
      EXPECT_NEAR(value, -std::log(expected), 1e-6 * std::max(1.0, value)) << name << ' ' << z;
      const auto log_p = [&](double s) { return -std::log(test::probability_of(kind, s)); };
      EXPECT_NEAR(slope, (log_p(z + 1e-5) - log_p(z - 1e-5)) / 2e-5, 1e-4 * std::abs(slope) + 1e-6)
        << name << ' ' << z;
    }
}

TEST(link, far_scores_have_finite_losses_that_grow) {
  for (const auto& [kind, name] : name_table<link_kind>::entries) {
    double before = 0;
    for (double z : {-1.0, -20.0, -29.9, -30.1, -100.0, -1e4, -1e10, -1e30}) {
      const auto wrong = cross_entropy_of(kind, z);
      EXPECT_TRUE(std::isfinite(wrong.value) && wrong.value > before) << name << ' ' << z;
      EXPECT_TRUE(std::isfinite(wrong.derivative) && wrong.derivative < 0) << name << ' ' << z;
      before = wrong.value;
      const auto right = cross_entropy_of(kind, -z);
      EXPECT_TRUE(right.value >= 0 && right.value < 0.7) << name << ' ' << z;
      EXPECT_LE(right.derivative, 0) << name << ' ' << z;
    }
  }
}

TEST(link, losses_of_far_scores_match_hand_worked_limits) {
  // e^-40 is lost beside 1, but the tail's logarithm is known: P(-40) for each link.
  const double pi = std::acos(-1.0);
  EXPECT_NEAR(cross_entropy_of(link_kind::sigmoid, -40).value, 40, 1e-9);
  EXPECT_NEAR(cross_entropy_of(link_kind::tanh, -40).value, 80, 1e-9);
  EXPECT_NEAR(cross_entropy_of(link_kind::softsign, -40).value, std::log(82.0), 1e-12);
  EXPECT_NEAR(cross_entropy_of(link_kind::algebraic, -40).value,
              std::log(2 * std::sqrt(1601.0) * (std::sqrt(1601.0) + 40)), 1e-12);
  EXPECT_NEAR(cross_entropy_of(link_kind::arctan, -40).value,
              -std::log(std::atan(1 / (20 * pi)) / pi), 1e-12);
  EXPECT_NEAR(cross_entropy_of(link_kind::gudermannian, -40).value, 20 * pi - std::log(2 / pi),
              1e-9);
  // Mills' ratio: Phi(-x) = phi(x) / x (1 - 1 / x^2 + 3 / x^4 - 15 / x^6 ...)
  const double series = 1 - 1 / 1600.0 + 3 / 2.56e6 - 15 / 4.096e9;
  EXPECT_NEAR(cross_entropy_of(link_kind::probit, -40).value,
              800 + std::log(2 * pi) / 2 + std::log(40) - std::log(series), 1e-9);
}

TEST(predictions, are_what_the_loss_speaks_of) {
  const std::vector<float> score{std::log(3.0f)};
  std::vector<float> two(2), one(1);
  predict_from_scores(loss_kind::binary_cross_entropy, score, 1, two);
  EXPECT_NEAR(two[0], 0.25, 1e-7);
  EXPECT_NEAR(two[1], 0.75, 1e-7);
  predict_from_scores(loss_kind::hinge, score, 1, two);
  EXPECT_EQ(two, (std::vector<float>{-score[0], score[0]}));
  predict_from_scores(loss_kind::poisson, score, 1, one);
  EXPECT_NEAR(one[0], 3, 1e-6);
  predict_from_scores(loss_kind::absolute, score, 1, one);
  EXPECT_EQ(one[0], score[0]);
  EXPECT_THROW(predict_from_scores(loss_kind::hinge, score, 1, one), std::invalid_argument);
}

TEST(loss, shapes_and_labels_are_checked) {
  const std::vector<int32_t> labels{2};
  std::vector<float> scores{1, 2};
  EXPECT_THROW(evaluate(cross_entropy, {1, {}, labels, {}}, scores, 2), std::invalid_argument);
  EXPECT_THROW(evaluate(cross_entropy, {1, {}, {}, {}}, scores, 2), std::invalid_argument);
  EXPECT_THROW(evaluate(loss_kind::squared, {1, {}, {}, {}}, scores, 2), std::invalid_argument);
  EXPECT_THROW(evaluate(loss_kind::squared, {2, {}, {}, scores}, scores, 2), std::invalid_argument);
  EXPECT_THROW(evaluate(loss_kind::hinge, {2, {}, labels, {}}, scores, 1), std::invalid_argument);
  EXPECT_THROW(evaluate(loss_kind::hinge, {1, {}, labels, {}}, scores, 2), std::invalid_argument);
  EXPECT_THROW(evaluate(loss_kind::hinge, {1, {}, labels, {}}, {1}, 1), std::invalid_argument)
    << "label 2 of two";
}

TEST(softmax, turns_rows_into_probabilities) {
  std::vector<float> scores{0, std::log(3.0f), 7, 7};
  softmax_rows(scores, 2);
  EXPECT_NEAR(scores[0], 0.25, 1e-7);
  EXPECT_NEAR(scores[1], 0.75, 1e-7);
  EXPECT_EQ(scores[2], 0.5f);
}

constexpr float infinity = std::numeric_limits<float>::infinity();

/// One row of scores, cut before these units.
evaluated split(const std::vector<float>& scores, int32_t label,
                const std::vector<size_t>& bounds) {
  const std::vector<int32_t> labels{label};
  const batch rows{1, {}, labels, {}};
  evaluated result{{}, scores};
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
      const auto sums = split_cross_entropy(cross_entropy, rows, t, parts[t], figures);
      EXPECT_TRUE(t == 0 || parts[0].units.empty() || sums == result.sums)
        << "every part says the same";
      result.sums = sums;
    }
  return result;
}

evaluated whole(const std::vector<float>& scores, int32_t label) {
  const std::vector<int32_t> labels{label};
  return evaluate(cross_entropy, {1, {}, labels, {}}, scores, scores.size());
}

void expect_split_as_whole(const std::vector<float>& scores, int32_t label,
                           const std::vector<size_t>& bounds = {0, 2, 4}) {
  const auto actual = split(scores, label, bounds), expected = whole(scores, label);
  EXPECT_NEAR(actual.sums.loss_sum, expected.sums.loss_sum,
              1e-6 * (1 + std::abs(expected.sums.loss_sum)));
  EXPECT_EQ(actual.sums.correct_count, expected.sums.correct_count);
  EXPECT_EQ(actual.sums.sample_count, 1u);
  for (size_t j = 0; j < expected.derivative.size(); ++j)
    EXPECT_NEAR(actual.derivative[j], expected.derivative[j], 1e-6) << j;
}

// torch.nn.functional.cross_entropy(torch.tensor([[1., 2., 3., 4.]]), torch.tensor([1])): 2.440190
TEST(split_loss, a_hand_worked_row_cut_in_every_way) {
  for (int32_t label = 0; label < 4; ++label)
    for (const auto& bounds : std::vector<std::vector<size_t>>{
           {0, 4}, {0, 2, 4}, {0, 1, 4}, {0, 3, 3, 4}, {0, 0, 1, 2, 3, 4}, {0, 4, 4}})
      expect_split_as_whole({1, 2, 3, 4}, label, bounds);
  EXPECT_NEAR(split({1, 2, 3, 4}, 1, {0, 2, 4}).sums.loss_sum, 2.440190, 1e-6);
}

TEST(split_loss, the_first_of_equal_scores_wins_in_whichever_part) {
  for (int32_t label = 0; label < 4; ++label) {
    expect_split_as_whole({2, 2, 2, 2}, label);
    expect_split_as_whole({1, 5, 5, 1}, label);
  }
  EXPECT_EQ(split({1, 5, 5, 1}, 1, {0, 2, 4}).sums.correct_count, 1u);
  EXPECT_EQ(split({1, 5, 5, 1}, 2, {0, 2, 4}).sums.correct_count, 0u);
}

TEST(split_loss, far_scores_and_infinities_are_those_of_the_whole) {
  expect_split_as_whole({-200, 100, -300, 90}, 3);
  expect_split_as_whole({-infinity, -infinity, 1, 2}, 2);
  expect_split_as_whole({1, 2, -infinity, 0}, 0);
}

TEST(split_loss, what_is_not_a_number_makes_no_number_in_every_part) {
  const float nan = std::nanf("");
  for (const auto& scores : std::vector<std::vector<float>>{
         {nan, 1, 2, 3}, {1, 2, nan, 3}, {1, infinity, 2, 3}, std::vector<float>(4, -infinity)})
    EXPECT_FALSE(std::isfinite(split(scores, 1, {0, 2, 4}).sums.loss_sum));
}

// Hand-worked: three targets, squared; the mean is over all three.
TEST(split_loss, parts_of_a_regression_are_shares_of_the_mean_over_all_targets) {
  const std::vector<float> targets{1, 2, 3};
  std::vector<float> left{2, 4}, right{6};
  const batch rows{1, {}, {}, targets};
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
  const batch rows{1, {}, labels, {}};
  std::vector<float> scores{1, 2}, figures(4);
  EXPECT_THROW(tell_figures(rows, {{0, 2}, 4, scores}, figures), std::invalid_argument);
  EXPECT_THROW(tell_figures(rows, {{0, 3}, 5, scores}, figures), std::invalid_argument);
  EXPECT_THROW(split_regression(loss_kind::squared, rows, {{0, 2}, 4, scores}),
               std::invalid_argument);
}

} // namespace
} // namespace troupe::loss_test
