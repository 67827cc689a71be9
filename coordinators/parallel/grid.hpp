// The grid: which partition each of a run's replicas gets where models are split over them.
//
// D groups have the slices, each cut into P stages (segments), each of A replicas (parts). Replicas
// get their places in order,
//
//   rank = (group * P + stage) * A + a
//
// so that neighbours share most. Parts of a stage exchange partial sums for each segment; stages of
// a group pass on its activations; groups meet once a step. Slices and parts are split evenly;
// segments by their costs, as the slowest stage sets the pace of all.

#pragma once

#include "coordinators/base/canonical_tree.hpp"
#include "models/base/names.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace troupe {

// The schedule of a pipeline: in which order a stage takes up the slices of a step, and how many of
// them it may have in flight. Both schedules are idle for the same (P - 1) / (M + P - 1) of a step
// of M slices on P stages; they differ in how many slices' activations are kept:
//
//   GPipe   forward first: all M slices, then back (Huang et al. 2019, arXiv:1811.06965)
//   1F1B    backward first: P slices at the first stage, one at the last (PipeDream,
//           Narayanan et al. 2019; with flushes, Megatron-LM, arXiv:2104.04473)
//
// The tile rule (tile_rule.hpp) makes them of these two numbers. Neither shows in the result.

enum class pipeline_schedule : uint8_t { one_forward_one_backward, gpipe };

template <>
struct name_table<pipeline_schedule> {
  static constexpr std::array entries{named(pipeline_schedule::one_forward_one_backward, "1f1b"),
                                      named(pipeline_schedule::gpipe, "gpipe")};
};

/// A stage of a group.
struct stage_place {
  size_t stage = 0; ///< counted from 0, below stage_count
  size_t stage_count = 1;
  size_t tensor_replica_count = 1; ///< that share the parts of each segment
};

/// Stands for a bound that is none.
inline constexpr size_t any_number_in_flight = std::numeric_limits<size_t>::max();

/// How many slices a replica of a stage may have in flight, at least 1. In a 1F1B pipeline as many
/// as there are stages from it on: what a slice's way to the end and back takes. One more would be
/// kept for nothing, one fewer leaves the stage idle. Replicas that share a stage compute a second
/// slice while sums of the first are under way. A replica that computes alone gains nothing by a
/// second. Over slow wires one or two more pay: with a latency of a quarter of a forward tile, 4
/// stages and 16 slices, the idle share falls from 0.25 to 0.22 and 0.19.
constexpr size_t in_flight_bound(pipeline_schedule schedule, const stage_place& place) {
  if (place.stage_count > 1 && schedule == pipeline_schedule::gpipe)
    return any_number_in_flight;
  const size_t least = place.tensor_replica_count > 1 ? 2 : 1;
  return std::max(place.stage_count - place.stage, least);
}

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
/// says, but no more than slices, and no more than are whole with these replicas; without a single one
/// no replica has work. Replicas beyond the groups are spares, with empty partitions. Throws
/// std::invalid_argument when a shape is zero somewhere, there are more replicas of a stage than
/// parts, more stages than segments, or `stages` does not fit both.
std::vector<partition> place_partitions(const grid_shape& shape, const grid_work& work,
                                        size_t replica_count);

/// The stage of a member of a group, whose stages have equally many members each.
stage_place stage_in(const std::vector<partition>& group, size_t member);

// ---- How a model is split over the replicas of a group, and where in it lies what each contributes ----

/// Parameters whose gradient one replica of a group contributes: the one that carries this part of
/// this segment. The replica with part 0 contributes what all parts have in common.
struct split_tile {
  size_t segment = 0;
  size_t part = 0;
  index_range elements; ///< of the model

  bool is_of(const partition& work) const {
    return work.segments.contains(segment) && work.parts.contains(part);
  }
  friend bool operator==(const split_tile&, const split_tile&) = default;
};

/// As it is by default: the model is not split.
struct model_split {
  grid_shape shape; ///< `data`: groups that are wanted
  size_t part_count = 1;
  std::vector<uint64_t> segment_costs;
  std::vector<size_t> stages;
  std::vector<index_range> layers; ///< of each segment
  std::vector<split_tile> tiles;   ///< all of the model's, in order of their elements
  bool sharded = false;            ///< replicas compute whole models, tile by tile

  bool splits() const { return shape.group_size() > 1 || sharded; }
  friend bool operator==(const model_split&, const model_split&) = default;
};

/// "3", "0-3": the last is named, too.
std::string range_text(const index_range& x);

/// "slices 0-3, layers 0-1, part 0 of 2", without a part where layers are not cut; "spare" of an
/// empty one.
std::string partition_text(const partition& work, const model_split& split);

} // namespace troupe
