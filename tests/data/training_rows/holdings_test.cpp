#include "data/training_rows/holdings.hpp"

#include "data/text/failure.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/failure_of.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace troupe::holdings_test {
namespace {

using texts = std::vector<std::string>;
using numbers = std::vector<float>;
constexpr float gap = std::numeric_limits<float>::quiet_NaN();

/// A row for each value, of columns x and, three times as much, y; its target is ten times as much.
holding some(const std::string& name, const numbers& values) {
  holding result{name, {}, name};
  auto& rows = result.rows;
  rows.row_count = values.size();
  rows.feature_count = 2;
  rows.feature_names = {"x", "y"};
  rows.target_count = 1;
  rows.target_names = {"t"};
  for (const auto value : values) {
    rows.features.insert(rows.features.end(), {value, 3 * value});
    rows.targets.push_back(10 * value);
  }
  return result;
}

holding labelled(const std::string& name, const texts& classes) {
  holding result = some(name, numbers(classes.size(), 1));
  result.rows.targets.clear();
  result.rows.target_count = 0;
  result.rows.classes = classes;
  result.rows.labels.resize(classes.size());
  std::iota(result.rows.labels.begin(), result.rows.labels.end(), 0);
  return result;
}

/// One column of categories, in this order.
holding categories(const std::string& name, const texts& found) {
  holding result = some(name, {1});
  result.rows.columns.columns = {{"city", column_kind::category, found}};
  result.rows.feature_names = feature_names_of(result.rows.columns);
  result.rows.feature_count = found.size();
  result.rows.features.assign(found.size(), 0);
  return result;
}

failure refusal(const std::vector<holding>& holdings, size_t categories_max = 1000) {
  return test::failure_of([&] { agreed_table(holdings, categories_max); });
}

TEST(holdings, stand_by_fingerprint_and_copies_count_once) {
  std::vector all{some("z", {1}), some("copy", {2}), some("a", {3}), some("b", {2})};
  all[1].fingerprint = all[3].fingerprint = "m";
  const auto remarks = sort_holdings(all);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].name, "a");
  EXPECT_EQ(all[1].name, "b");
  EXPECT_EQ(all[2].name, "z");
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_TRUE(test::contains(remarks[0], "copy: these are the rows of b"));
}

TEST(agreed_table, has_the_columns_of_the_first_and_the_classes_of_all) {
  auto one = labelled("one", {"cat", "emu"}), other = labelled("other", {"bat"});
  other.rows.feature_names = {"y", "x"};
  const auto table = agreed_table({one, other}, 10);
  EXPECT_EQ(table.feature_names, (texts{"x", "y"}));
  EXPECT_EQ(table.classes, (texts{"bat", "cat", "emu"}));
  EXPECT_EQ(table.row_count, 0u);
  EXPECT_FALSE(differs(one.rows, table));
  EXPECT_TRUE(differs(other.rows, table));
  EXPECT_EQ(agreed_table({labelled("a", {"2", "10"}), labelled("b", {"2.0", "9"})}, 10).classes,
            (texts{"2", "9", "10"}))
    << "numbers are in order, and one value is one class";
  EXPECT_EQ(agreed_table({labelled("a", {"2", "10"}), labelled("b", {"x"})}, 10).classes,
            (texts{"10", "2", "x"}));
}

TEST(agreed_table, has_the_categories_of_all) {
  const std::vector both{categories("a", {"Oslo", "Rome"}), categories("b", {"Bergen", "Rome"})};
  EXPECT_EQ(agreed_table(both, 3).feature_names, (texts{"city=Bergen", "city=Oslo", "city=Rome"}));
  const auto refused = refusal(both, 2);
  EXPECT_EQ(refused.code(), failure_code::bad_job);
  EXPECT_EQ(refused.where(), "data.categories_max");
  EXPECT_TRUE(test::contains(refused.reason(), "3 categories"));
}

