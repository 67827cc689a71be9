// The messages of online learning (actors/embed/online.hpp): fields, meaning, units.

#pragma once

#include "troupe/actors/protocol/messages.hpp"
#include "troupe/coordinators/modes/online_learner.hpp"

#include <cstdint>
#include <vector>

namespace troupe {

/// application -> online learner. Rows of a stream; labels or targets, as the model's loss asks.
struct online_batch {
  payload features;            ///< N x F, row-major
  std::vector<int32_t> labels; ///< N, or empty
  payload targets;             ///< N x C, or empty

  friend bool operator==(const online_batch&, const online_batch&) = default;
};

auto inspect(auto& f, online_batch& x) {
  return plain(f, "troupe.online_batch", x.features, x.labels, x.targets);
}

/// online learner -> application: what became of a batch (coordinators/modes/online_learner.hpp).
template <>
inline constexpr online_verdict last_of<online_verdict> = online_verdict::refused_no_model;

auto inspect(auto& f, online_report& x) {
  return plain(f, "troupe.online_report", x.batch, x.verdict, x.version, x.batch_loss,
               x.loss_before, x.loss_after, x.reason);
}

} // namespace troupe
