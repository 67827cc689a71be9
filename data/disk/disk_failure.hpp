// How a disk that refuses is told to people: the code by the reason, what was needed and what there
// is when it is full, and what to do.

#pragma once

#include "troupe/data/text/failure.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace troupe {

/// What could not be done, on which file, and why.
struct disk_refusal {
  std::string what; ///< "cannot write the file"
  std::string path;
  int error_number = 0; ///< errno
};

/// How much of a disk was asked for, and how much it has for us.
struct disk_room {
  uint64_t bytes_needed = 0;
  std::optional<uint64_t> bytes_available; ///< nothing when that is not known
};

/// The failure of writing something: cannot_create, no_permission or io_error. The room is told
/// only when the disk is full.
failure writing_failure(const disk_refusal& refusal, const disk_room& room);

/// The failure of reading something: missing_input, no_permission or io_error.
failure reading_failure(const disk_refusal& refusal);

} // namespace troupe
