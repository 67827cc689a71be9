// Gradient lanes: the contributions of a step to a shard's span, kept until each element's sum is whole.
//
// Where models are split over replicas, each contributes its own tiles. So a span is cut into lanes that
// nobody splits further, each with a set of tree nodes of its own (shard_rule.hpp); a contribution counts
// for the lanes that it covers. Where every replica has the whole model the span is one lane.

#pragma once

#include "actors/protocol/messages.hpp"
#include "coordinators/step/shard_rule.hpp"
#include "models/math/reduction.hpp"

#include <optional>
#include <span>
#include <vector>

namespace troupe {

/// What is to be added for some elements of the model, and how.
struct summed_lane {
  index_range elements;
  reduction_plan plan;
  std::vector<std::span<const float>> inputs;
};

class gradient_lanes {
public:
  gradient_lanes() = default;
  /// `tiles`: what replicas never split, in order; empty: they split nothing.
  gradient_lanes(const timeline& plan, uint64_t version, const index_range& span,
                 const std::vector<index_range>& tiles);

  /// Whether a contribution is of whole lanes of the span.
  bool fits(const contribution& news) const;
  /// Of one that fits: `accepted` when a lane took it, `conflict` when one holds other bits of the same
  /// name, else why none did.
  offer_verdict offer(const contribution& news);

  uint64_t version() const { return version_; }
  bool is_complete() const;
  /// Of each lane, once the step is complete. `in_order_of_arrival`: what the tree is there to prevent.
  std::vector<summed_lane> sums(bool in_order_of_arrival) const;
  /// Of the step's slices.
  batch_sums total() const;
  /// One after the other, until `visit` says false.
  template <class Visit>
  void for_each_held(const Visit& visit) const {
    for (const auto& x : lanes_)
      for (const auto& part : x.held)
        if (!visit(part))
          return;
  }
  /// The nodes that a lane holds.
  std::vector<tree_node> nodes_of(const index_range& elements) const;

  /// Goes on to the next version with nothing held.
  void advance();

private:
  struct lane {
    index_range elements;
    shard_rule rule;
    std::vector<contribution> held;     ///< beside rule.held(), of these elements
    std::vector<size_t> arrivals;       ///< positions in held
    std::optional<reduction_plan> plan; ///< once it is complete
  };
  static offer_verdict offer_to(lane& x, const contribution& news);

  uint64_t version_ = 0;
  std::vector<lane> lanes_;
};

} // namespace troupe
