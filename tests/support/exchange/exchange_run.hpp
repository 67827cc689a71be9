// What all processes of a company of exchanges know, and what befalls them, by seed.

#pragma once

#include "tests/support/exchange/exchange_wire.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace troupe::test {

/// What all know of a run. Process i is peer i + 1; the director is beside none of them.
struct exchange_run {
  std::vector<index_range> spans; ///< by process; may be empty
  size_t element_count = 0;
  size_t slice_count = 1;
  uint64_t last_version = 2;
  uint64_t checkpoint_every = 1;
  uint64_t order_count = 0; ///< of the first process, to the others in turn
  bool may_share = false;
  bool grows = false; ///< gradients leave while they are computed
  exchange_options limits;

  uint64_t last_checkpoint() const { return last_version - last_version % checkpoint_every; }
};

inline constexpr uint64_t state_parts = 3;
inline constexpr uint64_t order_parts = 2;

inline peer_id peer_of(size_t process) {
  return static_cast<peer_id>(process + 1);
}

struct exchange_view {
  uint64_t term = 0;
  uint64_t start_version = 0;
  std::vector<index_range> slices; ///< by process
};

struct exchange_plan {
  exchange_run run;
  wire_faults faults;
  unsigned troubles = 0; ///< of links and processes, while the wire is faulty
  size_t events_until_healed = 0;
};

inline size_t between(std::mt19937_64& random, size_t low, size_t high) {
  return low + random() % (high - low + 1);
}

/// Cuts [0, count) at random, in as many ranges; some may be empty.
inline std::vector<index_range> cut_at_random(std::mt19937_64& random, size_t count, size_t parts) {
  std::vector<size_t> cuts{0, count};
  while (cuts.size() < parts + 1)
    cuts.push_back(random() % (count + 1));
  std::ranges::sort(cuts);
  std::vector<index_range> result;
  for (size_t i = 0; i < parts; ++i)
    result.push_back({cuts[i], cuts[i + 1]});
  return result;
}

inline exchange_plan plan_of(uint64_t seed) {
  std::mt19937_64 random{seed};
  exchange_plan result;
  auto& run = result.run;
  run.element_count = between(random, 5, 60);
  run.slice_count = between(random, 1, 6);
  run.spans = cut_at_random(random, run.element_count, between(random, 2, 5));
  run.last_version = between(random, 1, 4);
  run.checkpoint_every = between(random, 1, 2);
  run.order_count = random() % 5;
  run.may_share = random() % 2 == 0;
  run.grows = random() % 2 == 0;
  run.limits.piece_elements = between(random, 1, 16);
  run.limits.window_bytes =
    run.limits.piece_elements * sizeof(float) * between(random, 1, 20) - random() % 4;
  const bool is_calm = seed % 8 == 0;
  if (!is_calm)
    result.faults = {static_cast<unsigned>(random() % 30), static_cast<unsigned>(random() % 20),
                     static_cast<unsigned>(random() % 20), random() % 2 == 0};
  result.troubles = is_calm ? 0 : static_cast<unsigned>(random() % 3);
  result.events_until_healed = is_calm ? 0 : random() % 1'500;
  return result;
}

} // namespace troupe::test
