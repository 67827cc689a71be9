// The messages between replicas that compute a model tile by tile, and between these and their node. They stay in their
// process. The node carries a boundary's rows to other processes (coordinators/parallel/boundary_tensors.hpp), and
// fetches parameters from shards of other processes.

#pragma once

#include "actors/protocol/payload.hpp"
#include "coordinators/parallel/boundary_routes.hpp"

#include <caf/allowed_unsafe_message_type.hpp>

#include <vector>

namespace troupe {

/// replica -> another of its group, or the node: rows of what lies between two segments. Its content
/// follows from the job and its name, so it may come twice, early, or late. With each view groups begin their step
/// anew, so a replica ignores boundaries of other views.
struct boundary {
  uint64_t term = 0;
  uint64_t number = 0; ///< of the view
  boundary_piece piece;
  size_t from = 0;        ///< the sender's place in the view
  std::vector<size_t> to; ///< to the node: the replicas of other processes that need it
};

/// replica -> node: the replica needs a segment's parameters, or no longer does. The node ignores requests of other
/// views and versions: with each view replicas begin their step anew, and ask anew.
struct segment_request {
  uint64_t term = 0;
  uint64_t number = 0; ///< of the view
  uint64_t version = 0;
  size_t from = 0; ///< the sender's place in the view
  size_t segment = 0;
  bool is_needed = true;
};

/// node -> replica: the parameters of a segment, all parts of it, packed in order (elements_read of
/// coordinators/parallel/tile_window.hpp).
struct segment_parameters {
  uint64_t term = 0;
  uint64_t number = 0; ///< of the view
  uint64_t version = 0;
  size_t segment = 0;
  payload values;
};

} // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::boundary)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::segment_request)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::segment_parameters)
