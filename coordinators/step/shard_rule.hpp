// The shard rule: which contributions a shard takes, and when its step is complete.
//
// A contribution is a sum of slice gradients, named by step and tree node. Its content follows from
// the job alone, so the shard takes it from any process, in any order, any number of times. For its
// current version v the shard keeps a set of disjoint nodes:
//
//   step != v                      -> stale or early: ignored
//   not a node of the tree, or
//   no slice below it has rows     -> malformed: refused
//   node held, same checksum       -> duplicate: ignored
//   node held, other checksum      -> conflict: equal work gave different bits; the run must end
//   an ancestor held               -> covered: ignored
//   otherwise                      -> accepted; held descendants are dropped
//
// The step is complete when the held nodes cover every slice that has rows.
// Invariant: held nodes are disjoint, sorted, and each is a tree node.

#pragma once

#include "coordinators/step/timeline.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace troupe {

enum class offer_verdict : uint8_t {
  accepted,
  stale,
  early,
  malformed,
  duplicate,
  conflict,
  covered
};

class shard_rule {
public:
  explicit shard_rule(const timeline& plan, uint64_t version = 0)
    : plan_(plan), version_(version) {}

  struct offer_result {
    offer_verdict verdict = offer_verdict::accepted;
    /// Accepted: where the node now stands among the held ones. Those from `position` on that were
    /// dropped for it: `dropped` of them.
    size_t position = 0;
    size_t dropped = 0;

    friend bool operator==(const offer_result&, const offer_result&) = default;
  };

  /// Decides on a contribution; `checksum` names its content (0 when not computed).
  offer_result offer(uint64_t step, const tree_node& node, uint64_t checksum);

  /// The program that adds the held nodes once they cover the step; nothing before.
  std::optional<reduction_plan> complete() const;

  /// Goes on to the next version with nothing held.
  void advance();

  uint64_t version() const { return version_; }
  const std::vector<tree_node>& held() const { return held_; }

  friend bool operator==(const shard_rule&, const shard_rule&) = default;

private:
  bool has_rows(const tree_node& node) const;

  timeline plan_;
  uint64_t version_ = 0;
  std::vector<tree_node> held_;
  std::vector<uint64_t> checksums_; ///< of held_
};

} // namespace troupe
