#include "actors/tasks/federation.hpp"

#include "models/privacy/secret_stream.hpp"

namespace troupe {

std::shared_ptr<const cohort> federation::cohort_at(uint64_t round, uint64_t attempt) const {
  std::lock_guard guard{mutex_};
  for (const auto& x : kept_)
    if (x.round == round && x.attempt == attempt)
      return x.who;
  if (kept_.size() == 2)
    kept_.erase(kept_.begin());
  kept_.push_back({round, attempt, std::make_shared<const cohort>(draw(round, attempt))});
  return kept_.back().who;
}

cohort federation::draw(uint64_t round, uint64_t attempt) const {
  if (!options_.has_secret_cohorts())
    return cohort_of(options_.cohort, rows_.offsets, round);
  const auto client_count = static_cast<uint32_t>(rows_.client_count());
  return cohort_among(
    options_.cohort, rows_.offsets, round,
    secret_cohort(key_, round, attempt, client_count, options_.sampling_rate(client_count)));
}

} // namespace troupe
