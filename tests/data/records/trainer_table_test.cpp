#include "data/records/trainer_table.hpp"

#include "data/text/json_value.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace troupe::trainer_table_test {

namespace {

using nlohmann::ordered_json;

trainer_record synchronous(const std::string& process, uint64_t replica) {
  trainer_record x;
  x.process = process;
  x.replica = replica;
  x.results = 100;
  x.last_count = 12;
  x.last_by_ms = 9.44;
  x.last_by_max_ms = 1.9;
  x.waited_ms = 405.2;
  x.computed_ms = 930.7;
  x.network_ms = 38.1;
  x.lags.assign(8, 0);
  return x;
}

std::optional<std::vector<trainer_record>> read_trainers(const std::string& text) {
  std::vector<trainer_record> result;
  try {
    read_value_of(ordered_json::parse(text), result);
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
  return result;
}

} // namespace

TEST(trainer_table, shows_who_was_last_and_by_how_much) {
  auto second = synchronous("right", 1);
  second.results = 7;
  EXPECT_EQ(trainer_table(std::vector{synchronous("left", 0), second}),
            "replica  results  last  by ms  most ms  waited ms  computed ms  network ms\n"
            " left/0      100    12    9.4      1.9      405.2        930.7        38.1\n"
            "right/1        7    12    9.4      1.9      405.2        930.7        38.1\n");
  EXPECT_EQ(trainer_table({}), "");
}

TEST(trainer_table, one_process_needs_no_name) {
  EXPECT_EQ(trainer_table(std::vector{synchronous("local", 0)}),
            "replica  results  last  by ms  most ms  waited ms  computed ms  network ms\n"
            "      0      100    12    9.4      1.9      405.2        930.7        38.1\n");
}

TEST(trainer_table, has_columns_for_what_somebody_has) {
  auto x = synchronous("local", 0);
  x.applied = 3;
  x.discarded = 2;
  x.refused = 1;
  x.lost = 4;
  x.lags = {0, 5, 0, 0, 0, 0, 0, 6};
  EXPECT_EQ(trainer_table(std::vector{x, synchronous("local", 1)}),
            "replica  results  last  by ms  most ms  waited ms  computed ms  network ms  applied  "
            "discarded  refused  lost  lag 1  lag 64+\n"
            "      0      100    12    9.4      1.9      405.2        930.7        38.1        3  "
            "        2        1     4      5        6\n"
            "      1      100    12    9.4      1.9      405.2        930.7        38.1        0  "
            "        0        0     0      0        0\n");
}

TEST(trainer_table, says_what_each_carries_of_a_split_model) {
  auto x = synchronous("local", 0);
  x.partition = "slices 0-3, layer 0, part 0 of 2";
  const std::vector both{x, synchronous("local", 1)};
  EXPECT_EQ(
    trainer_table(both),
    "replica  results  last  by ms  most ms  waited ms  computed ms  network ms             "
    "            partition\n"
    "      0      100    12    9.4      1.9      405.2        930.7        38.1  slices 0-3, "
    "layer 0, part 0 of 2\n"
    "      1      100    12    9.4      1.9      405.2        930.7        38.1\n");
  EXPECT_EQ(read_trainers(ordered_json(both).dump()), both);
}

TEST(trainer_table, names_classes_of_lags_that_double) {
  EXPECT_EQ(lag_class_name(0, 8), "0");
  EXPECT_EQ(lag_class_name(1, 8), "1");
  EXPECT_EQ(lag_class_name(2, 8), "2-3");
  EXPECT_EQ(lag_class_name(6, 8), "32-63");
  EXPECT_EQ(lag_class_name(7, 8), "64+");
}

TEST(trainer_table, what_was_written_as_json_is_read) {
  auto x = synchronous("left", 3);
  x.lags = {1, 2, 3};
  x.refused = 9;
  EXPECT_EQ(read_trainers(ordered_json(std::vector{x, trainer_record{}}).dump()),
            (std::vector{x, trainer_record{}}));
  EXPECT_EQ(read_trainers("[{}]"), std::vector{trainer_record{}});
}

TEST(trainer_table, what_is_no_list_of_figures_is_refused) {
  for (const auto* text :
       {"", "3", "[3]", R"([{"results":"x"}])", R"([{"process":1}])", R"({"a":1})"})
    EXPECT_EQ(read_trainers(text), std::nullopt) << text;
}

} // namespace troupe::trainer_table_test
