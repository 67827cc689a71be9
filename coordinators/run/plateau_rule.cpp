#include "troupe/coordinators/run/plateau_rule.hpp"

namespace troupe {

void plateau_rule::observe(uint64_t version, double loss) {
  if (!options_.patience || watch_.observe(version, loss) != stop_reason::patience)
    return;
  watch_ = stop_rule{watching(options_), watch_.best_loss(), watch_.best_version(), 0};
  reductions_.push_back(version);
  if (plateau_factor(options_, reductions_, version) < options_.minimum)
    reductions_.pop_back();
}

} // namespace troupe
