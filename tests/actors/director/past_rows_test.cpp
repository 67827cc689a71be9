// What the director remembers of its last rows.

#include "actors/director/past_rows.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace troupe::past_rows_test {
namespace {

/// Rows each two steps.
past_rows rows() {
  return past_rows{{8, 4, 2, 10, std::nullopt, 1}};
}

past_row at(uint64_t version) {
  past_row result;
  result.memory.version = version;
  result.memory.last_loss = static_cast<double>(version);
  return result;
}

TEST(past_rows, a_term_may_begin_behind_any_of_them_and_before_the_next_row) {
  auto past = rows();
  EXPECT_TRUE(past.versions().empty());
  EXPECT_TRUE(past.add(at(0), 0, 9));
  EXPECT_EQ(past.versions(), (index_range{0, 2}));
  EXPECT_TRUE(past.add(at(2), 2, 9));
  EXPECT_FALSE(past.add(at(3), 3, 9)) << "no row is there";
  EXPECT_TRUE(past.add(at(4), 4, 9));
  EXPECT_EQ(past.versions(), (index_range{0, 6}));
  EXPECT_EQ(past.return_to(4).memory.last_loss, 4);
  const auto between = past.return_to(3);
  EXPECT_EQ(between.memory.version, 3u);
  EXPECT_FALSE(between.memory.last_loss) << "version 3 was not evaluated";
  EXPECT_EQ(past.versions(), (index_range{0, 4})) << "row 4 is undone";
  EXPECT_THROW(past.return_to(30), std::out_of_range);
}

TEST(past_rows, what_lies_before_a_row_that_was_not_added_is_forgotten) {
  auto past = rows();
  past.add(at(0), 0, 9);
  past.add(at(2), 2, 9);
  past.add(at(6), 6, 9); // two rows were completed at once
  EXPECT_EQ(past.versions(), (index_range{6, 8}));
}

TEST(past_rows, parameters_of_a_few_best_versions_are_kept) {
  auto past = rows();
  for (uint64_t version = 0; version <= 12; version += 2) {
    auto row = at(version);
    if (version > 0)
      row.memory.best = best_version{version < 10 ? version : 8, 1};
    past.add(row, version, 100);
  }
  EXPECT_EQ(past.versions(), (index_range{4, 14})) << "best were 4, 6, and 8 thrice";
}

TEST(past_rows, older_ones_go_but_for_the_one_before_the_reach) {
  auto past = rows();
  for (uint64_t version = 0; version <= 12; version += 2)
    past.add(at(version), version, 5);
  EXPECT_EQ(past.versions(), (index_range{6, 14}));
  past.clear();
  EXPECT_TRUE(past.versions().empty());
}

} // namespace
} // namespace troupe::past_rows_test