TEST(agreed_table, names_who_does_not_fit_and_why) {
  auto less = some("less", {1}), amounts = categories("amounts", {"1"}),
       sparse = some("sparse", {1});
  less.rows.feature_names = {"x", "z"};
  auto refused = refusal({some("first", {1}), less});
  EXPECT_EQ(refused.where(), "less");
  EXPECT_TRUE(test::contains(refused.reason(), "'y'"));
  less.rows.feature_names = {"x", "y", "z"};
  refused = refusal({some("first", {1}), less});
  EXPECT_EQ(refused.where(), "first") << "who lacks a column is to get it";
  auto twice = some("twice", {1});
  twice.rows.feature_names = {"x", "x"};
  EXPECT_EQ(refusal({some("first", {1}), twice}).where(), "twice");
  EXPECT_EQ(refusal({some("first", {1}), categories("planned", {"1"})}).where(), "planned");
  amounts.rows.columns.columns[0] = {"city", column_kind::amount};
  EXPECT_EQ(refusal({categories("first", {"1"}), amounts}).where(), "amounts");
  sparse.rows.sparse.starts = {0, 0};
  EXPECT_EQ(refusal({some("first", {1}), sparse}).where(), "sparse");
  auto other_target = some("target", {1});
  other_target.rows.target_names = {"u"};
  EXPECT_TRUE(test::contains(refusal({some("first", {1}), other_target}).reason(), "'u'"));
  EXPECT_TRUE(test::contains(refusal({labelled("a", {"x"}), labelled("b", {"x"})}).reason(),
                             "fewer than two classes"));
}

TEST(by_form, gives_rows_the_columns_of_the_form_lent_or_not) {
  auto form = some("form", {1}).rows;
  form.feature_names = {"y", "x"};
  auto own = some("own", {1, 2}).rows;
  EXPECT_EQ(by_form(own, form).features, (numbers{3, 1, 6, 2}));
  const auto values = own.features;
  own.features.clear();
  own.lent = {values, {1, 0}};
  const auto found = by_form(own, form);
  EXPECT_EQ(found.features, (numbers{6, 2, 3, 1}));
  EXPECT_FALSE(found.lent.exist());
  EXPECT_EQ(found.feature_names, form.feature_names);
  EXPECT_EQ(by_form(own, {}).features, (numbers{2, 6, 1, 3})) << "as they are";
  form.feature_names = {"y", "z"};
  EXPECT_TRUE(test::contains(test::failure_of([&] { by_form(own, form); }).reason(), "'z'"));
}

TEST(prepare_holdings, scales_by_the_training_rows_of_all) {
  const std::vector all{some("a", {0, 2}), some("b", {4, 6, 8})};
  const auto table = agreed_table(all, 1);
  prepare_options options;
  options.standardize = true;
  options.target_scale = target_scale_kind::standardize;
  const auto result = prepare_holdings(all, table, options);
  // Of 0, 2, 4, 6, 8 the mean is 4 and the variance 8.
  EXPECT_FLOAT_EQ(result.features.mean[0], 4);
  EXPECT_FLOAT_EQ(result.features.deviation[1], static_cast<float>(3 * std::sqrt(8.0)));
  EXPECT_FLOAT_EQ(result.scale.mean[0], 40);
  EXPECT_FLOAT_EQ(result.scale.deviation[0], static_cast<float>(10 * std::sqrt(8.0)));
  ASSERT_EQ(result.train.row_count, 5u);
  EXPECT_FLOAT_EQ(result.train.features[2 * 3], static_cast<float>((6 - 4) / std::sqrt(8.0)));
  EXPECT_EQ(result.train.targets, (numbers{0, 20, 40, 60, 80})) << "targets stay as they are";
  ASSERT_EQ(result.holdings.size(), 2u);
  EXPECT_EQ(result.holdings[1].size, (holding_size{3, 0, 0}));
}

TEST(prepare_holdings, fills_gaps_by_the_mean_of_all_and_counts_it) {
  std::vector all{some("a", {0, 2}), some("b", {4, 6})};
  for (auto& one : all) {
    one.rows.columns.columns = {{"x"}, {"y"}};
    one.rows.columns.missing = missing_rule::mean;
  }
  all[0].rows.features[2] = gap; // the 2
  prepare_options options;
  options.standardize = true;
  const auto result = prepare_holdings(all, agreed_table(all, 1), options);
  const float mean = 10.0f / 3;
  EXPECT_FLOAT_EQ(result.train.columns.fill[0], mean);
  EXPECT_FLOAT_EQ(result.features.mean[0], mean);
  const double squares = (mean * mean + (4 - mean) * (4 - mean) + (6 - mean) * (6 - mean)) / 4;
  EXPECT_FLOAT_EQ(result.features.deviation[0], static_cast<float>(std::sqrt(squares)));
  EXPECT_FLOAT_EQ(result.train.features[2], 0) << "the gap is the mean";
}

