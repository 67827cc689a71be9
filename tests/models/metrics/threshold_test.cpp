// Thresholds against all thresholds there are, and against hand-made rows.

#include "models/metrics/threshold.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace troupe::threshold_test {
namespace {

struct judged {
  std::vector<float> probabilities; ///< N x 2
  std::vector<int32_t> labels;
};

/// Rows with these probabilities of class 1.
judged rows_of(const std::vector<float>& of_one, const std::vector<int32_t>& labels) {
  judged result;
  for (const auto p : of_one)
    result.probabilities.insert(result.probabilities.end(), {1 - p, p});
  result.labels = labels;
  return result;
}

std::optional<decision_threshold> best(const threshold_options& x, const judged& rows,
                                       size_t label = 1) {
  return best_threshold(x, label, rows.probabilities, rows.labels);
}

TEST(threshold, is_the_best_of_those_there_are) {
  // By class 1:                      0.9 yes, 0.75 no, 0.5 yes, 0.25 yes, 0.125 no
  const auto rows = rows_of({0.25f, 0.9f, 0.125f, 0.75f, 0.5f}, {1, 1, 0, 0, 1});
  using enum threshold_kind;
  const struct {
    threshold_options options;
    float expected;
  } cases[] = {
    {{f1}, 0.25f},              // 6 / (6 + 1): 0.86; at 0.9 2 / (2 + 2): 0.5
    {{precision, 0.9}, 0.9f},   // 1 of 1; at 0.25 3 of 4
    {{precision, 0.75}, 0.25f}, //
    {{cost, 0.9, 10}, 0.25f},   // one alarm
    {{cost, 0.9, 0.25}, 0.9f},  // two misses are cheaper than an alarm
  };
  for (const auto& [options, expected] : cases) {
    const auto found = best(options, rows);
    ASSERT_TRUE(found) << name_of(options.threshold);
    EXPECT_EQ(found->probability, expected) << name_of(options.threshold);
    EXPECT_EQ(found->label, 1u);
  }
}

TEST(threshold, of_the_first_class_reads_its_own_probabilities) {
  const auto rows = rows_of({0.25f, 0.75f, 0.125f}, {1, 1, 0});
  const auto found = best({threshold_kind::f1}, rows, 0);
  EXPECT_EQ(found, (decision_threshold{0, 0.875f}));
  EXPECT_EQ(decided_class(std::vector{0.875f, 0.125f}, found), 0u);
  EXPECT_EQ(decided_class(std::vector{0.75f, 0.25f}, found), 1u);
}

TEST(threshold, rows_of_one_probability_are_decided_alike) {
  const auto rows = rows_of({0.5f, 0.5f, 0.5f}, {1, 0, 1});
  EXPECT_FALSE(best({threshold_kind::precision, 0.9}, rows)) << "2 of 3 in any order";
  EXPECT_EQ(best({threshold_kind::precision, 0.6}, rows)->probability, 0.5f);
}

TEST(threshold, there_is_none_where_there_is_nothing_to_choose_by) {
  EXPECT_FALSE(best({}, rows_of({0.5f}, {1}))) << "kind none";
  EXPECT_FALSE(best({threshold_kind::f1}, rows_of({0.5f}, {0}))) << "no row of the class";
  EXPECT_FALSE(best({threshold_kind::cost}, {}));
  EXPECT_EQ(decided_class(std::vector{0.25f, 0.75f}, {}), 1u);
}

TEST(threshold, beats_every_other_one) {
  std::mt19937 random{7};
  std::vector<float> probabilities;
  std::vector<int32_t> labels;
  for (size_t i = 0; i < 500; ++i) {
    const auto p = static_cast<float>(random() % 64) / 64;
    probabilities.push_back(p);
    labels.push_back(static_cast<float>(random() % 1000) / 1000 < p * p ? 1 : 0);
  }
  const auto rows = rows_of(probabilities, labels);
  const auto f1_at = [&](float threshold) {
    double right = 0, wrong = 0;
    for (size_t i = 0; i < labels.size(); ++i) {
      const bool taken = probabilities[i] >= threshold;
      right += taken && labels[i] == 1 ? 1 : 0;
      wrong += taken != (labels[i] == 1) ? 1 : 0;
    }
    return 2 * right / (2 * right + wrong);
  };
  const auto found = best({threshold_kind::f1}, rows)->probability;
  for (int i = 0; i <= 64; ++i)
    EXPECT_GE(f1_at(found), f1_at(static_cast<float>(i) / 64)) << i;
}

} // namespace
} // namespace troupe::threshold_test
