// Parts of a sequence of rows.

#include "troupe/data/training_rows/position_split.hpp"

#include "troupe/data/text/failure.hpp"
#include "troupe/data/training_rows/prepare.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace troupe::position_split_test {

namespace {

/// "TTTT-VV-EEE": training, validation, testing, none.
std::string picture(size_t rows, size_t overlap, part_fractions fractions, fold_choice fold = {}) {
  const position_split parts{rows, overlap, fractions, fold};
  std::string result;
  for (size_t row = 0; row < rows; ++row)
    result += "TEV-"[static_cast<size_t>(parts.of(row))];
  const auto count = [&](char part) {
    return static_cast<size_t>(std::ranges::count(result, part));
  };
  EXPECT_EQ(parts.sizes().test, count('E'));
  EXPECT_EQ(parts.sizes().validation, count('V'));
  EXPECT_EQ(parts.sizes().none, count('-'));
  return result;
}

/// Rows "0", "1", .. of one feature, their number.
dataset sequence(size_t rows, size_t overlap) {
  dataset result;
  result.row_count = rows;
  result.feature_count = 1;
  result.features.resize(rows);
  std::iota(result.features.begin(), result.features.end(), 0.0f);
  result.feature_names = {"c0"};
  result.classes = {"a", "b"};
  result.labels.resize(rows);
  result.target_names = {"next"};
  result.overlap = overlap;
  return result;
}

} // namespace

TEST(position_split, the_last_rows_are_for_testing_and_those_before_for_validation) {
  EXPECT_EQ(picture(10, 0, {0.2, 0.3}), "TTTTTVVVEE");
  EXPECT_EQ(picture(12, 1, {0.25, 0.25}), "TTTT-VVV-EEE");
  EXPECT_EQ(picture(12, 2, {0.25, 0}), "TTTTTTT--EEE");
  EXPECT_EQ(picture(12, 2, {0, 0.25}), "TTTTTTT--VVV");
  EXPECT_EQ(picture(5, 3, {0, 0}), "TTTTT");
}

TEST(position_split, folds_are_stretches_with_training_rows_on_both_sides) {
  EXPECT_EQ(picture(12, 1, {0, 0}, {0, 4}), "VVV-TTTTTTTT");
  EXPECT_EQ(picture(12, 1, {0, 0}, {1, 4}), "TT-VVV-TTTTT");
  EXPECT_EQ(picture(12, 1, {0, 0}, {3, 4}), "TTTTTTTT-VVV");
  EXPECT_EQ(picture(12, 1, {0.25, 0}, {1, 2}), "TTT-VVVV-EEE");
}

// What parts are for: any two rows of different parts are further from each other than rows that share something.
TEST(position_split, no_two_parts_share_anything) {
  for (const size_t overlap : {0, 1, 3, 7})
    for (size_t rows = 40; rows < 60; ++rows)
      for (const size_t folds : {0, 3}) {
        const auto text = picture(rows, overlap, {0.2, folds == 0 ? 0.2 : 0}, {1, folds});
        for (size_t i = 0; i < rows; ++i)
          for (size_t j = i + 1; j <= std::min(rows - 1, i + overlap); ++j)
            EXPECT_TRUE(text[i] == text[j] || text[i] == '-' || text[j] == '-') << text;
      }
}

TEST(position_split, parts_that_leave_nothing_are_refused) {
  EXPECT_THROW(picture(10, 8, {0.2, 0}), failure);
  EXPECT_THROW(picture(10, 3, {0.3, 0.3}), failure);
  EXPECT_THROW(picture(3, 0, {0, 0}, {0, 4}), failure);
  EXPECT_EQ(picture(10, 7, {0.2, 0}), "T-------EE");
}

TEST(position_split, prepared_rows_are_those_of_their_parts) {
  prepare_options options;
  options.test_fraction = options.validation_fraction = 0.25;
  const auto data = prepare(sequence(12, 1), options);
  EXPECT_EQ(data.train.features, (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(data.validation.features, (std::vector<float>{5, 6, 7}));
  EXPECT_EQ(data.test.features, (std::vector<float>{9, 10, 11}));
  EXPECT_EQ(data.train.row_count, 4u);
  EXPECT_EQ(data.train.labels.size(), 4u);
  EXPECT_EQ(*data.source_rows, (std::vector<uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(data.split_words, "by position; 2 rows between the parts are of none, so that no two "
                              "parts share a character");
  EXPECT_FALSE(data.train.overlap);
  EXPECT_TRUE(data.row_names.empty());
  options.seed = 9;
  EXPECT_EQ(prepare(sequence(12, 1), options).train.features, data.train.features);
}

TEST(position_split, the_same_rows_without_an_order_are_another_content) {
  auto free = sequence(12, 1);
  free.overlap = {};
  EXPECT_NE(content_fingerprint(free), content_fingerprint(sequence(12, 1)));
}

} // namespace troupe::position_split_test
