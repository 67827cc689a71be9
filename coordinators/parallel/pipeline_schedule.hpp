// The schedule of a pipeline: in which order a stage takes up the slices of a step, and how many of
// them it may have in flight. Both schedules are idle for the same (P - 1) / (M + P - 1) of a step
// of M slices on P stages; they differ in how many slices' activations are kept:
//
//   GPipe   forward first: all M slices, then back (Huang et al. 2019, arXiv:1811.06965)
//   1F1B    backward first: P slices at the first stage, one at the last (PipeDream,
//           Narayanan et al. 2019; with flushes, Megatron-LM, arXiv:2104.04473)
//
// The tile rule (tile_rule.hpp) makes them of these two numbers. Neither shows in the result.

#pragma once

#include "models/base/names.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace troupe {

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

/// How many slices a replica of a stage may have in flight, at least 1. In a pipeline of 1F1B as
/// many as there are stages from it on: what a slice's way to the end and back takes. One more would
/// be kept for nothing, one fewer leaves the stage idle. Replicas that share a stage have a second
/// slice to compute while sums of the first are under way. Who computes alone gains nothing by a
/// second. Over slow wires one or two more pay: with a latency of a quarter of a forward tile, 4
/// stages and 16 slices, the idle share falls from 0.25 to 0.22 and 0.19.
constexpr size_t in_flight_bound(pipeline_schedule schedule, const stage_place& place) {
  if (place.stage_count > 1 && schedule == pipeline_schedule::gpipe)
    return any_number_in_flight;
  const size_t least = place.tensor_replica_count > 1 ? 2 : 1;
  return std::max(place.stage_count - place.stage, least);
}

} // namespace troupe
