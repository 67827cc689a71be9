// The messages of the coordinators as actors of an application
// (actors/embed/coordinate_parameters.hpp, actors/embed/coordinate_gradients.hpp), and those of online
// learning. All of them can cross a wire.

#pragma once

#include "actors/protocol/messages.hpp"
#include "coordinators/modes/asynchronous_coordinator.hpp"
#include "coordinators/modes/online_learner.hpp"
#include "coordinators/modes/parameters_coordinator.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

/// child -> parameters coordinator. A model that the child trained. Answered with `merge_report`.
/// `number` rises with each model of a child: the coordinator counts a repeated one once and
/// answers it alike.
struct child_model {
  uint64_t child = 0;
  uint64_t number = 1; ///< >= 1
  payload values;      ///< P
  uint64_t sample_count = 1;

  friend bool operator==(const child_model&, const child_model&) = default;
};

TROUPE_INSPECTED(child_model);

/// parameters coordinator -> child: what became of its model.
struct merge_report {
  uint64_t child = 0;
  uint64_t number = 0;
  parameters_verdict verdict = parameters_verdict::waits;
  std::string reason;  ///< of a refusal; else empty
  uint64_t round = 0;  ///< rounds merged so far
  uint64_t merged = 0; ///< models that were merged now

  friend bool operator==(const merge_report&, const merge_report&) = default;
};

TROUPE_INSPECTED(merge_report);

/// gradients coordinator -> trainer: what to take a gradient at, the answer to `pull`.
struct gradient_work {
  staleness_verdict verdict = staleness_verdict::refuse; ///< proceed or refuse; waits are silent
  std::string reason;                                    ///< of a refusal; else empty
  uint64_t ticket = 0;                                   ///< hand it back with the gradient
  uint64_t version = 0;                                  ///< updates applied so far
  payload parameters;                                    ///< P; empty with a refusal

  friend bool operator==(const gradient_work&, const gradient_work&) = default;
};

template <>
inline constexpr staleness_verdict last_of<staleness_verdict> = staleness_verdict::refuse;

TROUPE_INSPECTED(gradient_work);

/// trainer -> gradients coordinator. Answered with `gradient_report`. A repeated offer is refused:
/// its ticket is closed.
struct gradient_offer {
  uint64_t trainer = 0;
  uint64_t ticket = 0;
  payload gradient_sum; ///< P
  uint64_t sample_count = 1;

  friend bool operator==(const gradient_offer&, const gradient_offer&) = default;
};

TROUPE_INSPECTED(gradient_offer);

/// gradients coordinator -> trainer: what became of its gradient.
struct gradient_report {
  staleness_verdict verdict = staleness_verdict::refuse; ///< proceed: applied; wait: held
  std::string reason;     ///< of a refusal, or of an update that could not be made; else empty
  uint64_t staleness = 0; ///< updates by other trainers since its pull
  uint64_t version = 0;   ///< updates applied so far

  friend bool operator==(const gradient_report&, const gradient_report&) = default;
};

TROUPE_INSPECTED(gradient_report);

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
