// Trace: what actors did when, for a timeline (docs/see.md).
//
// Each actor has a ring of its own, which keeps the newest records. Recording chooses steps: a record
// costs about as much as a small step's whole bookkeeping, so each ring counts what its records cost and
// records every second, fourth, .. step when that is more than its budget. These are the steps whose
// number is divisible by a power of two, so rings that record less record what others do as well, and what
// goes from one to the other is seen at both ends.
//
//   run_trace --new_ring (actor)--> trace_ring <--traced_work (piece by piece)-- the actor
//       |
//       +--take--> process_trace, for a file (data/records/trace_file.hpp)

#pragma once

#include "troupe/coordinators/base/moment.hpp"
#include "troupe/data/records/trace_record.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace troupe {

/// One actor's records. It writes; others may read meanwhile.
class trace_ring {
public:
  /// `lane`: the actor in words. `record_ns`: what a record costs. `size_max`: records.
  trace_ring(trace_lane lane, double record_ns, size_t size_max)
    : lane_(std::move(lane)), record_ns_(record_ns), size_max_(size_max) {}

  /// True when what belongs to this step is recorded.
  bool takes(uint64_t step) {
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

/// What an actor does, from here to the end of the scope. Without a ring, or in a step that is not
/// recorded, no clock is read.
class traced_work {
public:
  traced_work(trace_ring* ring, trace_kind kind, uint64_t step, uint64_t object, uint64_t flow = 0)
    : ring_(ring && ring->takes(step) ? ring : nullptr) {
    if (ring_)
      record_ = {nanoseconds_of(moment::clock::now()), 0,   flow, static_cast<uint32_t>(step),
                 static_cast<uint16_t>(object),        kind};
  }
  ~traced_work() {
    if (!ring_)
      return;
    record_.length = nanoseconds_of(moment::clock::now()) - record_.begin;
    ring_->add(record_, record_.kind != trace_kind::send && record_.kind != trace_kind::receive);
  }
  traced_work(const traced_work&) = delete;
  traced_work& operator=(const traced_work&) = delete;

private:
  trace_ring* ring_;
  trace_record record_;
};

enum class flow_content : uint64_t { gradient = 1, parameters, result };

/// Names what goes from one actor to another by its content: the same number at both ends. Never 0.
uint64_t flow_of(flow_content what, std::initializer_list<uint64_t> which);

/// A process's records.
class run_trace {
public:
  run_trace();

  /// Whose trace it is: a process of a run, and the SHA-256 of its job's identity.
  void begin(std::string process, std::string job);
  std::shared_ptr<trace_ring> new_ring(trace_lane lane);
  /// Both clocks at a report of `process`, in nanoseconds: of each 16 s the sample that is best is kept.
  void on_clock(const std::string& process, uint64_t course_sent, uint64_t course_heard,
                uint64_t told, uint64_t heard);

  /// All that was recorded so far.
  process_trace take() const;

private:
  mutable std::mutex mutex_;
  process_trace head_; ///< without what the rings and clocks have
  std::vector<std::shared_ptr<trace_ring>> rings_;
  std::map<std::string, std::vector<clock_sample>> clocks_;
};

} // namespace troupe
