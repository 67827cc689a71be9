// Cluster groups: how many groups of replicas the nodes of a cluster make up. Nodes say how many
// replicas they bring; a model that is split takes several for each group.

#pragma once

#include "troupe/coordinators/job/job.hpp"
#include "troupe/coordinators/job/job_problem.hpp"

#include <cstddef>
#include <optional>

namespace troupe {

/// Groups of a run with so many replicas in all: as many as are whole, or fewer that were asked for.
/// Replicas beyond them are spares.
size_t groups_of(const parallel_options& x, size_t replica_count);

/// Why so many replicas, in all, are too few, or cannot make the groups that were asked for.
std::optional<job_problem> groups_problem(const parallel_options& x, size_t replica_count);

} // namespace troupe
