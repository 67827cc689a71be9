// The grid: which partition each of a run's replicas gets where models are split over them.
//
// D groups have the slices, each cut into P stages (segments), each of A replicas (parts). Replicas
// get their places in order,
//
//   rank = (group * P + stage) * A + a
//
// so that neighbours share most: first the parts of a stage, which exchange partial sums for each
// segment, then the stages of a group, which pass on its activations, then groups, which meet once
// a step. Slices and parts are split evenly; segments by their costs, as the slowest stage sets the
// pace of all.

#pragma once

#include "coordinators/base/canonical_tree.hpp"
#include "coordinators/parallel/pipeline_schedule.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe {

// A partition: what one replica works on. A replica that computes alone has all segments and all parts
// of its slices; where a model is split, several replicas with smaller partitions of the same slices
// make up a group. It is placement: no bit of the result depends on it.
struct partition {
  index_range slices;   ///< of each step
  index_range segments; ///< of the model
  index_range parts;    ///< of each cut layer

  /// Of a spare: nothing to compute.
  bool empty() const { return slices.empty() || segments.empty() || parts.empty(); }
  friend auto operator<=>(const partition&, const partition&) = default;
};

/// How many replicas the slices, the parts, and the segments are split over; all at least 1.
struct grid_shape {
  size_t data = 1;     ///< D groups
  size_t tensor = 1;   ///< A replicas of a stage
  size_t pipeline = 1; ///< P stages of a group

  size_t group_size() const { return tensor * pipeline; }
  friend bool operator==(const grid_shape&, const grid_shape&) = default;
};

/// What there is to be split.
struct grid_work {
  size_t slice_count = 1;
  size_t part_count = 1;               ///< T: in how many parts the job cuts a layer
  std::vector<uint64_t> segment_costs; ///< multiply-adds of a row, say; one for each segment
  std::vector<size_t> stages;          ///< segments of each stage; empty: balanced by cost
};

/// The segments of each of `stage_count` stages, at least one each: the largest cost of a stage is
/// the least there is, and so it is for the stages behind each. Of equal splits the one with the
/// shorter earlier stages: these have most slices in flight. Throws std::invalid_argument when there
/// are fewer segments than stages, or no stages.
std::vector<index_range> balance_stages(const std::vector<uint64_t>& costs, size_t stage_count);

/// The partition of each of `replica_count` replicas, by rank. There are as many groups as the shape
/// says, but no more than slices, and no more than are whole with these replicas; without a single
/// one nobody has anything to do. Replicas beyond the groups are spares, with empty partitions. Throws
/// std::invalid_argument when a shape is zero somewhere, there are more replicas of a stage than
/// parts, more stages than segments, or `stages` does not fit both.
std::vector<partition> place_partitions(const grid_shape& shape, const grid_work& work,
                                        size_t replica_count);

/// The stage of a member of a group, whose stages have equally many members each.
stage_place stage_in(const std::vector<partition>& group, size_t member);

} // namespace troupe
