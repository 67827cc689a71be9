#include "data/records/trace_file.hpp"

#include "data/text/failure.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

namespace troupe::trace_file_test {
namespace {

using nlohmann::json;

trace_track replica(std::vector<trace_record> records) {
  return {"replica 0", "parameters", "gradient", 1, 0, std::move(records)};
}

process_trace trace_of(const std::string& process, const std::string& boot, trace_track track) {
  return {process, "00ff", boot, 0, {std::move(track)}, {}};
}

class trace_file : public ::testing::Test {
protected:
  std::string write(const std::string& name, const process_trace& x) {
    const auto path = folder_.path(name);
    write_trace(atomic_file{path}, x);
    return path;
  }
  json read(const std::string& name) { return json::parse(folder_.read(name)); }
  json events(const std::string& name, const std::string& phase) {
    auto result = json::array();
    const auto file = read(name);
    for (const auto& event : file.at("traceEvents"))
      if (event.at("ph") == phase)
        result.push_back(event);
    return result;
  }
  std::string why(const std::vector<std::string>& files) {
    const auto refused = folder_.path("refused.json");
    const auto error = test::failure_of([&] { merge_traces(files, refused); });
    EXPECT_FALSE(std::filesystem::exists(refused));
    return error.reason();
  }

  temporary_folder folder_;
};

TEST_F(trace_file, is_what_viewers_of_chrome_traces_read) {
  write("a.json", trace_of("main", "b",
                           replica({{1'000'500, 2'000, 0, 7, 3, trace_kind::slice},
                                    {1'003'000, 10, 0xab, 7, 1, trace_kind::send},
                                    {1'003'010, 990, 0, 8, 0, trace_kind::wait},
                                    {1'004'000, 0, 0xcd, 8, 2, trace_kind::receive}})));
  const auto spans = events("a.json", "X");
  ASSERT_EQ(spans.size(), 4u);
  EXPECT_EQ(spans[0], json::parse(R"({"ph":"X","name":"slice","pid":1,"tid":1,"ts":1000.5,"dur":2.0,
                                      "args":{"step":7,"slice":3}})"));
  EXPECT_EQ(spans[1].at("name"), "send gradient");
  EXPECT_EQ(spans[1].at("args").at("to"), 1);
  EXPECT_EQ(spans[2].at("name"), "wait for parameters");
  EXPECT_EQ(spans[3].at("name"), "receive parameters");
  EXPECT_EQ(spans[3].at("dur"), 0.001) << "viewers leave out the flows of spans without a length";
  const auto out = events("a.json", "s"), in = events("a.json", "f");
  ASSERT_EQ(out.size(), 1u);
  ASSERT_EQ(in.size(), 1u);
  EXPECT_EQ(out[0].at("id"), "00000000000000ab") << "a number would lose bits";
  EXPECT_EQ(out[0].at("ts"), spans[1].at("ts"));
  EXPECT_EQ(in[0].at("bp"), "e");
  EXPECT_EQ(read("a.json").at("otherData").at("lanes").at(0).at("recorded"), 4);
}

TEST_F(trace_file, names_actors_and_says_what_it_left_out) {
  auto track = replica({});
  track.every = 8;
  track.dropped = 5;
  write("a.json", trace_of("ma\"in", "b", track));
  const auto names = events("a.json", "M");
  EXPECT_EQ(names.at(0).at("args").at("name"), "ma\"in");
  EXPECT_EQ(names.at(1).at("args").at("name"), "replica 0 (1 of 8 steps)");
  EXPECT_EQ(read("a.json").at("otherData").at("lanes").at(0).at("dropped"), 5);
}

// Sent by main at 1000 us of its clock, received 20 us later by right, whose clock is 7 s ahead.
TEST_F(trace_file, a_merge_takes_all_to_the_directors_clock) {
  constexpr int64_t ahead = 7'000'000'000;
  auto of_main = trace_of("main", "b", replica({{1'000'000, 10, 1, 7, 0, trace_kind::send}}));
  of_main.clocks = {{"right", {{0, ahead - 500, 900}, {2'000'000, ahead + 500, 300}}}};
  const auto main = write("main.json", of_main);
  const auto right =
    write("right.json",
          trace_of("right", "c",
                   replica({{1'020'000 + ahead, 10, 1, 7, 0, trace_kind::receive},
                            {1'000'000 + ahead + 2'000'000, 10, 0, 8, 0, trace_kind::slice}})));
  const auto merged = merge_traces({right, main}, folder_.path("out.json"));
  EXPECT_EQ(merged.flows, 1u);
  EXPECT_EQ(merged.early, 0u);
  ASSERT_EQ(merged.processes.size(), 2u);
  EXPECT_EQ(merged.processes[0].clock_error, 900u) << "the worst of what it was told";
  EXPECT_EQ(merged.processes[1].clock_error, 0u);
  EXPECT_EQ(events("out.json", "s").at(0).at("ts"), 1000);
  EXPECT_NEAR(events("out.json", "f").at(0).at("ts").get<double>(), 1020, 0.02) << "half way";
  const auto spans = events("out.json", "X");
  EXPECT_EQ(spans.at(0).at("pid"), 1);
  EXPECT_EQ(spans.at(2).at("pid"), 2);
  EXPECT_NEAR(spans.at(1).at("ts").get<double>(), 3000 - 0.5, 0.02) << "as it stood last";
}

TEST_F(trace_file, processes_of_one_machine_have_one_clock) {
  const auto a =
    write("a.json", trace_of("a", "b", replica({{5'000, 1, 9, 0, 0, trace_kind::receive}})));
  const auto b =
    write("b.json", trace_of("b", "b", replica({{8'000, 1, 9, 0, 0, trace_kind::send}})));
  const auto merged = merge_traces({a, b}, folder_.path("out.json"));
  EXPECT_EQ(merged.processes[1].clock_error, 0u);
  EXPECT_EQ(merged.early, 1u) << "it says when clocks cannot be right";
  EXPECT_EQ(merged.early_ns, 3'000u);
}

TEST_F(trace_file, what_cannot_be_merged_is_named) {
  const auto a = write("a.json", trace_of("a", "b", replica({})));
  auto x = trace_of("b", "c", replica({}));
  EXPECT_EQ(why({a, write("b.json", x)}), "how the clock of b stood to that of a is not known");
  x.boot = "";
  EXPECT_EQ(why({a, write("b.json", x)}), "how the clock of b stood to that of a is not known");
  x.boot = "b";
  x.job = "another";
  EXPECT_EQ(why({a, write("b.json", x)}), "it is of another job than " + a);
  EXPECT_EQ(why({a, a}), "it is of a as another file is");
  EXPECT_EQ(why({folder_.path("none")}), "there is no such file, or it cannot be read");
}

TEST_F(trace_file, a_part_of_a_file_or_another_one_is_none) {
  const auto whole =
    write("a.json", trace_of("a", "b", replica({{5'000, 1, 9, 0, 0, trace_kind::receive}})));
  const auto text = folder_.read("a.json");
  const auto refused = "this is no timeline, or only a part of one";
  for (size_t size = 0; size + 3 < text.size(); size += 7) {
    std::ofstream{folder_.path("part.json")} << text.substr(0, size);
    EXPECT_EQ(why({folder_.path("part.json")}), refused) << size;
  }
  for (const std::string time : {"-1.0", "1e300", "\"soon\""}) {
    auto other = text;
    other.replace(other.find("\"ts\":") + 5, 5, time);
    std::ofstream{folder_.path("part.json")} << other;
    EXPECT_EQ(why({folder_.path("part.json")}), refused) << time;
  }
  std::ofstream{folder_.path("other.json")} << R"({"traceEvents":[]})" << '\n';
  EXPECT_EQ(why({folder_.path("other.json")}), refused);
  EXPECT_EQ(merge_traces({whole}, folder_.path("out.json")).processes.size(), 1u);
  EXPECT_EQ(why({folder_.path("out.json")}), refused) << "merged once is enough";
}

} // namespace
} // namespace troupe::trace_file_test