TEST(prepare_holdings, each_is_split_by_itself_and_keeps_its_place) {
  numbers many(50), few(10);
  std::iota(many.begin(), many.end(), 0.0f);
  std::iota(few.begin(), few.end(), 100.0f);
  prepare_options options;
  options.seed = 3;
  options.parts.test_fraction = 0.2;
  options.parts.validation_fraction = 0.1;
  const std::vector all{some("a", many), some("b", few)};
  const auto result = prepare_holdings(all, agreed_table(all, 1), options);
  EXPECT_EQ(result.holdings[0].size, (holding_size{35, 10, 5}));
  EXPECT_EQ(result.holdings[1].size, (holding_size{7, 2, 1}));
  for (size_t i = 0; i < 42; ++i)
    EXPECT_EQ(result.train.features[2 * i] >= 100, i >= 35) << i;
  for (size_t i = 0; i < 12; ++i)
    EXPECT_EQ(result.test.features[2 * i] >= 100, i >= 10) << i;
  const auto& source = *result.holdings[1].source_rows;
  ASSERT_EQ(source.size(), 7u);
  for (size_t i = 0; i < 7; ++i)
    EXPECT_EQ(result.train.features[2 * (35 + i)], 100 + static_cast<float>(source[i]));
  // Who else is there moves nobody's rows.
  const auto alone = prepare(some("a", many).rows, options);
  EXPECT_TRUE(std::equal(alone.train.features.begin(), alone.train.features.end(),
                         result.train.features.begin()));
}

TEST(prepare_holdings, classes_get_the_numbers_of_the_table) {
  const std::vector all{labelled("a", {"cat", "emu"}), labelled("b", {"bat"})};
  const auto result = prepare_holdings(all, agreed_table(all, 1), {});
  EXPECT_EQ(result.train.labels, (std::vector<int32_t>{1, 2, 0}));
  EXPECT_EQ(result.train.classes, (texts{"bat", "cat", "emu"}));
}

TEST(prepare_holdings, sparse_rows_are_as_wide_as_the_widest) {
  std::vector all{some("a", {1}), some("b", {1, 2})};
  for (auto& one : all) {
    one.rows.features.clear();
    one.rows.feature_names.clear();
  }
  all[0].rows.feature_count = 3;
  all[0].rows.sparse = {{0, 2}, {0, 2}, {1, -4}};
  all[1].rows.feature_count = 1;
  all[1].rows.sparse = {{0, 1, 1}, {0}, {2}};
  prepare_options options;
  options.standardize = true;
  const auto result = prepare_holdings(all, agreed_table(all, 1), options);
  EXPECT_EQ(result.train.feature_count, 3u);
  EXPECT_EQ(result.train.sparse.starts, (std::vector<uint64_t>{0, 2, 3, 3}));
  EXPECT_EQ(result.train.sparse.values, (numbers{0.5, -1, 1}));
  EXPECT_EQ(result.features.deviation, (numbers{2, 1, 4}));
}

TEST(prepare_holdings, names_the_holding_that_cannot_be_split) {
  std::vector all{some("a", {1, 2, 3}), some("b", {1})};
  prepare_options options;
  options.parts.folds = 3;
  options.parts.fold = 0;
  const auto refused =
    test::failure_of([&] { prepare_holdings(all, agreed_table(all, 1), options); });
  EXPECT_EQ(refused.code(), failure_code::bad_job);
  EXPECT_EQ(refused.reason().rfind("b: ", 0), 0u) << refused.reason();
}

TEST(prepare_holdings, the_fingerprint_is_of_the_table_and_of_all) {
  std::vector all{some("a", {1}), some("b", {2})};
  const auto table = agreed_table(all, 1);
  const auto first = prepare_holdings(all, table, {}).fingerprint;
  all[0].name = "elsewhere";
  EXPECT_EQ(prepare_holdings(all, table, {}).fingerprint, first) << "names of files do not count";
  all[1].fingerprint = "c";
  EXPECT_NE(prepare_holdings(all, table, {}).fingerprint, first);
}

} // namespace
} // namespace troupe::holdings_test
