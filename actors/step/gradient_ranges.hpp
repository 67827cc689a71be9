// Gradient ranges: the contributions of a step to a shard's span, kept until each element's sum is whole.
//
// Where models are split, each replica contributes its own tiles. So a span is cut into ranges that no replica splits
// further, each with its own set of tree nodes (shard_rule.hpp). A contribution counts for the ranges that it covers.
// Where every replica has the whole model the span is one range.

#pragma once

#include "actors/protocol/messages.hpp"
#include "coordinators/step/shard_rule.hpp"
#include "models/math/reduction.hpp"

#include <optional>
#include <span>
#include <vector>

namespace troupe {

/// The gradients to add for some elements of the model, and the order.
struct summed_range {
  index_range elements;
  reduction_plan plan;
  std::vector<std::span<const float>> inputs;
};

class gradient_ranges {
public:
  gradient_ranges() = default;
  /// `tiles`: ranges that replicas never split, in order; empty: they split nothing.
  gradient_ranges(const timeline& plan, uint64_t version, const index_range& span,
                  const std::vector<index_range>& tiles);

  /// True if a contribution covers whole ranges of the span.
  bool fits(const contribution& news) const;
  /// Takes a contribution that fits. `accepted`: a range took it; `conflict`: a range holds other bits of the same
  /// node; else why no range took it.
  offer_verdict offer(const contribution& news);

  uint64_t version() const { return version_; }
  bool is_complete() const;
  /// The sums of each range, once the step is complete. `in_order_of_arrival`: for tests, the order that the tree
  /// prevents.
  std::vector<summed_range> sums(bool in_order_of_arrival) const;
  /// The figures of all the step's slices.
  batch_sums total() const;
  /// Visits each held contribution until `visit` returns false.
  template <class Visit>
  void for_each_held(const Visit& visit) const {
    for (const auto& x : ranges_)
      for (const auto& part : x.held)
        if (!visit(part))
          return;
  }
  /// The nodes that a range holds.
  std::vector<tree_node> nodes_of(const index_range& elements) const;

  /// Goes on to the next version with nothing held.
  void advance();

private:
  struct range {
    index_range elements;
    shard_rule rule;
    std::vector<contribution> held;     ///< beside rule.held(), of these elements
    std::vector<size_t> arrivals;       ///< positions in held
    std::optional<reduction_plan> plan; ///< once it is complete
  };
  static offer_verdict offer_to(range& x, const contribution& news);

  uint64_t version_ = 0;
  std::vector<range> ranges_;
};

} // namespace troupe
