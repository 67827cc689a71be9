// The message between replicas that share a model. It stays in its process.

#pragma once

#include "troupe/actors/protocol/fwd.hpp"
#include "troupe/coordinators/parallel/seam_piece.hpp"

#include <caf/allowed_unsafe_message_type.hpp>

namespace troupe {

/// replica -> another of its group: rows of what lies between two segments. Its content follows from
/// the job and its name, so it may come twice, early, or late.
struct seam {
  uint64_t term = 0;
  seam_piece piece;
};

} // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::seam)
