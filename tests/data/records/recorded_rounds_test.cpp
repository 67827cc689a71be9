#include "data/records/recorded_rounds.hpp"

#include "data/text/failure.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

using namespace troupe;

namespace {

recorded_round round_of(uint64_t round, size_t clients) {
  recorded_round result{round, {}};
  for (size_t i = 0; i < clients; ++i)
    result.clients.push_back(
      {"c" + std::to_string(i), i / 2, 10 * round + i, std::string(64, 'a')});
  return result;
}

std::string refusal(const std::string& path, const std::string& text) {
  std::ofstream{path} << text;
  try {
    read_recorded_rounds(path);
  } catch (const failure& error) {
    EXPECT_EQ(error.code(), failure_code::bad_data);
    return error.where();
  }
  return "none";
}

TEST(recorded_rounds, are_read_as_they_were_written) {
  const temporary_folder folder;
  const auto path = folder.path("rounds.jsonl");
  std::vector<recorded_round> expected{round_of(1, 3), round_of(2, 0), round_of(3, 5)};
  {
    recorded_rounds_writer out{path, 0};
    for (const auto& x : expected)
      out.add(x);
  }
  EXPECT_EQ(read_recorded_rounds(path), expected);
  std::ofstream{path, std::ios::app} << R"({"round":4,"clie)"; // cut off
  EXPECT_EQ(read_recorded_rounds(path), expected);
  {
    recorded_rounds_writer out{path, 2}; // goes on after round 2
    out.add(round_of(3, 1));
  }
  expected[2] = round_of(3, 1);
  EXPECT_EQ(read_recorded_rounds(path), expected);
  EXPECT_THROW((recorded_rounds_writer{path, 4}), failure);
  recorded_rounds_writer{path, 0};
  EXPECT_TRUE(read_recorded_rounds(path).empty());
}

TEST(recorded_rounds, a_line_of_a_round_replaces_it_and_later_ones) {
  const temporary_folder folder;
  const auto path = folder.path("rounds.jsonl");
  {
    recorded_rounds_writer out{path, 0};
    for (const uint64_t round : {1, 2, 3, 2})
      out.add(round_of(round, round));
  }
  EXPECT_EQ(read_recorded_rounds(path).size(), 2);
}

TEST(recorded_rounds, what_is_no_record_is_refused_with_its_line) {
  const temporary_folder folder;
  const auto path = folder.path("rounds.jsonl");
  const std::string good = R"({"round":1,"clients":[]})"
                           "\n";
  for (const std::string bad :
       {"x", "{}", R"({"round":-1,"clients":[]})", R"({"round":3,"clients":[]})",
        R"({"round":0,"clients":[]})", R"({"round":2,"clients":{}})",
        R"({"round":2,"clients":[{"name":"a"}]})",
        R"({"round":2,"clients":[{"name":"a","group":18446744073709551615,"rows":1,"update":""}]})",
        R"({"round":2,"clients":[{"name":"a","group":0,"rows":1,"update":""},)"
        R"({"name":"a","group":0,"rows":1,"update":""}]})",
        R"({"round":2,"clients":[{"name":"a","group":1,"rows":1,"update":""},)"
        R"({"name":"b","group":0,"rows":1,"update":""}]})"})
    EXPECT_EQ(refusal(path, good + bad + "\n"), path + ": line 2") << bad;
  EXPECT_EQ(refusal(path, good + std::string(100, '[') + "\n"), path + ": line 2");
  EXPECT_THROW(read_recorded_rounds(folder.path("none")), failure);
}

} // namespace
