// Deliberate faults, for tests only: they show that the tests of a property can fail. Nothing in
// the command or in `train` sets them; one can be asked for by the environment.

#pragma once

#include "coordinators/base/canonical_tree.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
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

/// What a parameter server did with one of its trainers.
struct trainer_event {
  enum class kind : uint8_t {
    ordered,   ///< it was given a piece of work
    used,      ///< its result counts: a gradient that was applied or is held, a member's model
    discarded, ///< its result came too late, which counts too
    refused,   ///< its result was of work that it has no more
    lost,
    joined
  };
  kind what = kind::ordered;
  uint64_t trainer = 0;        ///< its context
  uint64_t ticket = 0;         ///< of the order
  uint64_t round = 0;          ///< of local rounds
  uint64_t piece = 0;          ///< the step, or the member
  uint64_t staleness = 0;      ///< of a gradient
  bool completes_step = false; ///< half_synchronous: all that is held was applied

  friend bool operator==(const trainer_event&, const trainer_event&) = default;
};

struct test_hooks {
  /// Told by parameter servers, in their own turn.
  std::function<void(const trainer_event&)> on_trainer;
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
  /// Clients of an order of a federated round; 0: by how many trainers there are.
  size_t clients_of_order = 0;
  /// Whoever computes on this row of the data, counted from 1 as a row namer does, ends: with its
  /// process, or by an exception. Of real processes TROUPE_TEST_CRASHING_ROW says so ("17", "17 throws").
  std::optional<size_t> crashing_row;
  bool crash_throws = false;
  /// How much later than it could this trainer answers what begins at this step; it is counted as
  /// time of computing.
  std::function<std::chrono::nanoseconds(uint64_t trainer, uint64_t step)> answer_delay;
};

/// Those of `options`, which have a pointer to them: their header is installed, this one is not. Copies of the options
/// made before do not change.
template <class Options>
test_hooks& hooks_of(Options& options) {
  auto& x = options.hooks;
  if (!x || x.use_count() > 1)
    x = x ? std::make_shared<test_hooks>(*x) : std::make_shared<test_hooks>();
  return *x;
}

/// These, and what the environment asks for; null: none.
test_hooks with_environment(const std::shared_ptr<test_hooks>& given);

/// Ends as `crashing_row` has it when it is one of these, from 0 as data files count them.
void crash_if_asked(const test_hooks& hooks, std::span<const size_t> rows);

} // namespace troupe
