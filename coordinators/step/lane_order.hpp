// Lanes: the order in which an epoch visits the training rows so that no process needs all of them.
//
// Rows lie in chunks (of a file, or counted off in memory). Each epoch puts the chunks into a random
// order; all rows in that order are one sequence, and slice i of S trains on a stretch of it of its
// own, its lane. A lane is cut into windows of W chunks, and the rows of a window are shuffled.
//
//   chunks, permuted      | 7 | 2 | 5 | 0 | 6 | 1 | 4 | 3 |
//   lanes of 2 slices     |------ slice 0 -----|--- slice 1 -|
//   windows of 2 chunks   |-- 0 --|-- 1 --|-2--|0|-- 1 --|...
//
// So a process reads the stretches of its slices and nothing else, chunk by chunk: n processes read
// N / n rows each. A chunk in which a lane ends belongs to two lanes, and is read twice.
//
// A slice has as many rows in an epoch as the timeline gives it. Which ones is a function of (seed,
// epoch, S, chunks, W) alone. Memory is O(chunks) for an epoch and O(rows of a window) for each
// window in use.
//
// Windows are cut where chunks end, so that no chunk lies in two windows of a lane. What W costs and
// gives: a file sorted by label trains as if it were shuffled once a window holds rows of all
// labels; docs/data.md has figures.

#pragma once

#include "coordinators/step/timeline.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe {

struct lane_options {
  uint64_t seed = 0; ///< of the job
  timeline plan;
  /// Training rows before each chunk, and at the end plan.row_count: M + 1 numbers that do not fall.
  /// A chunk may have none.
  std::vector<uint64_t> chunk_begins;
  size_t window_chunks = 1; ///< W >= 1
};

/// The order of one epoch's chunks.
struct lane_epoch {
  uint64_t epoch = 0;
  std::vector<uint32_t> chunks; ///< M
  std::vector<uint64_t> begins; ///< M + 1: rows of the sequence before each of them
};

/// A window of a lane.
struct lane_window {
  index_range positions;        ///< within the lane
  std::vector<uint32_t> chunks; ///< of its rows, in the epoch's order
  std::vector<uint32_t> rows;   ///< the training rows at these positions
};

class lane_order {
public:
  /// Throws std::invalid_argument when the chunks do not have the timeline's rows.
  explicit lane_order(lane_options options);

  lane_epoch epoch(uint64_t number) const;

  /// Where a step's slice lies within its lane: rows_of_slice().size() positions.
  index_range positions(uint64_t step, size_t slice) const;

  /// The number of the window that holds a position of a slice's lane, and how many there are.
  size_t window_at(const lane_epoch& order, size_t slice, size_t position) const;
  size_t window_count(const lane_epoch& order, size_t slice) const;

  lane_window window(const lane_epoch& order, size_t slice, size_t number) const;

private:
  /// A slice's rows in a whole step, and in the rows of an epoch.
  size_t step_rows(size_t slice) const;
  index_range lane_of(size_t slice) const;
  /// The place in the epoch's order of the chunk with this row of the sequence.
  size_t chunk_at(const lane_epoch& order, size_t row) const;

  lane_options options_;
  std::vector<size_t> begins_; ///< of the lanes, and at the end all rows
};

} // namespace troupe
