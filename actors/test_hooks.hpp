// Deliberate faults, for tests only: they show that the tests of a property can fail. Nothing in
// the command or in `train` sets them.

#pragma once

#include <cstdint>
#include <optional>

namespace troupe {

struct test_hooks {
  /// Shards add contributions in the order they arrive instead of along the tree.
  bool add_in_order_of_arrival = false;
  /// The gradient of slice `poisoned_slice` of this step gets `poison` as value `poisoned_element`.
  std::optional<uint64_t> poisoned_step;
  uint64_t poisoned_slice = 0;
  uint64_t poisoned_element = 0;
  float poison = 0;
};

} // namespace troupe
