// Splits by classes, groups and folds: shares, wholeness, and that they follow from (seed, row) or
// (seed, the text of a group) alone.

#include "data/text/failure.hpp"
#include "data/training_rows/prepare.hpp"
#include "data/training_rows/row_split.hpp"
#include "tests/support/failure_of.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

namespace troupe::row_split_test {
namespace {

dataset rows_of_classes(const std::vector<size_t>& counts) {
  dataset x;
  size_t most = 0;
  for (size_t c = 0; c < counts.size(); ++c) {
    x.classes.push_back("c" + std::to_string(c));
    most = std::max(most, counts[c]);
  }
  for (size_t i = 0; i < most; ++i) // mixed, so that a class is no range of rows
    for (size_t c = 0; c < counts.size(); ++c)
      if (i < counts[c])
        x.labels.push_back(static_cast<int32_t>(c));
  x.row_count = x.labels.size();
  return x;
}

/// Row i is of group names[of(i)].
template <class Of>
dataset rows_of_groups(size_t count, const std::vector<std::string>& names, Of of) {
  dataset x;
  x.row_count = count;
  x.target_count = 1;
  x.group_names = names;
  for (size_t i = 0; i < count; ++i)
    x.groups.push_back(static_cast<uint32_t>(of(i)));
  return x;
}

std::vector<std::string> names(size_t count) {
  std::vector<std::string> result;
  for (size_t i = 0; i < count; ++i)
    result.push_back("g" + std::to_string(100 + i));
  return result;
}

/// Rows of each class in a part.
std::vector<size_t> counts_in(const dataset& rows, const row_split& split, row_part part) {
  std::vector<size_t> result(rows.classes.size());
  for (size_t i = 0; i < rows.row_count; ++i)
    if (split.parts[i] == part)
      ++result[static_cast<size_t>(rows.labels[i])];
  return result;
}

std::string key_of_failure(const dataset& rows, uint64_t seed, const part_options& options) {
  return test::failure_of([&] { split_rows(rows, seed, options); }, "").where();
}

using counts = std::vector<size_t>;

TEST(row_split, classes_keep_their_shares_and_remainders_go_to_the_largest) {
  // 0.1 of 57, 38 and 5 is 5.7, 3.8 and 0.5: floors make 8 of 10, the larger remainders the rest.
  const auto rows = rows_of_classes({57, 38, 5});
  const auto split = split_rows(rows, 3, {0.1, 0.2, true});
  EXPECT_EQ(counts_in(rows, split, row_part::test), (counts{6, 4, 0}));
  // 11.4, 7.6 and 1: one is left after floors.
  EXPECT_EQ(counts_in(rows, split, row_part::validation), (counts{11, 8, 1}));
  EXPECT_EQ(split.sizes.test, 10u);
  EXPECT_EQ(split.sizes.validation, 20u);
  EXPECT_EQ(split.words, "by class");
}

TEST(row_split, equal_remainders_go_by_the_number_of_the_class) {
  // 0.2 of 2, 7 and 12 is 0.4 above a whole number, and as doubles the third is above it the most.
  const auto rows = rows_of_classes({2, 7, 12});
  EXPECT_EQ(counts_in(rows, split_rows(rows, 3, {0.2, 0, true}), row_part::test),
            (counts{1, 1, 2}));
  const auto even = rows_of_classes({5, 5, 5, 5});
  EXPECT_EQ(counts_in(even, split_rows(even, 3, {0.1, 0, true}), row_part::test),
            (counts{1, 1, 0, 0}));
}

TEST(row_split, a_class_keeps_a_row_for_training) {
  for (const auto& [classes, fractions] :
       {std::pair{counts{1, 1, 2, 8}, part_options{0.4, 0.4, true}},
        {counts{2, 98}, part_options{0.25, 0.5, true}}}) {
    const auto rows = rows_of_classes(classes);
    const auto split = split_rows(rows, 3, fractions);
    for (const auto count : counts_in(rows, split, row_part::train))
      EXPECT_GE(count, 1u);
  }
}

TEST(row_split, of_a_class_the_smallest_keys_are_taken) {
  const auto rows = rows_of_classes({40, 60});
  const auto split = split_rows(rows, 9, {0.25, 0.1, true});
  for (int32_t c = 0; c < 2; ++c) {
    std::map<row_place, row_part> by_key;
    for (size_t i = 0; i < rows.row_count; ++i)
      if (rows.labels[i] == c)
        by_key[place_of(9, i)] = split.parts[i];
    std::vector<int> order; // test, then validation, then training
    for (const auto& [key, part] : by_key)
      order.push_back(part == row_part::test ? 0 : part == row_part::validation ? 1 : 2);
    EXPECT_TRUE(std::ranges::is_sorted(order));
  }
  EXPECT_NE(split.parts, split_rows(rows, 8, {0.25, 0.1, true}).parts) << "another seed";
  EXPECT_EQ(counts_in(rows, split_rows(rows, 9, {0.25, 0, true}), row_part::test),
            counts_in(rows, split, row_part::test))
    << "validation does not move the test rows";
}

TEST(row_split, each_row_is_in_one_fold_and_folds_are_even) {
  const auto rows = rows_of_classes({33, 20, 7});
  for (const bool by_class : {false, true}) {
    std::vector<int> seen(rows.row_count);
    std::vector<row_part> test;
    for (size_t fold = 0; fold < 4; ++fold) {
      const auto split = split_rows(rows, 5, {0.2, 0, by_class, 4, fold});
      EXPECT_EQ(split.sizes.test, 12u);
      EXPECT_EQ(split.sizes.validation, 12u) << "48 rows in 4 folds";
      for (size_t i = 0; i < rows.row_count; ++i)
        seen[i] += split.parts[i] == row_part::test         ? 100
                   : split.parts[i] == row_part::validation ? 1
                                                            : 0;
      if (!by_class)
        continue;
      const auto all = counts_in(rows, split, row_part::validation);
      const auto tested = counts_in(rows, split, row_part::test);
      for (size_t c = 0; c < 3; ++c) {
        const auto left = static_cast<double>(counts{33, 20, 7}[c] - tested[c]);
        EXPECT_LT(std::abs(static_cast<double>(all[c]) - left / 4), 1.0) << c;
      }
    }
    for (const auto count : seen)
      EXPECT_TRUE(count == 1 || count == 400) << "once for validation, or always for testing";
  }
  EXPECT_EQ(split_rows(rows, 5, {0, 0, true, 4, 1}).words,
            "by class; fold 1 of 4 (from 0) for validation");
}

TEST(row_split, test_rows_of_folds_are_those_without) {
  const auto rows = rows_of_classes({30, 30});
  const part_choice plain{5, 60, {12, 0}};
  const auto split = split_rows(rows, 5, {0.2, 0, false, 3, 0});
  for (size_t i = 0; i < 60; ++i)
    EXPECT_EQ(split.parts[i] == row_part::test, plain.of(i) == row_part::test);
}

TEST(row_split, groups_stay_whole_and_within_their_share) {
  const auto rows = rows_of_groups(300, names(30), [](size_t i) { return i * i % 30; });
  const auto split = split_rows(rows, 2, {0.3, 0.2});
  std::map<uint32_t, std::set<row_part>> parts;
  for (size_t i = 0; i < 300; ++i)
    parts[rows.groups[i]].insert(split.parts[i]);
  for (const auto& [group, found] : parts)
    EXPECT_EQ(found.size(), 1u) << group;
  EXPECT_LE(split.sizes.test, 90u);
  EXPECT_GT(split.sizes.test, 30u);
  EXPECT_LE(split.sizes.validation, 60u);
  EXPECT_GT(split.sizes.validation, 0u);
  EXPECT_NE(split.words.find(" groups for testing, "), split.words.npos) << split.words;
}

TEST(row_split, a_group_is_known_by_its_text) {
  // The same groups under other numbers, as a group more that sorts first makes them.
  auto rows = rows_of_groups(200, names(20), [](size_t i) { return i % 20; });
  auto other = rows;
  std::ranges::reverse(other.group_names);
  for (auto& group : other.groups)
    group = 19 - group;
  EXPECT_EQ(split_rows(rows, 2, {0.3, 0.2}).parts, split_rows(other, 2, {0.3, 0.2}).parts);
  EXPECT_NE(split_rows(rows, 2, {0.3, 0.2}).parts, split_rows(rows, 3, {0.3, 0.2}).parts);
}

TEST(row_split, each_group_is_in_one_fold) {
  const auto rows = rows_of_groups(300, names(30), [](size_t i) { return i * i % 30; });
  std::map<uint32_t, std::set<size_t>> folds;
  for (size_t fold = 0; fold < 3; ++fold) {
    const auto split = split_rows(rows, 2, {0.2, 0, false, 3, fold});
    EXPECT_NEAR(static_cast<double>(split.sizes.validation),
                static_cast<double>(300 - split.sizes.test) / 3, 40.0);
    for (size_t i = 0; i < 300; ++i)
      if (split.parts[i] != row_part::train)
        folds[rows.groups[i]].insert(split.parts[i] == row_part::test ? 9 : fold);
  }
  size_t in_one = 0;
  for (const auto& [group, found] : folds)
    in_one += found.size() == 1 ? 1 : 0;
  EXPECT_EQ(in_one, std::set<uint32_t>(rows.groups.begin(), rows.groups.end()).size());
}

TEST(row_split, what_cannot_be_split_is_told_by_its_key) {
  const auto numbers = rows_of_groups(10, {}, [](size_t) { return 0; });
  auto plain = numbers;
  plain.groups.clear();
  EXPECT_EQ(key_of_failure(plain, 1, {0.2, 0, true}), "data.stratify");
  EXPECT_EQ(key_of_failure(plain, 1, {0.5, 0, false, 6, 0}), "data.folds");
  EXPECT_EQ(key_of_failure(plain, 1, {0.5, 0, false, 5, 0}), "");
  const auto few = rows_of_groups(10, {"a", "b"}, [](size_t i) { return i % 2; });
  EXPECT_EQ(key_of_failure(few, 1, {0.4}), "data.split_by") << "five rows are more than four";
  EXPECT_EQ(key_of_failure(few, 1, {0.5}), "");
  EXPECT_EQ(key_of_failure(few, 1, {0, 0, false, 3, 0}), "data.folds");
}

/// "TTTT-VV-EEE": training, validation, testing, none.
std::string picture(size_t rows, size_t overlap, const part_options& options) {
  const position_split parts{rows, overlap, options};
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

TEST(position_split, the_last_rows_are_for_testing_and_those_before_for_validation) {
  EXPECT_EQ(picture(10, 0, {0.2, 0.3}), "TTTTTVVVEE");
  EXPECT_EQ(picture(12, 1, {0.25, 0.25}), "TTTT-VVV-EEE");
  EXPECT_EQ(picture(12, 2, {0.25, 0}), "TTTTTTT--EEE");
  EXPECT_EQ(picture(12, 2, {0, 0.25}), "TTTTTTT--VVV");
  EXPECT_EQ(picture(5, 3, {}), "TTTTT");
}

TEST(position_split, folds_are_stretches_with_training_rows_on_both_sides) {
  EXPECT_EQ(picture(12, 1, {0, 0, false, 4, 0}), "VVV-TTTTTTTT");
  EXPECT_EQ(picture(12, 1, {0, 0, false, 4, 1}), "TT-VVV-TTTTT");
  EXPECT_EQ(picture(12, 1, {0, 0, false, 4, 3}), "TTTTTTTT-VVV");
  EXPECT_EQ(picture(12, 1, {0.25, 0, false, 2, 1}), "TTT-VVVV-EEE");
}

// What parts are for: any two rows of different parts are further from each other than rows that share something.
TEST(position_split, no_two_parts_share_anything) {
  for (const size_t overlap : {0, 1, 3, 7})
    for (size_t rows = 40; rows < 60; ++rows)
      for (const size_t folds : {0, 3}) {
        const auto text = folds == 0 ? picture(rows, overlap, {0.2, 0.2})
                                     : picture(rows, overlap, {0.2, 0, false, folds, 1});
        for (size_t i = 0; i < rows; ++i)
          for (size_t j = i + 1; j <= std::min(rows - 1, i + overlap); ++j)
            EXPECT_TRUE(text[i] == text[j] || text[i] == '-' || text[j] == '-') << text;
      }
}

TEST(position_split, parts_that_leave_nothing_are_refused) {
  EXPECT_THROW(picture(10, 8, {0.2, 0}), failure);
  EXPECT_THROW(picture(10, 3, {0.3, 0.3}), failure);
  EXPECT_THROW(picture(3, 0, {0, 0, false, 4, 0}), failure);
  EXPECT_EQ(picture(10, 7, {0.2, 0}), "T-------EE");
}

TEST(position_split, prepared_rows_are_those_of_their_parts) {
  prepare_options options;
  options.parts = {0.25, 0.25};
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

} // namespace
} // namespace troupe::row_split_test
