// What came of a round whose clients dialled in: who they are, and the sums of their updates.

#pragma once

#include "coordinators/modes/federated_rounds.hpp"
#include "models/merging/ring_sum.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace troupe {

/// The clients whose updates are in the sums, or were refused, by group and name.
struct gathered_round {
  std::shared_ptr<const cohort> who;
  std::vector<client_figure> figures{}; ///< of each of them, in their order
  std::vector<ring_sum> groups{};
  std::vector<uint64_t> correct_counts{}; ///< of each group: right rows
};

} // namespace troupe
