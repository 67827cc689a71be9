// The flight recorder and what is read of it, by the bytes of one file.

#include "data/records/run_recorder.hpp"
#include "data/text/failure.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <span>
#include <thread>

namespace troupe::flight_test {
namespace {

constexpr auto no_end = trace_record::no_end;

trace_track track_of(const std::string& actor) {
  return {actor, "parameters", "gradient", 1, 0, {}};
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
    const auto error = test::failure_of([&] { read(bytes); });
    EXPECT_EQ(error.code(), failure_code::bad_data);
    EXPECT_EQ(error.where(), "here");
    return error.reason();
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
  const auto error = test::failure_of([&] { const run_recorder recorder{nowhere}; });
  EXPECT_EQ(error.code(), failure_code::cannot_create);
  EXPECT_EQ(error.where(), nowhere.folder);
  EXPECT_TRUE(test::contains(error.hint(), "--flight"));
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
  EXPECT_TRUE(test::contains(why(std::string_view{whole}.substr(0, 100)), "only 100 bytes"));
  EXPECT_TRUE(test::contains(why("{}"), "no flight recorder's file"));
  EXPECT_TRUE(test::contains(why(""), "no flight recorder's file"));
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

using namespace std::chrono_literals;

size_t count(const trace_track& track, trace_kind kind) {
  return static_cast<size_t>(std::ranges::count(track.records, kind, &trace_record::kind));
}

TEST(trace, work_is_recorded_with_what_it_was_and_the_wait_before_it) {
  trace_ring ring{track_of("replica 0"), 0, 100};
  const trace_flow flow{flow_content::gradient, {99}};
  {
    const traced_work work{&ring, trace_kind::slice, 7, 3};
    std::this_thread::sleep_for(2ms);
  }
  std::this_thread::sleep_for(2ms);
  { const traced_work came{&ring, trace_kind::receive, 8, 1, flow}; }
  { const traced_work work{&ring, trace_kind::slice, 8, 4}; }
  const auto track = ring.track();
  ASSERT_EQ(track.records.size(), 4u);
  const auto& [first, came, wait, second] =
    std::tie(track.records[0], track.records[1], track.records[2], track.records[3]);
  EXPECT_EQ(first.kind, trace_kind::slice);
  EXPECT_EQ(first.step, 7u);
  EXPECT_EQ(first.object, 3u);
  EXPECT_GE(first.length, 2'000'000u);
  EXPECT_EQ(came.flow, flow.number());
  EXPECT_EQ(wait.kind, trace_kind::wait) << "what comes does not end it";
  EXPECT_EQ(wait.begin, first.begin + first.length);
  EXPECT_EQ(wait.begin + wait.length, second.begin);
  EXPECT_GE(wait.length, 2'000'000u);
}

TEST(trace, a_full_ring_keeps_the_newest_in_order_and_counts_the_others) {
  trace_ring ring{track_of("a"), 0, 8};
  for (uint64_t i = 0; i < 21; ++i)
    ring.add({i, 0, 0, static_cast<uint32_t>(i), 0, trace_kind::receive});
  const auto track = ring.track();
  EXPECT_EQ(track.dropped, 13u);
  ASSERT_EQ(track.records.size(), 8u);
  for (size_t i = 0; i < 8; ++i)
    EXPECT_EQ(track.records[i].step, 13 + i);
}

TEST(trace, the_flight_recorder_has_all_steps_also_those_that_the_timeline_leaves_out) {
  const temporary_folder folder;
  run_recorder trace{{folder.path(), "main", "digits", "/run"}, false};
  trace.begin("main", "00ff");
  const auto ring = trace.new_ring(track_of("replica 0"));
  { const traced_work came{ring.get(), trace_kind::receive, 4, 1}; }
  { const traced_work work{ring.get(), trace_kind::slice, 4, 2}; }
  const traced_work under_way{ring.get(), trace_kind::slice, 4, 3};
  EXPECT_TRUE(ring->track().records.empty()) << "no timeline is wanted";
  const auto bytes = folder.read(std::filesystem::path{trace.path()}.filename().string());
  const auto log = read_flight(std::as_bytes(std::span{bytes}), "here");
  EXPECT_EQ(log.job_sha256, "00ff");
  ASSERT_EQ(log.tracks.size(), 1u);
  const auto& records = log.tracks[0].records;
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].kind, trace_kind::receive);
  EXPECT_EQ(records[0], (trace_record{0, no_end, 0, 4, 1, trace_kind::receive}));
  EXPECT_EQ(records[1], (trace_record{0, 0, 0, 4, 2, trace_kind::slice}));
  EXPECT_EQ(records[2], (trace_record{0, no_end, 0, 4, 3, trace_kind::slice}));
}

TEST(trace, who_has_no_ring_records_nothing) {
  const traced_work work{nullptr, trace_kind::slice, 0, 0};
}

// A record that costs 1 ms is far above the budget of steps that take microseconds.
TEST(trace, steps_are_left_out_when_records_cost_too_much_and_taken_again_when_not) {
  trace_ring dear{track_of("a"), 1e6, 1 << 16};
  const auto run = [](trace_ring& ring, uint64_t from, uint64_t to,
                      std::chrono::microseconds step) {
    for (auto i = from; i < to; ++i) {
      { const traced_work work{&ring, trace_kind::slice, i, 0}; }
      if (step > 0us)
        std::this_thread::sleep_for(step);
    }
  };
  run(dear, 0, 64 * 20, 0us);
  const auto every = dear.track().every;
  EXPECT_GE(every, 256u) << "doubled at each choice but the first";
  EXPECT_EQ(every & (every - 1), 0u);
  for (const auto& x : dear.track().records)
    EXPECT_TRUE(x.step < 64 * 15 || x.step % (every / 2) == 0) << x.step;
  trace_ring cheap{track_of("b"), 1, 1 << 16};
  run(cheap, 0, 64 * 4, 20us);
  EXPECT_EQ(cheap.track().every, 1u);
  EXPECT_EQ(count(cheap.track(), trace_kind::slice), 64 * 4u);
}

TEST(trace, a_flow_has_one_number_at_both_ends_and_others_have_others) {
  const auto flow = trace_flow{flow_content::gradient, {1, 2, 3}}.number();
  EXPECT_EQ(flow, (trace_flow{flow_content::gradient, {1, 2, 3}}.number()));
  EXPECT_NE(flow, (trace_flow{flow_content::parameters, {1, 2, 3}}.number()));
  EXPECT_NE(flow, (trace_flow{flow_content::gradient, {1, 3, 2}}.number()));
  EXPECT_NE(flow, 0u);
}

// A node's clock is 5000 ahead; a directive takes 30 on its way, a report 10.
TEST(trace, clocks_are_compared_by_what_goes_there_and_back) {
  run_recorder trace;
  trace.on_clock("right", 1000, 6030, 6040, 1050);
  const auto clocks = trace.take().clocks;
  ASSERT_EQ(clocks.size(), 1u);
  EXPECT_EQ(clocks[0].process, "right");
  ASSERT_EQ(clocks[0].samples.size(), 1u);
  EXPECT_EQ(clocks[0].samples[0], (clock_sample{1050, 5010, 21})) << "right up to 21";
}

TEST(trace, of_sixteen_seconds_the_shortest_trip_counts) {
  constexpr uint64_t second = 1'000'000'000;
  run_recorder trace;
  for (uint64_t i = 0; i < 40; ++i) {
    const auto way = i % 16 == 5 ? uint64_t{10} : 1000 + i;
    const auto sent = (16 + i) * second;
    trace.on_clock("right", sent, sent + way + 500, sent + way + 500, sent + 2 * way);
  }
  const auto samples = trace.take().clocks.at(0).samples;
  ASSERT_EQ(samples.size(), 3u);
  EXPECT_EQ(samples[0].error, 11u);
  EXPECT_EQ(samples[0].ahead, 500);
  EXPECT_EQ(samples[1].error, 11u);
  EXPECT_EQ(samples[2].error, 11u);
}

TEST(trace, stamps_that_no_clocks_give_are_left_out) {
  run_recorder trace;
  trace.on_clock("right", 1000, 50, 60, 900);
  trace.on_clock("right", 1000, 60, 50, 1100);
  trace.on_clock("right", 1000, 50, 500, 1100);
  EXPECT_TRUE(trace.take().clocks.empty());
}

} // namespace
} // namespace troupe::flight_test
