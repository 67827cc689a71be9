// The plan of a run: who holds how many bytes, what replicas send each other a step, how evenly they
// work. It follows from the job and the shape of its data alone, so it is known before the run.
//
// Replicas are actors of one process. They share what they only read: of P parameters, of which the
// optimizer keeps s values each, there are two versions, the optimizer's state, and the step's sum,
// 4 (3 + s) P bytes whatever the split. What each replica has to itself is told by group_plan.hpp.

#pragma once

#include "troupe/coordinators/job/resolve.hpp"
#include "troupe/coordinators/parallel/group_plan.hpp"

#include <string>
#include <vector>

namespace troupe {

struct parallel_plan {
  struct segment_plan {
    index_range layers;
    std::vector<layer_cut> cuts; ///< of each
    size_t width = 0;            ///< units behind it
    double share = 0;            ///< of the work
  };

  std::vector<size_t> widths; ///< features, hidden units, outputs
  size_t parameter_count = 0;
  size_t part_count = 1;
  std::vector<segment_plan> segments;
  grid_shape shape;                   ///< groups that have slices, replicas of a stage, stages
  size_t slice_count = 1;             ///< of a step, those with rows
  std::vector<replica_plan> replicas; ///< by rank: groups one behind the other, then spares
  std::vector<link_plan> links;       ///< between ranks
  uint64_t version_bytes = 0;         ///< shared: two versions of the parameters
  uint64_t optimizer_bytes = 0;       ///< shared
  uint64_t sum_bytes = 0;             ///< shared: the gradient of a step
  std::vector<double> stage_shares;   ///< of a group's work
  double imbalance = 1;               ///< work of the replica that has most, divided by the mean
  /// (P - 1) / (M + P - 1) of P stages and M slices, the fewest of a group: the share of a step in
  /// which stages wait, were they all alike.
  double bubble = 0;
  std::vector<std::string> warnings;

  uint64_t shared_bytes() const { return version_bytes + optimizer_bytes + sum_bytes; }
  /// Of the process, beside its data.
  uint64_t bytes() const;
};

/// Of a resolved job without problems, whose replicas train in step, and its model.
parallel_plan plan_of(const job& resolved, const data_shape& shape, const model& network,
                      size_t core_count);

} // namespace troupe
