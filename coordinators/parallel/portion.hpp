// A portion: what one replica works on. A replica that computes alone has all segments and all parts
// of its slices; where a model is split, several replicas with smaller portions of the same slices
// make up a group. It is placement: no bit of the result depends on it.

#pragma once

#include "troupe/coordinators/base/canonical_tree.hpp"

namespace troupe {

struct portion {
  index_range slices;   ///< of each step
  index_range segments; ///< of the model
  index_range parts;    ///< of each cut layer

  /// Of a spare: nothing to compute.
  bool empty() const { return slices.empty() || segments.empty() || parts.empty(); }
  friend auto operator<=>(const portion&, const portion&) = default;
};

} // namespace troupe
