// What a recorder holds: pieces of actors' work, who waited, what went from whom to whom. run_recorder.hpp
// records, trace_file.hpp writes and merges timelines, flight_log.hpp reads what a dead process did last.

#pragma once

#include "models/base/names.hpp"

#include <array>
#include <cstdint>
#include <string>
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
  uint32_t step = 0;   ///< or version, or an order's number; its low 32 bits
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

} // namespace troupe
