// Sparse rows as a part of the job: what of it needs dense ones, and what contradicts it.

#pragma once

#include "troupe/coordinators/job/job.hpp"
#include "troupe/coordinators/job/job_problem.hpp"

#include <vector>

namespace troupe {

/// Whether what the job asks for has no form for sparse rows: solvers, and a first layer that is cut.
bool needs_dense_rows(const job& x);

/// What is wrong with data.dense and data.hash_bits, seen without the data.
std::vector<job_problem> sparse_problems(const job& x);

} // namespace troupe
