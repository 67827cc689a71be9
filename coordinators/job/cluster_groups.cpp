#include "troupe/coordinators/job/cluster_groups.hpp"

#include <algorithm>
#include <string>

namespace troupe {

size_t groups_of(const parallel_options& x, size_t replica_count) {
  const auto whole = replica_count / x.group_size();
  return x.splits() ? std::min(whole, x.data.value_or(whole)) : whole;
}

std::optional<job_problem> groups_problem(const parallel_options& x, size_t replica_count) {
  const auto size = std::to_string(x.group_size());
  const auto have = "the nodes have " + std::to_string(replica_count) + " in all";
  if (x.group_size() > 1 && replica_count < x.group_size())
    return job_problem{x.tensor > 1 ? "parallel.tensor" : "parallel.pipeline",
                       "a group needs " + size + " replicas, " + have,
                       "give the nodes more replicas, or split over fewer"};
  if (!x.splits() && x.data.value_or(replica_count) != replica_count)
    return job_problem{"parallel.data", "is another number of replicas than the nodes have",
                       "leave it out and set replicas of each [[node]]"};
  if (x.data.value_or(1) > replica_count / x.group_size())
    return job_problem{"parallel.data",
                       std::to_string(*x.data) + " groups of " + size + " replicas, " + have,
                       "give the nodes more replicas, or leave it out: there are as many groups as "
                       "are whole"};
  return std::nullopt;
}

} // namespace troupe
