// Flight recorder: what each actor of a process did last, in memory that survives the process.
//
// It is a file that is mapped and shared, so whatever ends the process (SIGKILL, the kernel for want of
// memory, an abort) leaves it as it was: there is no moment of writing that could be missed. Each actor
// has a ring of small records; one costs a few nanoseconds, because no clock is read for it: a thread that
// waits anyway tells the time ten times a second (`tick`), and records take that. actors/base/trace.hpp
// records, flight_log.hpp reads; data/run_folder/flight_files.hpp looks after the files of dead processes.

#pragma once

#include "troupe/data/disk/open_file.hpp"
#include "troupe/data/records/flight_layout.hpp"
#include "troupe/data/records/trace_record.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace troupe {

/// An actor's records. One thread at a time writes. One that is empty records nothing.
class flight_ring {
public:
  flight_ring() = default;
  /// `memory`: what `header` and the cells behind it lie in; `now`: the time, likewise.
  flight_ring(std::shared_ptr<void> memory, flight_ring_header* header, uint64_t* now)
    : memory_(std::move(memory)),
      cells_(reinterpret_cast<flight_cell*>(header + 1)),
      recorded_(&header->recorded),
      now_(now),
      last_cell_(header->cell_count - 1) {}

  /// The number of the record, for `end`.
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

private:
  static uint64_t load(uint64_t& x) { return std::atomic_ref{x}.load(std::memory_order_relaxed); }
  static void store(uint64_t& x, uint64_t value) {
    std::atomic_ref{x}.store(value, std::memory_order_relaxed);
  }

  std::shared_ptr<void> memory_; ///< an actor may outlive its run
  flight_cell* cells_ = nullptr;
  uint64_t* recorded_ = nullptr;
  uint64_t* now_ = nullptr;
  uint64_t last_cell_ = 0;
};

/// Whose recorder it is, and where.
struct flight_place {
  std::string folder; ///< in memory: /dev/shm
  std::string process;
  std::string job;
  std::string run_directory; ///< absolute
};

/// A process's recorder: a file FOLDER/troupe-PROCESS-PID.flight of fixed size. It is locked for as long as
/// the process lives, so that others see whose process is gone.
class flight_recorder {
public:
  /// What the file takes, all of it at once.
  static constexpr size_t file_bytes = size_t{4} << 20;

  /// Throws failure(cannot_create | no_permission | io_error) when there can be no such file.
  explicit flight_recorder(const flight_place& place);

  /// Where the file lies. It stays there.
  const std::string& path() const { return path_; }

  /// The SHA-256 of the job's identity, once it is known.
  void set_job(const std::string& sha256);
  /// A ring of 4,096 records, of fewer when there are more than 32; when there is no room, with some 180,
  /// an empty one, which is counted.
  flight_ring new_ring(const trace_lane& lane);
  /// What is recorded from now on happens now.
  void tick();

  /// Whether anybody has recorded anything.
  bool has_records() const;
  /// Lets go of the file, as the end of the process does. What is recorded after that is recorded still.
  void let_go();

private:
  flight_header& header() const { return *reinterpret_cast<flight_header*>(memory_.get()); }

  std::string path_;
  std::chrono::steady_clock::time_point begin_;
  std::shared_ptr<std::byte> memory_;
  open_file file_;
  mutable std::mutex mutex_; ///< of what follows
  size_t used_ = flight_header_bytes;
};

} // namespace troupe
