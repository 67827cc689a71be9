// Gradient makers: which replicas of a view contribute the gradient of which elements.
//
// A replica that has a whole model contributes all of it. In a group each contributes the tiles of its
// own portion (tile_window.hpp), so that of an element one of the group does.

#pragma once

#include "troupe/coordinators/parallel/tile_window.hpp"

#include <cstddef>
#include <vector>

namespace troupe {

class gradient_makers {
public:
  gradient_makers() = default;
  /// `portions`: of all replicas of the view; one without segments has the whole model. `tiles`: what
  /// is never contributed in parts, ascending; none: the whole model.
  gradient_makers(const segment_chain& chain, const std::vector<portion>& portions,
                  std::vector<index_range> tiles);

  /// What of a span is contributed together.
  std::vector<index_range> lanes_of(const index_range& span) const;
  /// Whether a replica contributes these elements of a lane, for its slices.
  bool contributes(size_t replica, const index_range& lane) const;

private:
  std::vector<index_range> tiles_;
  std::vector<std::vector<index_range>> runs_; ///< by replica
};

} // namespace troupe
