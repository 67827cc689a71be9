// The keys of a job's model, who carries it, and of how its classes are weighed: part of the table in
// app/job/job_schema.hpp.

#pragma once

#include "troupe/app/job/job_key.hpp"

#include <vector>

namespace troupe {

/// Adds the keys of [model], in the order of the documentation.
void add_model_keys(std::vector<job_key>& out);

/// Adds the keys of [parallel]: who carries what of a model.
void add_parallel_keys(std::vector<job_key>& out);

/// `training.class_weights`.
job_key class_weights_key();

} // namespace troupe
