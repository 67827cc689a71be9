// The message between replicas that share a model. It stays in its process: to those of others the node
// carries what is in it (coordinators/parallel/seam_tensors.hpp).

#pragma once

#include "troupe/actors/protocol/fwd.hpp"
#include "troupe/coordinators/parallel/seam_piece.hpp"

#include <caf/allowed_unsafe_message_type.hpp>

#include <vector>

namespace troupe {

/// replica -> another of its group, or the node: rows of what lies between two segments. Its content
/// follows from the job and its name, so it may come twice, early, or late. With each view of a term
/// groups begin their step anew, so those of other views are ignored.
struct seam {
  uint64_t term = 0;
  uint64_t number = 0; ///< of the view
  seam_piece piece;
  size_t from = 0;        ///< place in the view of who sends it
  std::vector<size_t> to; ///< to the node: the places of those in other processes who need it
};

} // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::seam)
