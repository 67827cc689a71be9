// A set of indices kept as few ranges: which elements of a long span have arrived.

#pragma once

#include "coordinators/base/canonical_tree.hpp"

#include <vector>

namespace troupe {

class span_set {
public:
  /// Adds a range; false when all of it was there.
  bool add(const index_range& range);

  /// True when all of `range` is there; an empty range always is.
  bool contains(const index_range& range) const { return first_missing_in(range).empty(); }

  /// The first part of `range` that is not there; empty when all of it is.
  index_range first_missing_in(const index_range& range) const;

  /// The parts of `range` that are not there, in order.
  std::vector<index_range> missing_in(const index_range& range) const;

  /// Ranges, sorted, that neither touch nor overlap.
  const std::vector<index_range>& ranges() const { return ranges_; }

  /// Nothing is there any more. Memory is kept for what comes.
  void clear() { ranges_.clear(); }

  friend bool operator==(const span_set&, const span_set&) = default;

private:
  std::vector<index_range> ranges_;
};

} // namespace troupe
