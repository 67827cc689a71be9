#include "data/table/dataset.hpp"

#include "data/text/failure.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace troupe::dataset_check_test {

namespace {

using change = void (*)(dataset&);

dataset numbers() {
  dataset x;
  x.row_count = 3;
  x.feature_count = 2;
  x.features = {1, 2, 3, 4, 5, 6};
  x.feature_names = {"a", "b"};
  x.targets = {1, 2, 3};
  x.target_count = 1;
  x.target_names = {"y"};
  return x;
}

dataset labels() {
  auto x = numbers();
  x.targets.clear();
  x.target_count = 0;
  x.labels = {0, 1, 1};
  x.classes = {"no", "yes"};
  x.clients = {0, 0, 1};
  x.client_names = {"here", "there"};
  x.groups = {1, 0, 0};
  x.group_names = {"p", "q"};
  x.weights = {1, 0, 2};
  return x;
}

dataset sparse() {
  auto x = labels();
  x.features.clear();
  x.feature_names.clear();
  x.sparse = {{0, 2, 2, 3}, {0, 1, 1}, {1, 2, 3}};
  return x;
}

std::string refusal(dataset rows, change apply) {
  apply(rows);
  try {
    require_sound(rows);
  } catch (const failure& problem) {
    EXPECT_EQ(problem.code(), failure_code::bad_data);
    return problem.reason();
  }
  return "";
}

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

} // namespace

TEST(dataset_check, rows_that_hold_together_pass) {
  for (const auto& rows : {numbers(), labels(), sparse()})
    EXPECT_NO_THROW(require_sound(rows));
  auto lent = numbers();
  const auto values = std::move(lent.features);
  lent.features.clear();
  lent.lent.values = values;
  EXPECT_NO_THROW(require_sound(lent));
}

TEST(dataset_check, other_numbers_of_values_than_the_shape_has_are_refused) {
  const std::pair<change, const char*> cases[] = {
    {[](dataset& x) { x.features.resize(4); }, "4 feature values instead of 6"},
    {[](dataset& x) { x.features.resize(7); }, "7 feature values instead of 6"},
    {[](dataset& x) { x.targets.resize(2); }, "2 target values instead of 3"},
    {[](dataset& x) { x.target_count = 0; }, "0 targets a row instead of 1"},
    {[](dataset& x) {
       x.labels = {0, 0, 0};
     },
     "3 labels instead of 0"},
    {[](dataset& x) { x.feature_names.clear(); }, "0 names of features instead of 2"},
    {[](dataset& x) { x.target_names.clear(); }, "0 names of targets instead of 1"},
    {[](dataset& x) { x.weights = {1}; }, "1 weights instead of 3"},
    {[](dataset& x) { x.row_count = 2; }, "6 feature values instead of 4"},
    {[](dataset& x) { x.lent.places = {0}; }, "1 places of lent rows instead of 0"}};
  for (const auto& [apply, reason] : cases)
    EXPECT_EQ(refusal(numbers(), apply),
              "the data set does not hold together: " + std::string{reason});
  EXPECT_EQ(
    refusal(numbers(), [](dataset& x) { x.target_count = 2, x.target_names.push_back("z"); }),
    "the data set does not hold together: 3 target values instead of 6");
  EXPECT_EQ(refusal(labels(), [](dataset& x) { x.labels.pop_back(); }),
            "the data set does not hold together: 2 labels instead of 3");
  EXPECT_EQ(refusal(labels(), [](dataset& x) { x.target_count = 1; }),
            "the data set does not hold together: 1 targets a row instead of 0");
}

TEST(dataset_check, a_value_that_cannot_be_is_named_by_row_and_column) {
  const std::pair<change, const char*> of_numbers[] = {
    {[](dataset& x) { x.features[3] = nan; },
     "the data set does not hold together: row 1, 'b': nan is not finite"},
    {[](dataset& x) { x.targets[2] = INFINITY; },
     "the data set does not hold together: row 2, 'y': inf is not finite"},
    {[](dataset& x) {
       x.weights = {1, -1, 1};
     },
     "the data set does not hold together: row 1, 'weights': -1 is not finite or below 0"}};
  for (const auto& [apply, reason] : of_numbers)
    EXPECT_EQ(refusal(numbers(), apply), reason);
  const std::pair<change, const char*> of_labels[] = {
    {[](dataset& x) { x.labels[1] = 2; }, "'labels': 2 is the number of no name"},
    {[](dataset& x) { x.labels[1] = -1; }, "'labels': -1 is the number of no name"},
    {[](dataset& x) { x.clients[1] = 2; }, "'clients': 2 is the number of no name"},
    {[](dataset& x) { x.groups[1] = 2; }, "'groups': 2 is the number of no name"},
    {[](dataset& x) { x.weights[1] = nan; }, "'weights': nan is not finite or below 0"}};
  for (const auto& [apply, reason] : of_labels)
    EXPECT_EQ(refusal(labels(), apply),
              "the data set does not hold together: row 1, " + std::string{reason});
}

TEST(dataset_check, gaps_are_none_where_the_columns_plan_fills_them) {
  EXPECT_EQ(refusal(numbers(),
                    [](dataset& x) {
                      x.columns.missing = missing_rule::mean;
                      x.features[0] = nan;
                    }),
            "");
  EXPECT_NE(refusal(numbers(),
                    [](dataset& x) {
                      x.columns.missing = missing_rule::mean;
                      x.features[0] = INFINITY;
                    }),
            "");
}

TEST(dataset_check, sparse_rows_rise_within_their_width) {
  const change cases[] = {[](dataset& x) { x.sparse.features[1] = 0; },
                          [](dataset& x) { x.sparse.features[2] = 2; },
                          [](dataset& x) { x.sparse.values[2] = nan; },
                          [](dataset& x) {
                            x.sparse.starts = {0, 2, 9, 3};
                          },
                          [](dataset& x) {
                            x.sparse.starts = {0, 2, 1, 3};
                          },
                          [](dataset& x) {
                            x.sparse.starts = {1, 2, 2, 3};
                          },
                          [](dataset& x) {
                            x.sparse.starts = {0, 2, 3};
                          },
                          [](dataset& x) { x.sparse.starts.back() = 2; },
                          [](dataset& x) { x.sparse.features.pop_back(); }};
  for (const auto& apply : cases)
    EXPECT_NE(refusal(sparse(), apply), "") << &apply - cases;
}

} // namespace troupe::dataset_check_test
