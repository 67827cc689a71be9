// The messages between an application's coordinator and its members (actors/embed/coordinator.hpp), and those of online
// learning. All of them can cross a wire.

#pragma once

#include "actors/protocol/messages.hpp"
#include "coordinators/members/member_coordinator.hpp"
#include "coordinators/modes/online_learner.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

TROUPE_INSPECTED(membership);

/// coordinator -> member: the answer to `pull`.
struct member_work {
  work_verdict verdict = work_verdict::over;
  std::string reason;   ///< of all but `go`
  uint64_t ticket = 0;  ///< hand it back with the update
  uint64_t version = 0; ///< updates, or rounds, so far
  payload parameters;   ///< P, of `go`

  friend bool operator==(const member_work&, const member_work&) = default;
};

TROUPE_INSPECTED(member_work);

/// member -> coordinator: what came of its work. Answered with `update_report`; one that comes twice counts once and is
/// answered alike.
struct member_update {
  membership who;
  uint64_t ticket = 0;
  payload values;            ///< P: a sum of gradients over samples, or parameters
  uint64_t sample_count = 1; ///< >= 1

  friend bool operator==(const member_update&, const member_update&) = default;
};

TROUPE_INSPECTED(member_update);
TROUPE_INSPECTED(update_report);

// ---- Online learning (actors/embed/online.hpp) ----

/// application -> online learner. Rows of a stream; labels or targets, as the model's loss asks.
struct online_batch {
  payload features;            ///< N x F, row-major
  std::vector<int32_t> labels; ///< N, or empty
  payload targets;             ///< N x C, or empty

  friend bool operator==(const online_batch&, const online_batch&) = default;
};

TROUPE_INSPECTED(online_batch);

/// online learner -> application: what became of a batch (coordinators/modes/online_learner.hpp).
template <>
inline constexpr online_verdict last_of<online_verdict> = online_verdict::refused_no_model;

TROUPE_INSPECTED(online_report);

} // namespace troupe
