#include "data/records/event_file.hpp"

#include "data/text/failure.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <tuple>
#include <vector>

namespace troupe::event_file_test {
namespace {

event_time at(double seconds) {
  using namespace std::chrono;
  const milliseconds since_1970{1'700'000'000'007};
  return {duration<double>{seconds}, system_clock::time_point{since_1970}};
}

run_event some(event_kind kind = event_kind::news) {
  return {kind, 412, "why"};
}

std::vector<nlohmann::json> lines_of(const std::string& path) {
  std::vector<nlohmann::json> result;
  std::ifstream in{path};
  for (std::string line; std::getline(in, line);)
    result.push_back(nlohmann::json::parse(line));
  return result;
}

TEST(event_file, a_line_says_when_what_and_why) {
  EXPECT_EQ(
    event_line(7, at(8.25), {event_kind::left_out, 412, "b is \"out\"\n\xff"}),
    "{\"number\":7,\"time\":\"2023-11-14T22:13:20.007Z\",\"seconds\":8.25,"
    "\"kind\":\"left-out\",\"version\":412,\"text\":\"b is \\\"out\\\"\\n\xef\xbf\xbd\"}\n");
}

TEST(event_file, a_row_brings_its_figures) {
  history_row row;
  row.epoch = 2;
  row.steps = 8;
  row.train_loss = std::numeric_limits<double>::quiet_NaN();
  row.test_loss = 0.25;
  const auto line =
    nlohmann::json::parse(event_line(1, at(0), some(event_kind::row), &row)).at("row");
  EXPECT_EQ(line.at("steps"), 8);
  EXPECT_EQ(line.at("test_loss"), 0.25);
  EXPECT_TRUE(line.at("train_loss").is_null() && line.at("validation_r2").is_null());
}

TEST(event_file, every_kind_and_field_is_documented) {
  std::ifstream file{TROUPE_SOURCE_DIR "/docs/events.md"};
  const std::string text{std::istreambuf_iterator<char>{file}, {}};
  EXPECT_NE(text.find(event_fields_markdown()), std::string::npos)
    << "docs/events.md should hold:\n"
    << event_fields_markdown();
}

TEST(event_writer, numbers_go_on_in_the_next_life_behind_half_a_line) {
  temporary_folder folder;
  const auto path = folder.path("e");
  event_writer{path}.add(some(), at(0));
  event_writer{path}.add(some(), at(0));
  std::ofstream{path, std::ios::app} << "{\"number\":3,\"ti";
  event_writer{path}.add(some(), at(0));
  std::ifstream in{path};
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(nlohmann::json::parse(lines[3]).at("number"), 3);
}

TEST(event_writer, a_file_that_is_full_is_moved_away_and_the_oldest_goes) {
  temporary_folder folder;
  const auto path = folder.path("e");
  const auto line_bytes = event_line(1, at(0), some()).size();
  for (int life = 0; life < 9; ++life) { // one line each, two fit into a file
    event_writer out{path, 2 * line_bytes};
    out.add(some(), at(0));
  }
  EXPECT_EQ(lines_of(path).front().at("number"), 9);
  EXPECT_EQ(lines_of(path + ".1").front().at("number"), 7);
  EXPECT_EQ(lines_of(path + ".3").front().at("number"), 3);
  EXPECT_FALSE(std::filesystem::exists(path + ".4"));
}

TEST(event_writer, too_many_of_a_kind_are_left_out_and_counted) {
  for (const auto& [kind, other, seconds] : {std::tuple{event_kind::news, event_kind::row, 1.0},
                                             {event_kind::row, event_kind::news, 60.0}}) {
    temporary_folder folder;
    const auto path = folder.path("e");
    event_writer out{path};
    for (size_t i = 0; i < events_a_second_max + 5; ++i)
      out.add(some(kind), at(0.5 + 0.01 * seconds * static_cast<double>(i)));
    out.add(some(other), at(0.6));
    EXPECT_EQ(lines_of(path).size(), events_a_second_max + 1) << "another kind is not held up";
    EXPECT_EQ(lines_of(path).back().at("number"), events_a_second_max + 6) << "a gap shows";
    out.add(some(kind), at(0.5 + seconds));
    const auto lines = lines_of(path);
    ASSERT_EQ(lines.size(), events_a_second_max + 3);
    EXPECT_EQ(lines[lines.size() - 2].at("kind"), "left-out");
    EXPECT_EQ(lines[lines.size() - 2].at("text"), "5 more of kind " + std::string{name_of(kind)});
  }
}

TEST(event_file, what_people_were_told_is_read_again) {
  temporary_folder folder;
  const auto path = folder.path("e");
  const auto line_bytes = event_line(1, at(0), some()).size();
  for (int i = 0; i < 5; ++i) // two fit into a file
    event_writer{path, 2 * line_bytes}.add({event_kind::news, 4, std::to_string(i)}, at(0));
  std::ofstream{path, std::ios::app} << "{\"number\":3,\"ti\nnull\n[]\n"
                                     << event_line(9, at(0), some(event_kind::row))
                                     << event_line(10, at(0), some(event_kind::left_out));
  const auto told = read_parsed_events(path);
  ASSERT_EQ(told.size(), 5u);
  EXPECT_EQ(told.front().text, "0");
  EXPECT_EQ(told.back().text, "4");
  EXPECT_NEAR(told.back().time, 1'700'000'000.007, 1e-6);
  EXPECT_TRUE(read_parsed_events(folder.path("none")).empty());
}

TEST(event_writer, what_cannot_be_written_is_a_failure) {
  temporary_folder folder;
  event_writer out{folder.path("none/e")};
  EXPECT_THROW(out.add(some(), at(0)), failure);
}

} // namespace
} // namespace troupe::event_file_test
