// What a job says of privacy: section `privacy` (models/privacy/private_sum.hpp, docs/federated.md).

#pragma once

#include "coordinators/job/job.hpp"
#include "coordinators/modes/privacy_budget.hpp"
#include "models/privacy/private_sum.hpp"

#include <optional>

namespace troupe {

inline bool is_private(const job& x) {
  return x.privacy.clip_norm.has_value();
}

/// What is wrong with the section, or with what a private job combines it with: whatever would tell of
/// clients' rows without being accounted is refused by its key.
void check_privacy(problem_list& check, const job& x);

/// What of a resolved private job does not fit its data. `has_others`: rows that are no client's, for
/// testing or validation.
void check_privacy_with_data(problem_list& check, const job& resolved, bool has_others,
                             bool is_sparse);

/// Fills in the noise that an epsilon asks for: of all rounds there are, `round_count`.
void resolve_privacy(job& x, uint64_t round_count);

/// Of a resolved job; nothing for one that is not private.
std::optional<private_sum_rule> private_sums_of(const job& resolved);
privacy_budget_options budget_of(const job& resolved);

} // namespace troupe
