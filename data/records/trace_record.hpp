// What a recorder holds: pieces of actors' work, who waited, what went from whom to whom. run_recorder.hpp
// records, trace_file.hpp writes and merges timelines, a flight log tells what a dead process did last.

#pragma once

#include "models/base/names.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace troupe {

enum class trace_kind : uint8_t {
  wait,     ///< for what its actor waits for
  slice,    ///< the gradient of rows; local steps on them
  tile,     ///< of a split model: some rows through some segments, or back
  clients,  ///< of a federated round
  evaluate, ///< a share of a version's evaluation
  update,   ///< gradients are added and the optimizer applied
  hash,
  copy,       ///< for a checkpoint
  send,       ///< of values to another actor; the begin of a flow
  receive,    ///< its end
  send_piece, ///< of values over a wire
  receive_piece,
  credit, ///< something waits until a link has credit again
  write,  ///< of a part of a checkpoint, and all else that goes to the disk
  finish, ///< a checkpoint: it reaches the disk and has its name
  read,
};

template <>
struct name_table<trace_kind> {
  static constexpr std::array entries{named(trace_kind::wait, "wait"),
                                      named(trace_kind::slice, "slice"),
                                      named(trace_kind::tile, "tile"),
                                      named(trace_kind::clients, "clients"),
                                      named(trace_kind::evaluate, "evaluate"),
                                      named(trace_kind::update, "add and update"),
                                      named(trace_kind::hash, "hash"),
                                      named(trace_kind::copy, "copy for checkpoint"),
                                      named(trace_kind::send, "send"),
                                      named(trace_kind::receive, "receive"),
                                      named(trace_kind::send_piece, "send piece"),
                                      named(trace_kind::receive_piece, "receive piece"),
                                      named(trace_kind::credit, "wait for credit"),
                                      named(trace_kind::write, "write"),
                                      named(trace_kind::finish, "finish checkpoint"),
                                      named(trace_kind::read, "read")};
};

/// Whether it takes its actor's time, and so ends its wait: what comes or goes in between does not.
constexpr bool is_work(trace_kind x) {
  return x != trace_kind::send && x != trace_kind::receive && x != trace_kind::send_piece &&
         x != trace_kind::receive_piece && x != trace_kind::credit;
}

/// Whether a flight recorder tells that it has ended: what comes or goes is over at once.
constexpr bool has_end(trace_kind x) {
  return is_work(x) || x == trace_kind::credit;
}

/// Times in nanoseconds of the process's steady clock.
struct trace_record {
  static constexpr uint64_t no_end = ~uint64_t{0};

  uint64_t begin = 0;
  uint64_t length =
    0; ///< or `no_end`, in a flight recorder: under way; of what comes or goes, never told
  uint64_t flow =
    0; ///< of `send` and `receive`: the same at both ends, whatever the processes. 0: none
  uint32_t step = 0;   ///< or version, or a task's number; its low 32 bits
  uint16_t object = 0; ///< slice, or the other end's index; its low 16 bits
  trace_kind kind = trace_kind::wait;

  friend bool operator==(const trace_record&, const trace_record&) = default;
};

/// What one actor recorded: in a timeline in order of its ends, in a flight recorder of its begins.
struct trace_track {
  std::string actor;     ///< "replica 0"
  std::string waits_for; ///< "parameters"
  std::string sends;     ///< "gradient"
  uint64_t every = 1;    ///< at the end it recorded each of so many steps
  uint64_t dropped = 0;  ///< records for which there was no room any more: the oldest
  std::vector<trace_record> records;
};

/// What a record says to people: "slice", "wait for parameters", "receive parameters", "send gradient".
std::string trace_words(trace_kind kind, const trace_track& track);

/// What a record's object is: "slice", "to", "from", "piece"; null: nothing.
const char* trace_object_name(trace_kind kind);

/// How a process's clock stood to the director's at a moment. Nanoseconds.
struct clock_sample {
  uint64_t at = 0;    ///< by the director's clock
  int64_t ahead = 0;  ///< the process's clock less the director's
  uint64_t error = 0; ///< `ahead` is right up to this

  friend bool operator==(const clock_sample&, const clock_sample&) = default;
};

struct process_clock {
  std::string process;
  std::vector<clock_sample> samples; ///< in order of time

  friend bool operator==(const process_clock&, const process_clock&) = default;
};

/// What a process knows of a run's timeline.
struct process_trace {
  std::string process;  ///< its name in the cluster
  std::string job;      ///< SHA-256 of its identity
  std::string boot;     ///< of the machine: processes of one have one clock. Empty: not known
  double record_ns = 0; ///< that a record costs
  std::vector<trace_track> tracks;
  std::vector<process_clock> clocks; ///< on the director: of the others
};

// Flight log: what a flight recorder's file says (run_recorder.hpp), of a process that is dead or that
// still runs. The file has the bytes that lay in the process's memory:
//
//   header | ring of actor 0: its header, its cells | ring of actor 1 | ..
//
// Numbers are those of the machine. Times are hundredths of a second since the process began to record.

inline constexpr std::array<char, 8> flight_mark{'t', 'r', 'f', 'l', 'i', 'g', 'h', '1'};

/// Of a process. Texts end with a zero, or with their array.
struct flight_header {
  std::array<char, 8> mark;
  uint64_t process_id;
  uint64_t begin_unix_ms; ///< by the machine's clock
  uint64_t now;           ///< told ten times a second: the last sign of life
  uint64_t ring_count;
  uint64_t rings_left_out; ///< actors for which there was no room
  std::array<char, 128> process;
  std::array<char, 128> job;
  std::array<char, 64> job_sha256;
  std::array<char, 1024> run_directory; ///< absolute
};

/// Before a ring's cells.
struct flight_ring_header {
  uint64_t cell_count; ///< a power of two
  uint64_t recorded;   ///< ever; the newest record is in cell (recorded - 1) % cell_count
  std::array<char, 48> actor;
  std::array<char, 32> waits_for;
  std::array<char, 32> sends;
};

/// A record: two words, each stored at once.
struct flight_cell {
  uint64_t what; ///< step (low 32 bits), object (16), kind + 1 (8); 0: never written
  uint64_t
    times; ///< begin (low 32 bits), end + 1 (32); 0 in the end's place: under way, or not told
};

/// Of the whole file, taken at once.
inline constexpr size_t flight_file_bytes = size_t{4} << 20;
inline constexpr size_t flight_header_bytes = 1536;
inline constexpr size_t flight_ring_header_bytes = 128;

static_assert(sizeof(flight_header) <= flight_header_bytes);
static_assert(sizeof(flight_ring_header) == flight_ring_header_bytes);
static_assert(sizeof(flight_cell) == 16);
static_assert(std::is_trivially_copyable_v<flight_header> &&
              std::is_trivially_copyable_v<flight_ring_header>);

struct flight_log {
  std::string process;
  std::string job;
  std::string job_sha256; ///< empty: it had not got so far
  std::string run_directory;
  uint64_t process_id = 0;
  uint64_t begin_unix_ms = 0;
  uint64_t last_sign_ns = 0; ///< of life, since it began to record
  uint64_t actors_left_out = 0;
  size_t used_bytes = 0; ///< of the file hold something; the rest was room for more actors
  bool is_cut = false;   ///< not all rings are whole: the others are here
  std::vector<trace_track>
    tracks; ///< times since it began to record, right within a tenth or two seconds
};

/// Throws failure(bad_data) at `where` for what is no such file. What of it is damaged is left out.
flight_log read_flight(std::span<const std::byte> file, const std::string& where);

} // namespace troupe
