// What is wrong with a job, seen without its data: values out of range, and values that contradict
// each other. What does not fit the data is told by `problems_with_data` (resolve.hpp).

#pragma once

#include "coordinators/job/job.hpp"

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace troupe {

/// Everything wrong with `x`, in the order of its fields; empty when it can be trained.
std::vector<job_problem> problems(const job& x);

// ---- Its parts; data_check.cpp has the first four ----

/// Adds everything wrong with `x` to `check`, in the order of its fields. `rows_elsewhere`: another section
/// names them.
void check_data(problem_list& check, const data_options& x, bool rows_elsewhere);
void check_holdings(problem_list& check, const job& x);

/// Whether what the job asks for has no form for sparse rows: solvers, and a first layer that is cut.
bool needs_dense_rows(const job& x);

/// Adds what is wrong with data.dense and data.hash_bits, seen without the data.
void check_sparse(problem_list& check, const job& x);

/// Figures that every history has beside its metrics: no metric has such a name.
bool is_always_told(std::string_view metric);

/// Adds the problems that a job has with its own model and optimizer, and with its metrics.
void check_kinds(problem_list& check, const job& x);

// ---- Groups of a cluster: nodes bring replicas, and a model that is split takes several for each ----

/// Groups of a run with so many replicas in all: as many as are whole, or fewer that were asked for.
/// Replicas beyond them are spares.
size_t groups_of(const parallel_options& x, size_t replica_count);

/// Why so many replicas, in all, are too few, or cannot make the groups that were asked for.
std::optional<job_problem> groups_problem(const parallel_options& x, size_t replica_count);

} // namespace troupe
