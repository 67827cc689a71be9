// Trace: what actors did, for the flight recorder and, when, for a timeline (docs/see.md).
//
// An actor tells of each piece of its work once, and its ring takes it to both. The flight recorder has
// all of it without a clock (data/records/flight_recorder.hpp). The timeline, where one is wanted, chooses
// steps: a record costs about as much as a small step's whole bookkeeping, so each ring counts what its
// records cost and records every second, fourth, .. step when that is more than its budget. These are the
// steps whose number is divisible by a power of two, so rings that record less record what others do as
// well, and what goes from one to the other is seen at both ends.
//
//   run_trace --new_ring (actor)--> trace_ring <--traced_work (piece by piece)-- the actor
//       |                               |
//       |                               +--> flight_ring: the actor's part of the mapped file
//       +--take--> process_trace, for a file (data/records/trace_file.hpp)

#pragma once

#include "troupe/coordinators/base/moment.hpp"
#include "troupe/data/records/flight_recorder.hpp"
#include "troupe/data/records/trace_record.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

enum class flow_content : uint64_t { none, gradient, parameters, result };

/// What goes from one actor to another, named by its content: the same at both ends.
struct trace_flow {
  flow_content what = flow_content::none;
  std::array<uint64_t, 5> which{};

  /// Never 0, but for none.
  uint64_t number() const;
};

/// One actor's records. It writes; others may read meanwhile.
class trace_ring {
public:
  /// `lane`: the actor in words. `record_ns`: what a record of the timeline costs. `size_max`: of those;
  /// 0: no timeline is wanted.
  trace_ring(trace_lane lane, double record_ns, size_t size_max, flight_ring recorder = {})
    : recorder_(std::move(recorder)),
      lane_(std::move(lane)),
      record_ns_(record_ns),
      size_max_(size_max) {}

  flight_ring& recorder() { return recorder_; }

  /// True when the timeline has what belongs to this step.
  bool takes(uint64_t step) {
    if (size_max_ == 0)
      return false;
    if (step > step_) // what is of an earlier one may come in between
      begin_step(step);
    return step % every_.load(std::memory_order_relaxed) == 0;
  }
  /// Of a step that it takes. `is_work`: what passed since the last work was a wait; what is sent and
  /// comes in between, or within, is none.
  void add(const trace_record& record, bool is_work);

  trace_lane lane() const;

private:
  void begin_step(uint64_t step);
  void push(const trace_record& record);
  void choose();

  flight_ring recorder_;
  mutable std::mutex mutex_; ///< of the lane
  trace_lane lane_;
  double record_ns_;
  size_t size_max_;
  std::atomic<uint64_t> every_{1};
  size_t next_ = 0;         ///< place of the oldest record, once all places are taken
  uint64_t step_ = 0;       ///< the highest so far
  uint64_t idle_since_ = 0; ///< 0: not known
  uint64_t steps_ = 0;      ///< since it last chose
  uint64_t records_ = 0;    ///< likewise
  uint64_t chosen_at_ = 0;
};

/// What an actor does, from here to the end of the scope. Without a ring it is not recorded; a clock is
/// read for the timeline alone, in steps that it has.
class traced_work {
public:
  traced_work(trace_ring* ring, trace_kind kind, uint64_t step, uint64_t object,
              const trace_flow& flow = {})
    : ring_(ring), kind_(kind) {
    if (!ring_)
      return;
    number_ = ring_->recorder().begin(kind, step, object);
    if (ring_->takes(step))
      begin_record(step, object, flow);
  }
  ~traced_work() {
    if (!ring_)
      return;
    if (has_end(kind_))
      ring_->recorder().end(number_);
    if (record_)
      end_record();
  }
  traced_work(const traced_work&) = delete;
  traced_work& operator=(const traced_work&) = delete;

private:
  void begin_record(uint64_t step, uint64_t object, const trace_flow& flow);
  void end_record();

  trace_ring* ring_;
  trace_kind kind_;
  uint64_t number_ = 0;                ///< of the flight recorder
  std::optional<trace_record> record_; ///< of the timeline
};

/// A process's records.
class run_trace {
public:
  /// `recorder`: null when there is none.
  explicit run_trace(bool has_timeline = true, std::shared_ptr<flight_recorder> recorder = nullptr);

  /// Whose trace it is: a process of a run, and the SHA-256 of its job's identity.
  void begin(std::string process, std::string job);
  std::shared_ptr<trace_ring> new_ring(trace_lane lane);
  /// To be called about ten times a second: the flight recorder has the time from it.
  void tick();
  /// Both clocks at a report of `process`, in nanoseconds: of each 16 s the sample that is best is kept.
  void on_clock(const std::string& process, uint64_t course_sent, uint64_t course_heard,
                uint64_t told, uint64_t heard);

  /// All that was recorded so far.
  process_trace take() const;

private:
  bool has_timeline_;
  std::shared_ptr<flight_recorder> recorder_;
  mutable std::mutex mutex_;
  process_trace head_; ///< without what the rings and clocks have
  std::vector<std::shared_ptr<trace_ring>> rings_;
  std::map<std::string, std::vector<clock_sample>> clocks_;
};

/// An actor's ring; null when nothing is recorded.
std::shared_ptr<trace_ring> ring_of(const std::shared_ptr<run_trace>& trace,
                                    const std::string& actor, const std::string& waits_for = {},
                                    const std::string& sends = {});

} // namespace troupe
