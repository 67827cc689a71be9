// The history of a run that goes back to a version it has been at.

#include "actors/director/run_history.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace troupe::run_history_test {
namespace {

/// Rows of two steps each.
director_options options() {
  director_options result;
  result.rule.plan = {8, 4, 2, 10, std::nullopt, 1};
  return result;
}

training_report report(uint64_t version, double seconds, bool is_row) {
  return {1, version, {1.5, 4, 0, 0}, is_row, false, seconds, {}};
}

std::vector<uint64_t> steps_of(const run_history& history) {
  std::vector<uint64_t> result;
  for (const auto& row : history.rows())
    result.push_back(row.steps);
  return result;
}

TEST(run_history, later_rows_are_undone_and_time_goes_on_where_it_was) {
  run_history history{options()};
  history.begin(0);
  for (uint64_t version = 1; version <= 6; ++version) {
    history.on_report(report(version, static_cast<double>(version), version % 2 == 0), moment{});
    if (version % 2 == 0)
      history.add_row({version, {1.5, 4, 0, 0}, {}, {}}, 0);
  }
  history.on_report(report(7, 8, false), moment{});
  history.return_to(5);
  EXPECT_EQ(steps_of(history), (std::vector<uint64_t>{2, 4}));
  EXPECT_EQ(history.version(), 5u);
  EXPECT_NEAR(history.progress_at(5, {}, 99).seconds, 99, 1e-9) << "nobody has said it anew";
  history.on_report(report(6, 2, true), moment{}); // seconds of the new term
  history.add_row({6, {1.5, 4, 0, 0}, {}, {}}, 0);
  EXPECT_EQ(steps_of(history), (std::vector<uint64_t>{2, 4, 6}));
  EXPECT_NEAR(history.rows().back().seconds, 4 + (8.0 - 4) / 3 + 2, 1e-9);
}

TEST(run_history, a_version_of_a_row_keeps_it_and_its_time) {
  run_history history{options()};
  history.begin(0);
  for (const uint64_t version : {2, 4}) {
    history.on_report(report(version, static_cast<double>(version), true), moment{});
    history.add_row({version, {1.5, 4, 0, 0}, {}, {}}, 0);
  }
  history.return_to(4);
  EXPECT_EQ(steps_of(history), (std::vector<uint64_t>{2, 4}));
  history.return_to(1);
  EXPECT_TRUE(history.rows().empty());
  history.on_report(report(2, 3, true), moment{});
  history.add_row({2, {1.5, 4, 0, 0}, {}, {}}, 0);
  EXPECT_NEAR(history.rows().back().seconds, 4, 1e-9) << "a quarter of four seconds, and three";
}

} // namespace
} // namespace troupe::run_history_test
