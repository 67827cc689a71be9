// Run recorder: what the actors of a process did. An actor tells of each piece of its work once:
//
//   run_recorder --new_ring (actor)--> trace_ring <--traced_work (piece by piece)-- the actor
//       |                                 |
//       |                                 +--> the flight recorder: all records, without a clock
//       +--take--> process_trace          +--> the timeline, where one is wanted: chosen steps
//
// The flight recorder is a file that is mapped and shared, so whatever ends the process (SIGKILL, the
// kernel for want of memory, an abort) leaves it as it was: there is no moment of writing that could be
// missed. A record costs a few nanoseconds, because no clock is read for it: a thread that waits anyway
// tells the time ten times a second (`tick`), and records take that. flight_log (trace_record.hpp) reads the file,
// data/run_folder/run_directory.hpp looks after those of dead processes.
//
// A record of the timeline costs about as much as a small step's whole bookkeeping, so each ring counts
// what its records cost and records every second, fourth, .. step when that is more than its budget.
// These are the steps whose number is divisible by a power of two, so rings that record less record what
// others do as well, and what goes from one to the other is seen at both ends. trace_file.hpp writes it.

#pragma once

#include "data/disk/open_file.hpp"
#include "data/records/trace_record.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
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

/// One actor's records. One thread at a time writes; others may read meanwhile.
class trace_ring {
public:
  /// `track`: the actor in words. `record_ns`: what a record of the timeline costs. `size_max`: of those;
  /// 0: no timeline is wanted.
  trace_ring(trace_track track, double record_ns, size_t size_max)
    : track_(std::move(track)), record_ns_(record_ns), size_max_(size_max) {}

  /// From now on it is in the flight recorder. `memory`: what `header` and the cells behind it lie in;
  /// `now`: the time, likewise.
  void map(std::shared_ptr<void> memory, flight_ring_header& header, uint64_t& now);

  /// A record of the flight recorder, if there is one: its number, for `end`.
  uint64_t begin(trace_kind kind, uint64_t step, uint64_t object) {
    if (!cells_)
      return 0;
    const auto number = load(*recorded_);
    auto& cell = cells_[number & last_cell_];
    store(cell.what,
          (step & 0xffffffff) | (object & 0xffff) << 32 | (static_cast<uint64_t>(kind) + 1) << 48);
    store(cell.times, load(*now_));
    std::atomic_ref{*recorded_}.store(number + 1, std::memory_order_release);
    return number;
  }
  void end(uint64_t number) {
    if (!cells_ || load(*recorded_) - number > last_cell_)
      return; // written over by what came within
    auto& times = cells_[number & last_cell_].times;
    store(times, (load(times) & 0xffffffff) | (load(*now_) + 1) << 32);
  }
  /// Whether the flight recorder has any.
  bool has_records() const { return cells_ && load(*recorded_) > 0; }

  /// True when the timeline has what belongs to this step.
  bool takes(uint64_t step) {
    if (size_max_ == 0)
      return false;
    if (step > step_) // what is of an earlier one may come in between
      begin_step(step);
    return step % every_.load(std::memory_order_relaxed) == 0;
  }
  /// Of a step that it takes. What passed between two pieces of work was a wait; what is sent and comes
  /// in between, or within, does not end it.
  void add(const trace_record& record);

  /// The timeline's records.
  trace_track track() const;

private:
  static uint64_t load(uint64_t& x) { return std::atomic_ref{x}.load(std::memory_order_relaxed); }
  static void store(uint64_t& x, uint64_t value) {
    std::atomic_ref{x}.store(value, std::memory_order_relaxed);
  }
  void begin_step(uint64_t step);
  void push(const trace_record& record);
  void choose();

  std::shared_ptr<void> memory_; ///< an actor may outlive its run
  flight_cell* cells_ = nullptr;
  uint64_t* recorded_ = nullptr;
  uint64_t* now_ = nullptr;
  uint64_t last_cell_ = 0;

  mutable std::mutex mutex_; ///< of the track
  trace_track track_;
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
    number_ = ring_->begin(kind, step, object);
    if (ring_->takes(step))
      begin_record(step, object, flow);
  }
  ~traced_work() {
    if (!ring_)
      return;
    if (has_end(kind_))
      ring_->end(number_);
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

/// Whose flight recorder it is, and where.
struct flight_place {
  std::string folder; ///< in memory: /dev/shm; empty: there is none
  std::string process;
  std::string job;
  std::string run_directory; ///< absolute
};

/// A process's records. Its flight recorder is a file FOLDER/troupe-PROCESS-PID.flight of fixed size, and
/// locked for as long as the process lives, so that others see whose process is gone.
class run_recorder {
public:
  /// Throws failure(cannot_create | no_permission | io_error) when there can be no such file.
  explicit run_recorder(const flight_place& place = {}, bool has_timeline = true);

  /// Where the file lies; empty: there is none. It stays there.
  const std::string& path() const { return path_; }

  /// Whose records they are: a process of a run, and the SHA-256 of its job's identity.
  void begin(std::string process, std::string job);
  /// Of the timeline 65,536 records, of the flight recorder 4,096; fewer when there are more than 32 rings.
  /// When the file has no room, with some 180, its records are not there, and it is counted.
  std::shared_ptr<trace_ring> new_ring(trace_track track);
  /// To be called about ten times a second: what the flight recorder has from now on happens now.
  void tick();
  /// Both clocks at a report of `process`, in nanoseconds: of each 16 s the sample that is best is kept.
  void on_clock(const std::string& process, uint64_t directive_sent, uint64_t directive_heard,
                uint64_t told, uint64_t heard);

  /// All that the timeline has so far.
  process_trace take() const;

  /// Whether the flight recorder has anything.
  bool has_records() const;
  /// Lets go of the file, as the end of the process does. What is recorded after that is recorded still.
  void let_go();

private:
  flight_header& header() const { return *reinterpret_cast<flight_header*>(memory_.get()); }
  void open_file_in(const flight_place& place);
  void map(trace_ring& ring, const trace_track& track);

  bool has_timeline_;
  std::string path_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::shared_ptr<std::byte> memory_; ///< null: there is no flight recorder
  open_file file_;
  mutable std::mutex mutex_; ///< of what follows
  size_t used_ = flight_header_bytes;
  process_trace head_; ///< without what the rings and clocks have
  std::vector<std::shared_ptr<trace_ring>> rings_;
  std::map<std::string, std::vector<clock_sample>> clocks_;
};

/// An actor's ring; null when nothing is recorded.
std::shared_ptr<trace_ring> ring_of(const std::shared_ptr<run_recorder>& trace,
                                    const std::string& actor, const std::string& waits_for = {},
                                    const std::string& sends = {});

} // namespace troupe
