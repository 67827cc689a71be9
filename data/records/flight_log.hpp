// Flight log: what a flight recorder's file says (run_recorder.hpp), of a process that is dead or that
// still runs. The file has the bytes that lay in the process's memory:
//
//   header | ring of actor 0: its header, its cells | ring of actor 1 | ..
//
// Numbers are those of the machine. Times are hundredths of a second since the process began to record.

#pragma once

#include "data/records/trace_record.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace troupe {

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
flight_log read_flight(std::span<const std::byte> bytes, const std::string& where);

} // namespace troupe
