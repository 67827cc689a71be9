// Deliberate faults, for tests only: they show that the tests of a property can fail. Neither the command nor `train`
// sets them; an environment variable can ask for one.

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

/// A step that a shard applied: the gradients in it, and the result.
struct applied_step {
  uint64_t term = 0;
  uint64_t step = 0;
  index_range elements;                ///< of the model
  const std::vector<tree_node>& nodes; ///< the tree nodes whose sums the shard added
  uint64_t sample_count = 0;
  std::span<const float> parameters; ///< of `elements`, after the step
};

/// An action of a parameter server on one of its trainers.
struct trainer_event {
  enum class kind : uint8_t {
    given,     ///< it was given a piece of work
    used,      ///< its result counts: a gradient that was applied or is held, a member's model
    discarded, ///< its result came too late, which counts too
    refused,   ///< its result was of work that it no longer has
    lost,
    joined
  };
  kind what = kind::given;
  uint64_t trainer = 0;        ///< its context
  uint64_t ticket = 0;         ///< of the task
  uint64_t round = 0;          ///< of local rounds
  uint64_t piece = 0;          ///< the step, or the member
  uint64_t staleness = 0;      ///< of a gradient
  bool completes_step = false; ///< half_synchronous: all that is held was applied

  friend bool operator==(const trainer_event&, const trainer_event&) = default;
};

struct test_hooks {
  /// Parameter servers call it, in their own turn.
  std::function<void(const trainer_event&)> on_trainer;
  /// Shards call it, in their own turn.
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
  /// Replicas leave out the last value of each contribution to this step.
  std::optional<uint64_t> cut_step;
  /// Clients of a task of a federated round; 0: the number of trainers decides.
  size_t clients_of_task = 0;
  /// A replica or trainer that computes on this row of the data ends its process, or throws. Rows count from 1, as in
  /// row_namer. Real processes read TROUPE_TEST_CRASHING_ROW ("17", "17 throws").
  std::optional<size_t> crashing_row;
  bool crash_throws = false;
  /// What a slice takes, in place of the clock: in virtual time computing takes none.
  std::function<std::chrono::nanoseconds()> slice_time;
  /// Delay of this trainer's answer to a task that begins at this step. It counts as computing time.
  std::function<std::chrono::nanoseconds(uint64_t trainer, uint64_t step)> answer_delay;
};

/// The hooks of `options`, made on the first call. Options hold a pointer, because their header is installed and this
/// one is not. Earlier copies of the options do not change.
template <class Options>
test_hooks& hooks_of(Options& options) {
  auto& x = options.hooks;
  if (!x || x.use_count() > 1)
    x = x ? std::make_shared<test_hooks>(*x) : std::make_shared<test_hooks>();
  return *x;
}

/// `given` and the hooks that the environment asks for; null: none given.
test_hooks with_environment(const std::shared_ptr<test_hooks>& given);

/// Crashes as `crashing_row` asks if that row is among `rows`, which count from 0.
void crash_if_asked(const test_hooks& hooks, std::span<const size_t> rows);

} // namespace troupe
