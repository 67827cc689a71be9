// Gradient gathering: which sums of slice gradients a shard's process has from other processes.
//
// A contribution to a shard comes over a wire in pieces. Its identity is (step, tree node,
// element), so pieces are good whoever sent them, in any view, in any order. One gathering serves
// one shard and one step, the shard's version:
//
//   step != version                      -> stale or early: ignored
//   not a node of the tree, or elements
//   outside the shard's span             -> malformed: ignored
//   every element known                  -> known: ignored, unless its bits differ (who holds the
//                                           pieces compares)
//   otherwise                            -> accepted; `whole` says whether the node is complete now
//
// Early does not happen: a gradient of v + 1 needs every span of v + 1, and this shard's came
// through this process.

#pragma once

#include "troupe/coordinators/base/span_set.hpp"
#include "troupe/coordinators/exchange/version_gathering.hpp"
#include "troupe/coordinators/step/timeline.hpp"

#include <cstdint>
#include <map>
#include <vector>

namespace troupe {

class gradient_gathering {
public:
  gradient_gathering() = default;
  gradient_gathering(const timeline& plan, const index_range& span, uint64_t version)
    : plan_(plan), span_(span), version_(version) {}

  struct offer_result {
    gather_verdict verdict = gather_verdict::accepted;
    bool whole = false; ///< accepted, and the node has all its elements now

    friend bool operator==(const offer_result&, const offer_result&) = default;
  };

  /// Elements (of the whole model) of a contribution have come.
  offer_result offer(uint64_t step, const tree_node& node, const index_range& elements);

  /// Of the slices in `slices`, those that exist in this step and that no whole node covers, as
  /// few ranges.
  std::vector<index_range> missing(const std::vector<index_range>& slices) const;

  /// The shard owns this version now: everything older goes.
  void advance(uint64_t version);

  uint64_t version() const { return version_; }
  const index_range& span() const { return span_; }

  friend bool operator==(const gradient_gathering&, const gradient_gathering&) = default;

private:
  timeline plan_;
  index_range span_; ///< elements
  uint64_t version_ = 0;
  std::map<tree_node, span_set> here_;
};

} // namespace troupe
