// A held-back look: what a linear model and small networks come to on rows that were kept aside, so that
// `troupe init` proposes what pays.

#pragma once

#include "coordinators/job/job.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace troupe {

/// One of the models that were tried.
struct looked_at {
  bool is_network = false;
  target_scale_kind scale = target_scale_kind::none; ///< of amounts
  double figure = 0; ///< on the rows kept aside; NaN where training failed
};

/// The linear model comes first.
class held_back_look {
public:
  /// Trains a linear model and a network, of amounts one more by a transform that all targets allow, in a second or
  /// so, and judges them on a fifth of the rows that are not for testing (of a small table on each fifth in turn). `linear`: the job of the linear model, of
  /// amounts the closed form. Throws what reading the rows throws.
  held_back_look(const job& linear, bool has_classes);

  /// The linear model, unless a network is better by a hundredth; of its scales the plain one, unless another is
  /// better by half a hundredth. Of few rows they have to be better by more.
  const looked_at& best() const;

  /// "R2 of a short look, on rows that were kept aside: line 0.841; network 0.905; network, log 0.931".
  std::string words() const;

private:
  /// How much better it is; of losses by their size.
  double gain(const looked_at& x, const looked_at& over) const;

  bool has_classes_;
  double least_gain_ = 0; ///< less is by chance
  std::vector<looked_at> models_;
};

} // namespace troupe
