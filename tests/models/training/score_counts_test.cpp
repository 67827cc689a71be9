// AUC, calibration and Brier scores against cases worked by hand and against NumPy; whole numbers, in
// whatever order.

#include "troupe/models/training/score_counts.hpp"

#include "troupe/tests/support/reference.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <stdexcept>

namespace troupe {
namespace {

void add(score_counts& out, float probability, size_t label) {
  out.add(std::array{1 - probability, probability}, label);
}

struct reference_case {
  size_t classes;
  std::vector<float> probabilities;
  std::vector<size_t> labels;

  score_counts counted(const std::vector<size_t>& rows) const {
    score_counts result{classes};
    for (const auto i : rows)
      result.add(std::span{probabilities}.subspan(i * classes, classes), labels[i]);
    return result;
  }
};

reference_case case_of(const nlohmann::json& x) {
  return {x["classes"].get<size_t>(), test::flat<float>(x["probabilities"]),
          test::flat<size_t>(x["labels"])};
}

std::vector<size_t> numbers_below(size_t count) {
  std::vector<size_t> result(count);
  for (size_t i = 0; i < count; ++i)
    result[i] = i;
  return result;
}

} // namespace

TEST(score_counts, of_a_case_worked_by_hand) {
  score_counts x{2};
  // Of 2 x 2 pairs three are in order.
  add(x, 0.125f, 0);
  add(x, 0.75f, 0);
  add(x, 0.5f, 1);
  add(x, 0.875f, 1);
  EXPECT_EQ(x.auc(1), (auc_figure{0.75, 0}));
  EXPECT_EQ(x.macro_auc(), (auc_figure{0.75, 0}));
  EXPECT_DOUBLE_EQ(*x.brier(), (0.125 * 0.125 + 0.75 * 0.75 + 0.25 + 0.125 * 0.125) / 4);
  // Likeliest: 0.875 right twice; 0.75 wrong; 0.5 for the first class, wrong.
  EXPECT_DOUBLE_EQ(*x.calibration_error(), (2 * 0.125 + 0.75 + 0.5) / 4);
  EXPECT_EQ(x.confidence_bins()[13].row_count, 2u); // (13, 14] of 15: 0.867 to 0.933
  EXPECT_EQ(x.confidence_bins()[13].confidence(), 0.875);
}

TEST(score_counts, equal_probabilities_are_ties_and_certain_ones_are_told_apart) {
  score_counts x{2};
  add(x, 0.25f, 0);
  add(x, 0.25f, 1);
  EXPECT_EQ(x.auc(1), (auc_figure{0.5, 0.5}));
  score_counts certain{2};
  for (const float p : {1e-9f, 1e-6f, 0.0f})
    add(certain, p, 0);
  for (const float p : {1e-5f, 1 - 1e-6f, 1.0f})
    add(certain, p, 1);
  EXPECT_EQ(certain.auc(1), (auc_figure{1, 0}));
}

TEST(score_counts, agree_with_numpy) {
  for (const auto& reference : test::load_reference("score_counts.json")["cases"]) {
    const auto x = case_of(reference);
    const auto counted = x.counted(numbers_below(x.labels.size()));
    for (size_t c = 0; c < x.classes; ++c) {
      const auto found = *counted.auc(c);
      EXPECT_NEAR(found.value, reference["auc"][c].get<double>(), found.error_max + 1e-12);
      EXPECT_LT(found.error_max, 0.003);
    }
    EXPECT_NEAR(*counted.brier(), reference["brier"].get<double>(), 1e-9);
    EXPECT_NEAR(*counted.calibration_error(), reference["calibration_error"].get<double>(), 1e-9);
  }
}

TEST(score_counts, are_the_same_in_any_order_and_however_cut) {
  std::mt19937 random{5};
  for (const auto& reference : test::load_reference("score_counts.json")["cases"]) {
    const auto x = case_of(reference);
    auto rows = numbers_below(x.labels.size());
    const auto whole = x.counted(rows);
    for (int trial = 0; trial < 10; ++trial) {
      std::ranges::shuffle(rows, random);
      const auto cut = rows.begin() + static_cast<std::ptrdiff_t>(random() % rows.size());
      auto parts = x.counted({cut, rows.end()});
      parts.add(x.counted({rows.begin(), cut}));
      EXPECT_EQ(parts, whole);
    }
  }
}

TEST(score_counts, what_is_no_probability_is_counted_apart) {
  score_counts x{2};
  x.add(std::array{-0.5f, 1.5f}, 0);
  x.add(std::array{0.5f, std::numeric_limits<float>::quiet_NaN()}, 0);
  EXPECT_EQ(x.refused_count(), 2u);
  EXPECT_EQ(x.row_count(), 0u);
  EXPECT_EQ(x.auc(0), std::nullopt);
  EXPECT_EQ(x.macro_auc(), std::nullopt);
  EXPECT_EQ(x.brier(), std::nullopt);
  EXPECT_EQ(x.calibration_error(), std::nullopt);
  EXPECT_THROW(x.add(std::array{1.0f}, 0), std::invalid_argument);
  EXPECT_THROW(add(x, 0.5f, 2), std::invalid_argument);
  EXPECT_THROW(x.add(score_counts{3}), std::invalid_argument);
  EXPECT_THROW(score_counts{1}, std::invalid_argument);
}

} // namespace troupe
