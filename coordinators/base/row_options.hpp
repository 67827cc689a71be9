// What a job says of rows beyond what they are: how they are cut from a text, and visited by lanes.

#pragma once

#include <cstddef>
#include <optional>

namespace troupe {

/// Rows of lanes.
struct lane_sizes {
  std::optional<size_t>
    chunk_rows; ///< of a chunk, >= 1; absent: the file's, else about 1 MiB of rows
  std::optional<size_t> window_rows; ///< of all windows together, >= 1; absent: 64 MiB

  friend bool operator==(const lane_sizes&, const lane_sizes&) = default;
};

/// text: how rows are cut from it.
struct window_options {
  size_t window = 32; ///< characters that a row has, >= 1; the next one is its class
  size_t stride = 1;  ///< characters from one row to the next, >= 1

  friend bool operator==(const window_options&, const window_options&) = default;
};

} // namespace troupe
