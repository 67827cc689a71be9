// The flight recorder and what is read of it, by the bytes of one file.

#include "data/records/run_recorder.hpp"
#include "data/text/failure.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <thread>

namespace troupe::flight_test {
namespace {

constexpr auto no_end = trace_record::no_end;

trace_track track_of(const std::string& actor) {
  trace_track result;
  result.actor = actor;
  result.waits_for = "parameters";
  result.sends = "gradient";
  return result;
}

class flight : public ::testing::Test {
protected:
  flight_place place() const { return {folder_.path(), "left", "digits", "/runs/digits"}; }
  std::string bytes(const run_recorder& x) const {
    return folder_.read(std::filesystem::path{x.path()}.filename().string());
  }
  static flight_log read(std::string_view bytes) {
    return read_flight(std::as_bytes(std::span{bytes}), "here");
  }
  static std::string why(std::string_view bytes) {
    try {
      read(bytes);
    } catch (const failure& error) {
      EXPECT_EQ(error.code(), failure_code::bad_data);
      EXPECT_EQ(error.where(), "here");
      return error.reason();
    }
    return "read";
  }

  temporary_folder folder_;
};

TEST_F(flight, what_was_done_is_in_the_file_while_the_process_lives) {
  run_recorder recorder{place(), false};
  EXPECT_FALSE(recorder.has_records());
  recorder.begin("main", "00ff");
  auto ring = recorder.new_ring(track_of("replica 0"));
  recorder.tick();
  const auto done = ring->begin(trace_kind::receive, 411, 1);
  EXPECT_EQ(done, 0u);
  ring->end(ring->begin(trace_kind::slice, 411, 3));
  ring->begin(trace_kind::slice, (uint64_t{1} << 32) + 412, (1 << 16) + 4);
  EXPECT_TRUE(recorder.has_records());
  const auto log = read(bytes(recorder));
  EXPECT_EQ(log.process, "left");
  EXPECT_EQ(log.job, "digits");
  EXPECT_EQ(log.job_sha256, "00ff");
  EXPECT_EQ(log.run_directory, "/runs/digits");
  EXPECT_EQ(log.process_id, static_cast<uint64_t>(getpid()));
  EXPECT_FALSE(log.is_cut);
  ASSERT_EQ(log.tracks.size(), 1u);
  const auto& track = log.tracks[0];
  EXPECT_EQ(track.actor, "replica 0");
  EXPECT_EQ(track.waits_for, "parameters");
  EXPECT_EQ(track.sends, "gradient");
  EXPECT_EQ(track.dropped + track.records.size(), 3u);
  ASSERT_EQ(track.records.size(), 3u);
  const auto now = log.last_sign_ns;
  EXPECT_EQ(track.records[0], (trace_record{now, no_end, 0, 411, 1, trace_kind::receive}));
  EXPECT_EQ(track.records[1], (trace_record{now, 0, 0, 411, 3, trace_kind::slice}));
  EXPECT_EQ(track.records[2], (trace_record{now, no_end, 0, 412, 4, trace_kind::slice}));
}

TEST_F(flight, time_is_what_was_told_last) {
  run_recorder recorder{place(), false};
  auto ring = recorder.new_ring(track_of("a"));
  const auto number = ring->begin(trace_kind::update, 1, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds{25});
  EXPECT_EQ(read(bytes(recorder)).last_sign_ns, 0u);
  recorder.tick();
  ring->end(number);
  const auto log = read(bytes(recorder));
  EXPECT_GE(log.last_sign_ns, 20'000'000u);
  EXPECT_EQ(log.tracks[0].records[0],
            (trace_record{0, log.last_sign_ns, 0, 1, 0, trace_kind::update}));
}

TEST_F(flight, a_full_ring_has_the_newest_but_the_one_that_may_be_half_written_over) {
  run_recorder recorder{place(), false};
  auto ring = recorder.new_ring(track_of("a"));
  const auto outer = ring->begin(trace_kind::tile, 0, 0);
  for (uint64_t i = 1; i <= 5000; ++i)
    ring->begin(trace_kind::receive, i, 0);
  ring->end(outer); // its place has another record
  const auto track = read(bytes(recorder)).tracks.at(0);
  EXPECT_EQ(track.dropped + track.records.size(), 5001u);
  ASSERT_EQ(track.records.size(), 4095u);
  for (size_t i = 0; i < track.records.size(); ++i)
    ASSERT_EQ(track.records[i],
              (trace_record{0, no_end, 0, static_cast<uint32_t>(906 + i), 0, trace_kind::receive}));
}

TEST_F(flight, many_actors_have_smaller_rings_and_those_without_room_are_counted) {
  run_recorder recorder{place(), false};
  std::vector<std::shared_ptr<trace_ring>> rings;
  for (int i = 0; i < 300; ++i)
    rings.push_back(recorder.new_ring(track_of("actor " + std::to_string(i))));
  for (uint64_t i = 0; i < rings.size(); ++i)
    rings[i]->end(rings[i]->begin(trace_kind::slice, i, 0));
  const auto log = read(bytes(recorder));
  EXPECT_GE(log.tracks.size(), 180u);
  EXPECT_EQ(log.tracks.size() + log.actors_left_out, 300u);
  for (size_t i = 0; i < log.tracks.size(); ++i) {
    EXPECT_EQ(log.tracks[i].actor, "actor " + std::to_string(i));
    EXPECT_EQ(log.tracks[i].records.at(0).step, i) << "nobody writes into another's ring";
  }
}

TEST_F(flight, an_actor_may_outlive_the_recorder) {
  trace_ring nowhere{track_of("a"), 0, 0};
  nowhere.end(nowhere.begin(trace_kind::slice, 1, 1)); // it is in no file
  EXPECT_FALSE(nowhere.has_records());
  std::shared_ptr<trace_ring> ring;
  std::string path;
  {
    run_recorder recorder{place(), false};
    ring = recorder.new_ring(track_of("a"));
    path = recorder.path();
  }
  ring->end(ring->begin(trace_kind::slice, 7, 1));
  const auto name = std::filesystem::path{path}.filename().string();
  EXPECT_EQ(read(folder_.read(name)).tracks.at(0).records.at(0).step, 7u);
}

TEST_F(flight, of_a_process_with_this_number_a_file_may_be_there) {
  const run_recorder first{place()}, second{place()};
  EXPECT_NE(first.path(), second.path());
  EXPECT_EQ(read(bytes(second)).process, "left");
}

TEST_F(flight, a_folder_that_is_not_there_is_named) {
  auto nowhere = place();
  nowhere.folder = folder_.path("none");
  try {
    const run_recorder recorder{nowhere};
    FAIL();
  } catch (const failure& error) {
    EXPECT_EQ(error.code(), failure_code::cannot_create);
    EXPECT_EQ(error.where(), nowhere.folder);
    EXPECT_NE(error.hint().find("--flight"), std::string::npos);
  }
}

TEST_F(flight, what_is_no_such_file_is_refused_and_of_a_part_the_whole_rings_are_read) {
  run_recorder recorder{place(), false};
  for (const auto* actor : {"a", "b"}) {
    auto ring = recorder.new_ring(track_of(actor));
    ring->begin(trace_kind::slice, 3, 0);
  }
  const auto whole = bytes(recorder);
  const auto used = read(whole).used_bytes;
  EXPECT_LT(used, whole.size());
  EXPECT_FALSE(read(std::string_view{whole}.substr(0, used)).is_cut);
  const auto part = read(std::string_view{whole}.substr(0, used - 1));
  EXPECT_TRUE(part.is_cut);
  ASSERT_EQ(part.tracks.size(), 1u);
  EXPECT_EQ(part.tracks[0].records.size(), 1u);
  EXPECT_NE(why(std::string_view{whole}.substr(0, 100)).find("only 100 bytes"), std::string::npos);
  EXPECT_NE(why("{}").find("no flight recorder's file"), std::string::npos);
  EXPECT_NE(why("").find("no flight recorder's file"), std::string::npos);
}

TEST_F(flight, damaged_numbers_lead_nowhere) {
  run_recorder recorder{place(), false};
  auto ring = recorder.new_ring(track_of("a"));
  ring->begin(trace_kind::slice, 3, 0);
  const auto whole = bytes(recorder);
  const auto with = [&](size_t offset, uint64_t value) {
    auto changed = whole;
    std::memcpy(changed.data() + offset, &value, sizeof value);
    return read(changed);
  };
  constexpr size_t cells = flight_header_bytes, recorded = cells + 8,
                   first = cells + flight_ring_header_bytes;
  EXPECT_TRUE(with(cells, 3).is_cut) << "no power of two";
  EXPECT_TRUE(with(cells, uint64_t{1} << 63).is_cut);
  EXPECT_TRUE(with(cells, 0).is_cut);
  EXPECT_LE(with(recorded, ~uint64_t{0}).tracks.at(0).records.size(), 4095u);
  EXPECT_TRUE(with(first, 0).tracks.at(0).records.empty()) << "never written";
  EXPECT_TRUE(with(first, uint64_t{200} << 48).tracks.at(0).records.empty()) << "of no kind";
}

} // namespace
} // namespace troupe::flight_test
