#include "data/records/run_recorder.hpp"

#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <thread>

namespace troupe::run_recorder_test {
namespace {

using namespace std::chrono_literals;

trace_track track_of(const std::string& actor) {
  trace_track result;
  result.actor = actor;
  return result;
}

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
  constexpr auto no_end = trace_record::no_end;
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
} // namespace troupe::run_recorder_test
