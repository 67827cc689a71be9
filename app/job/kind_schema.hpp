// The keys `model.kind`, `optimizer.kind` and `training.metrics`, and those of the options of kinds that this program adds
// (models/kinds/kind_table.hpp): part of the table in app/job/job_schema.hpp.

#pragma once

#include "troupe/app/job/job_key.hpp"

#include <vector>

namespace troupe {

job_key model_kind_key();
job_key optimizer_kind_key();
job_key metrics_key();

/// Adds the options of all kinds that were added, as keys of their section; behind its other keys. Throws
/// std::invalid_argument for one that is a key of every job; a constant that rules have in common may be
/// an option of an optimizer.
void add_own_model_keys(std::vector<job_key>& out);
void add_own_optimizer_keys(std::vector<job_key>& out);

} // namespace troupe
