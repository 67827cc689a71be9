// Rows that an application gives part by part: those of a file of rows, or a failure that names the row.

#include "data/rows_file/row_supply.hpp"

#include "data/rows_file/rows_file.hpp"
#include "data/rows_file/rows_writer.hpp"
#include "data/text/failure.hpp"
#include "data/training_rows/synthetic.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/rows/memory_supply.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

namespace troupe::row_supply_test {
namespace {

using test::memory_supply;

/// What goes wrong, of which `where` is the end of the place.
template <class Action>
failure failure_at(const std::string& where, const Action& action) {
  auto result = test::failure_of(action);
  EXPECT_TRUE(result.where().ends_with("application's rows: " + where)) << result.where();
  return result;
}

dataset clouds() {
  return make_classification({.rows = 50, .features = 5, .classes = 3}, 3);
}

dataset numbers() {
  return make_regression({.rows = 50, .features = 4, .targets = 2}, 3);
}

TEST(row_supply, is_the_file_of_its_rows) {
  for (const auto& rows : {clouds(), numbers()}) {
    const temporary_folder folder;
    write_rows(folder.path("rows"), rows, 16);
    const rows_file file{folder.path("rows")};
    const supplied_rows supplied{std::make_shared<memory_supply>(rows), 16};
    EXPECT_EQ(supplied.header(), file.header());
    EXPECT_EQ(supplied.fingerprint(), file.fingerprint());
    for (uint64_t number = 0; number < 4; ++number) {
      const auto a = supplied.read_chunk(number), b = file.read_chunk(number);
      EXPECT_EQ(a.features, b.features);
      EXPECT_EQ(a.labels, b.labels);
      EXPECT_EQ(a.targets, b.targets);
      EXPECT_EQ(supplied.read_targets(number).labels, b.labels);
      EXPECT_EQ(supplied.read_targets(number).targets, b.targets);
    }
    EXPECT_EQ(read_rows(supplied), rows);
  }
}

struct odd_case {
  std::function<void(dataset&)> change;
  std::string where, what;
};

TEST(row_supply, what_is_no_row_is_refused_with_its_number) {
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto& [change, where, what] : {
         odd_case{[&](dataset& x) { x.features[23 * 5 + 2] = nan; }, "row 23", "x2"},
         odd_case{[&](dataset& x) { x.labels[49] = 3; }, "row 49", "label 3"},
         odd_case{[&](dataset& x) { x.labels[0] = -1; }, "row 0", "label -1"},
       }) {
    auto rows = clouds();
    change(rows);
    const auto error =
      failure_at(where, [&] { supplied_rows(std::make_shared<memory_supply>(rows), 16); });
    EXPECT_EQ(error.code(), failure_code::bad_data);
    EXPECT_NE(error.reason().find(what), std::string::npos) << error.reason();
  }
  auto rows = numbers();
  rows.targets[7 * 2 + 1] = std::numeric_limits<float>::infinity();
  failure_at("row 7", [&] { supplied_rows(std::make_shared<memory_supply>(rows), 16); });
}

TEST(row_supply, a_form_that_is_none_is_refused) {
  for (const auto& change : std::vector<std::function<void(dataset&)>>{
         [](dataset& x) { x.feature_names.pop_back(); }, [](dataset& x) { x.target_names.clear(); },
         [](dataset& x) { x.row_count = 0; }, [](dataset& x) { x.classes.clear(); }}) {
    auto rows = clouds();
    change(rows);
    EXPECT_THROW(supplied_rows(std::make_shared<memory_supply>(rows), 16), failure);
  }
}

// What a supply leaves out is found: the room holds no number that could be taken for one.
TEST(row_supply, rows_that_are_not_written_are_no_rows) {
  const auto supply = std::make_shared<memory_supply>(numbers());
  supply->on_read = [](uint64_t begin, const row_room& out) {
    if (begin == 32)
      out.features[4] = std::numeric_limits<float>::quiet_NaN();
  };
  failure_at("row 33", [&] { supplied_rows(supply, 16); });
  const auto short_one = std::make_shared<memory_supply>(numbers());
  short_one->written_max = 20;
  failure_at("row 20", [&] { supplied_rows(short_one, 16); });
}

TEST(row_supply, rows_that_change_meanwhile_are_refused_and_words_of_the_application_kept) {
  const auto supply = std::make_shared<memory_supply>(clouds());
  const supplied_rows rows{supply, 16};
  supply->on_read = [](uint64_t begin, const row_room& out) {
    if (begin == 16)
      out.features[3] += 1;
  };
  rows.read_chunk(0);
  const auto error = failure_at("rows 16 to 31", [&] { rows.read_chunk(1); });
  EXPECT_EQ(error.code(), failure_code::bad_data);
  supply->on_read = [](uint64_t, const row_room&) {
    throw std::runtime_error{"the sensor is off"};
  };
  const auto lost = failure_at("from row 32", [&] { rows.read_chunk(2); });
  EXPECT_EQ(lost.code(), failure_code::io_error);
  EXPECT_EQ(lost.reason(), "the sensor is off");
}

} // namespace
} // namespace troupe::row_supply_test
