// How a flight recorder's file lies in memory and on the disk: the same bytes, for the process that
// writes them is dead when they are read (data/records/flight_recorder.hpp writes, flight_log.hpp reads).
//
//   header | ring of actor 0: its header, its cells | ring of actor 1 | ..
//
// Numbers are those of the machine. Times are hundredths of a second since the process began to record.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

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

inline constexpr size_t flight_header_bytes = 1536;
inline constexpr size_t flight_ring_header_bytes = 128;

static_assert(sizeof(flight_header) <= flight_header_bytes);
static_assert(sizeof(flight_ring_header) == flight_ring_header_bytes);
static_assert(sizeof(flight_cell) == 16);
static_assert(std::is_trivially_copyable_v<flight_header> &&
              std::is_trivially_copyable_v<flight_ring_header>);

} // namespace troupe
