// Tile window: the tiles of a partition, packed in a buffer of their own.
//
// A replica that carries some parts of some segments has gradients of these alone. They lie in order
// of the model's elements, without gaps for what others carry.

#pragma once

#include "coordinators/parallel/grid.hpp"
#include "models/base/element_window.hpp"
#include "models/segments/segment_chain.hpp"

#include <cstddef>
#include <vector>

namespace troupe {

class tile_window {
public:
  struct entry {
    size_t segment = 0;
    size_t part = 0;      ///< part_count(): what parts have in common
    index_range elements; ///< of the model
    size_t place = 0;     ///< in the buffer
  };

  tile_window() = default;
  /// What a replica with this partition contributes: its parts; with part 0 also what all parts
  /// have in common, and segments that are not cut.
  tile_window(const segment_chain& chain, const partition& work);

  size_t size() const { return window_.size(); }
  const std::vector<entry>& tiles() const { return tiles_; }
  const std::vector<element_window::run>& runs() const { return window_.runs(); }

private:
  std::vector<entry> tiles_;
  element_window window_;
};

/// Parameters that a replica with this partition reads: its parts, what all parts have in common, and
/// segments that are not cut.
std::vector<index_range> elements_read(const segment_chain& chain, const partition& work);
/// Those whose gradient it contributes: its window's.
std::vector<index_range> elements_contributed(const segment_chain& chain, const partition& work);

// Gradient makers: which replicas of a view contribute the gradient of which elements.
//
// A replica that has a whole model contributes all of it. In a group each contributes the tiles of its
// own partition, so each element has one contributor in a group.
class gradient_makers {
public:
  gradient_makers() = default;
  /// `partitions`: of all replicas of the view; one without segments has the whole model. `tiles`: what
  /// is never contributed in parts, ascending; none: the whole model.
  gradient_makers(const segment_chain& chain, const std::vector<partition>& partitions,
                  std::vector<index_range> tiles);

  /// What of a span is contributed together.
  std::vector<index_range> ranges_of(const index_range& span) const;
  /// Whether a replica contributes these elements of a range, for its slices.
  bool contributes(size_t replica, const index_range& range) const;

private:
  std::vector<index_range> tiles_;
  std::vector<std::vector<index_range>> runs_; ///< by replica
};

} // namespace troupe
