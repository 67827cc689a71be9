#include "troupe/actors/orders/federation.hpp"

namespace troupe {

std::shared_ptr<const cohort> federation::cohort_at(uint64_t round) const {
  std::lock_guard guard{mutex_};
  for (const auto& [kept_round, who] : kept_)
    if (kept_round == round)
      return who;
  if (kept_.size() == 2)
    kept_.erase(kept_.begin());
  kept_.push_back(
    {round, std::make_shared<const cohort>(cohort_of(options_.cohort, rows_.offsets, round))});
  return kept_.back().who;
}

} // namespace troupe
