// Deliberate faults, for tests only: they show that the tests of a property can fail. Nothing in
// the command or in `train` sets them.

#pragma once

#include "troupe/coordinators/canonical_tree.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

/// A step that a shard applied: whose gradients went into it, and what came of it.
struct applied_step {
  uint64_t term = 0;
  uint64_t step = 0;
  index_range elements;                ///< of the model
  const std::vector<tree_node>& nodes; ///< whose sums were added
  uint64_t sample_count = 0;
  std::span<const float> parameters; ///< of `elements`, after the step
};

struct test_hooks {
  /// Told by shards, in their own turn.
  std::function<void(const applied_step&)> on_applied;
  /// Shards add contributions in the order they arrive instead of along the tree.
  bool add_in_order_of_arrival = false;
  /// Replicas leave adding to the shards, as long as these are in their own process.
  bool keeps_slices_apart = false;
  /// The gradient of slice `poisoned_slice` of this step gets `poison` as value `poisoned_element`.
  std::optional<uint64_t> poisoned_step;
  uint64_t poisoned_slice = 0;
  uint64_t poisoned_element = 0;
  float poison = 0;
  /// Replicas leave out the last value of what they send of this step.
  std::optional<uint64_t> cut_step;
  /// The trainer of this index answers so much later than it could (actors/trainer.hpp).
  std::optional<uint64_t> slow_replica;
  std::chrono::milliseconds slow_by{0};
};

} // namespace troupe
