// Event files of TensorBoard, so that the tool people have open anyway shows a run:
//
//   tensorboard/events.out.tfevents.UNIXTIME.HOST.PID.0    one a process's life
//
// A file is a sequence of records, all numbers little-endian:
//
//   length of the event (8 bytes) | masked CRC-32C of these 8 | event | masked CRC-32C of the event
//   masked(c) = ((c >> 15) | (c << 17)) + 0xA282EAD8
//
// An event is a protocol buffer (tensorboard/compat/proto/event.proto):
//
//   wall_time = 1 (double)  step = 2 (varint)  file_version = 3 ("brain.Event:2", the first one)
//   summary = 5 { value = 1 { tag = 1, simple_value = 2 (float) } .. }
//   session_log = 7 { status = 1 (START) }: points of earlier files from this step on are void

#pragma once

#include "data/records/training_record.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

inline constexpr std::string_view tensorboard_folder_name = "tensorboard";

/// How the names of its files begin.
inline constexpr std::string_view tensorboard_file_prefix = "events.out.tfevents.";

/// An event with its length and checksums, as it stands in a file.
std::vector<std::byte> tensorboard_record(std::span<const std::byte> event);

/// The event that each file begins with.
std::vector<std::byte> tensorboard_greeting(double wall_time);

struct tensorboard_scalar {
  std::string tag;
  double value = 0; ///< kept as a float

  friend bool operator==(const tensorboard_scalar&, const tensorboard_scalar&) = default;
};

std::vector<std::byte> tensorboard_scalars(double wall_time, uint64_t step,
                                           std::span<const tensorboard_scalar> scalars);

/// Says that what was told of `step` and later ones is told anew.
std::vector<std::byte> tensorboard_restart(double wall_time, uint64_t step);

/// What is shown of a row: its figures that have a tag and were measured, and the speed since the
/// row before (`before`; nothing: since training began).
std::vector<tensorboard_scalar> tensorboard_scalars_of(const history_row& row,
                                                       const std::optional<history_row>& before);

/// The file of one process's life. Each row is one write; its figures are there for a reader at
/// once, and not forced to the disk.
class tensorboard_writer {
public:
  /// Makes the folder if there is none, and in it a file whose name comes after all that are there:
  /// TensorBoard reads on in the last one. `earlier` are the rows that a resumed run goes on from:
  /// points of earlier lives after them are void. Throws failure(cannot_create | io_error).
  tensorboard_writer(const std::string& folder, std::optional<std::vector<history_row>> earlier);

  const std::string& path() const noexcept { return path_; }

  /// Adds a row; one of a version that was left behind (steps done once more) voids the points from
  /// there on. Throws failure(io_error).
  void add(const history_row& row);

private:
  void append(const std::vector<std::byte>& bytes) const;
  void void_points_from(uint64_t step) const;

  std::string path_;
  std::vector<history_row> rows_; ///< that hold, of all lives
};

} // namespace troupe
