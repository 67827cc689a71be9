// Flight log: what a flight recorder's file says (data/records/flight_recorder.hpp), of a process that is
// dead or that still runs.

#pragma once

#include "troupe/data/records/trace_record.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// Times in hundredths of a second since the process began to record; right within a tenth or two.
struct flight_record {
  trace_kind kind = trace_kind::wait;
  uint32_t step = 0;   ///< or version, or an order's number; its low 32 bits
  uint16_t object = 0; ///< slice, or the other end's index; its low 16 bits
  uint32_t begin = 0;
  std::optional<uint32_t> end; ///< nothing: under way; of what is sent or comes, never told

  friend bool operator==(const flight_record&, const flight_record&) = default;
};

/// What one actor did last.
struct flight_lane {
  std::string actor;
  std::string waits_for;
  std::string sends;
  uint64_t recorded = 0;              ///< ever
  std::vector<flight_record> records; ///< the newest, oldest first
};

struct flight_log {
  std::string process;
  std::string job;
  std::string job_sha256; ///< empty: it had not got so far
  std::string run_directory;
  uint64_t process_id = 0;
  uint64_t begin_unix_ms = 0;
  uint32_t last_sign = 0; ///< of life
  uint64_t actors_left_out = 0;
  bool is_cut = false; ///< not all rings are whole: the others are here
  std::vector<flight_lane> lanes;
};

/// Throws failure(bad_data) at `where` for what is no such file. What of it is damaged is left out.
flight_log read_flight(std::span<const std::byte> bytes, const std::string& where);

/// Bytes of a whole file that hold something; the rest was room for more actors.
size_t used_flight_bytes(std::span<const std::byte> bytes);

} // namespace troupe
