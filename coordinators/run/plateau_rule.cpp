#include "coordinators/run/plateau_rule.hpp"

#include <algorithm>

namespace troupe {

namespace {

/// A rate that much lower moves no parameter: the steps are remembered and sent, and come to an end.
constexpr double least_factor = 1e-30;

} // namespace

void plateau_rule::observe(uint64_t version, double loss) {
  if (!options_.patience || watch_.observe(version, loss) != stop_reason::patience)
    return;
  watch_ = stop_rule{watching(options_), watch_.best_loss(), watch_.best_version(), 0};
  reductions_.push_back(version);
  if (plateau_factor(options_, reductions_, version) < std::max(options_.minimum, least_factor))
    reductions_.pop_back();
}

} // namespace troupe
