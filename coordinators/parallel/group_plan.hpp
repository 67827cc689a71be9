// The plan of a group: what each replica of a model's group holds, sends and computes in a step. It
// follows from their partitions alone; tests compare it with real counts.
//
//   gradients     of a replica's own tiles: for each slice it holds, and for sums of slices that wait
//                 for their siblings in the tree
//   activations   for each slice it holds: rows behind its layers and the one below, what is read of
//                 them, their derivatives, masks, sums over parts; and the rows of the data where they
//                 are gathered
//   boundaries    for each slice it holds: sums and rows made for others, until these have taken them,
//                 and those that come from other processes
//   kept          sums and rows made for other processes, of all slices of a step and all chunks of
//                 an evaluation: these may ask for them until the next version is whole
//
// A replica holds as many slices as it may have in flight (grid.hpp), and those whose rows
// have come before their turn: no more than the first stage has in flight. Of R rows go over a link
//
//   forward, backward   4 R W of a boundary of W units at most: shares of it as boundary_routes says
//   figures             16 R for each part that exists: of a softmax whose classes are cut
//
// Rows that several replicas of another process take go there once.
//
// Where replicas fetch parameters segment by segment (tile_rule.hpp) all slices are in flight at
// once; gradients are those of one segment and its sums over slices.
//
// Evaluations count by the rows of their chunks, which may be more than a slice's. While one lasts, a
// later stage may hold more chunks than a step has slices.

#pragma once

#include "coordinators/parallel/boundary_routes.hpp"
#include "coordinators/parallel/grid.hpp"
#include "coordinators/parallel/tile_window.hpp"
#include "models/network/model.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace troupe {

struct replica_plan {
  partition work;                      ///< empty: a spare
  size_t slices_held = 0;              ///< at most: begun and not done, or with input here
  size_t sums_kept = 0;                ///< at most, of slices that are done
  uint64_t parameter_bytes = 0;        ///< that it reads; all replicas of a process share them
  uint64_t slice_gradient_bytes = 0;   ///< of its own tiles
  uint64_t slice_activation_bytes = 0; ///< workspace of a slice
  uint64_t slice_row_bytes = 0;        ///< gathered rows of a slice
  uint64_t slice_boundary_bytes = 0;   ///< made for others of its process, or come from elsewhere
  uint64_t kept_boundary_bytes = 0;    ///< made for other processes, in a step and an evaluation
  uint64_t multiply_adds = 0;          ///< of a step
  /// Of the largest segment's gradient where segments are computed one after the other.
  std::optional<uint64_t> segment_gradient_bytes;

  uint64_t gradient_bytes() const {
    if (segment_gradient_bytes)
      return *segment_gradient_bytes * (sums_kept + 1);
    return slice_gradient_bytes * (slices_held + sums_kept);
  }
  uint64_t activation_bytes() const {
    return (slice_activation_bytes + slice_row_bytes) * slices_held;
  }
  uint64_t boundary_bytes() const { return slice_boundary_bytes * slices_held; }
  uint64_t bytes() const {
    return gradient_bytes() + activation_bytes() + boundary_bytes() + kept_boundary_bytes;
  }
};

/// What one replica, or one process, sends another in a step.
struct link_plan {
  size_t from = 0;
  size_t to = 0;
  std::array<uint64_t, 3> bytes{}; ///< by boundary_way

  uint64_t sum() const { return bytes[0] + bytes[1] + bytes[2]; }
};

/// What a group has to do in a step.
struct group_work {
  std::vector<partition> members; ///< of the same slices; every segment and part once
  std::vector<size_t> slice_rows; ///< of each slice; those without rows do not exist
  std::vector<size_t> processes;  ///< of each member; none: one has all
  size_t evaluated_rows = 0;      ///< of the largest chunk of an evaluation; 0: there is none
  size_t evaluated_chunks = 0;    ///< of them all, this group's
  size_t gathered_words = 0;      ///< of a row that is copied before it is used; 0: none is
  pipeline_schedule schedule{};
  bool by_segment = false;
};

struct group_plan {
  std::vector<replica_plan> replicas; ///< by member
  std::vector<link_plan> links;       ///< between members, those that carry something
  std::vector<link_plan> wires;       ///< between processes, likewise
};

group_plan plan_group(const model& network, const group_work& work);

} // namespace troupe
