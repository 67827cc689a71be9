#include "coordinators/parallel/grid.hpp"

#include "coordinators/step/placement.hpp"

#include <iterator>
#include <set>
#include <stdexcept>

namespace troupe {

namespace {

/// The best first stage of what is left, and the largest cost of a stage that it leads to.
struct stage_choice {
  uint64_t largest = std::numeric_limits<uint64_t>::max();
  size_t end = 0;
};

using choices = std::vector<stage_choice>; // by first segment

void refuse(const std::string& what, size_t count, const std::string& of, size_t most) {
  throw std::invalid_argument("grid: " + std::to_string(count) + " " + what + " for " +
                              std::to_string(most) + " " + of);
}

/// All segments from each one on as a single stage.
choices last_stages(const std::vector<uint64_t>& costs) {
  choices result(costs.size());
  uint64_t cost = 0;
  for (size_t begin = costs.size(); begin-- > 0;)
    result[begin] = {cost += costs[begin], costs.size()};
  return result;
}

/// One stage before those of `behind`. The last segments are too few for that: they stay without
/// choice.
choices stages_before(const std::vector<uint64_t>& costs, const choices& behind) {
  choices result(costs.size());
  for (size_t begin = 0; begin < costs.size(); ++begin) {
    uint64_t cost = 0;
    for (size_t end = begin + 1; end < costs.size(); ++end) {
      cost += costs[end - 1];
      const auto largest = std::max(cost, behind[end].largest);
      if (largest < result[begin].largest)
        result[begin] = {largest, end};
    }
  }
  return result;
}

std::vector<index_range> stages_of_counts(const std::vector<size_t>& counts, size_t segment_count) {
  std::vector<index_range> result;
  size_t begin = 0;
  for (const auto count : counts) {
    if (count == 0)
      throw std::invalid_argument("grid: a stage without segments");
    result.push_back({begin, begin + count});
    begin += count;
  }
  if (begin != segment_count)
    refuse("segments in stages", begin, "segments of the model", segment_count);
  return result;
}

std::vector<index_range> stages_of(const grid_work& work, size_t stage_count) {
  if (work.stages.empty())
    return balance_stages(work.segment_costs, stage_count);
  if (work.stages.size() != stage_count)
    refuse("counts of segments", work.stages.size(), "stages", stage_count);
  return stages_of_counts(work.stages, work.segment_costs.size());
}

size_t group_count(const grid_shape& shape, const grid_work& work, size_t replica_count) {
  return std::min({shape.data, work.slice_count, replica_count / shape.group_size()});
}

} // namespace

std::vector<index_range> balance_stages(const std::vector<uint64_t>& costs, size_t stage_count) {
  if (stage_count == 0 || stage_count > costs.size())
    refuse("stages", stage_count, "segments", costs.size());
  std::vector<choices> by_count{last_stages(costs)};
  while (by_count.size() < stage_count)
    by_count.push_back(stages_before(costs, by_count.back()));
  std::vector<index_range> result;
  size_t begin = 0;
  for (auto from_here = by_count.rbegin(); from_here != by_count.rend(); ++from_here) {
    result.push_back({begin, (*from_here)[begin].end});
    begin = result.back().end;
  }
  return result;
}

std::vector<partition> place_partitions(const grid_shape& shape, const grid_work& work,
                                        size_t replica_count) {
  if (shape.data == 0)
    refuse("groups", shape.data, "slices", work.slice_count);
  if (shape.tensor == 0 || shape.tensor > work.part_count)
    refuse("replicas of a stage", shape.tensor, "parts", work.part_count);
  const auto stages = stages_of(work, shape.pipeline);
  const auto parts = split_evenly(work.part_count, shape.tensor);
  std::vector<partition> result;
  for (const auto& slices : split_evenly(work.slice_count, group_count(shape, work, replica_count)))
    for (const auto& segments : stages)
      for (const auto& part : parts)
        result.push_back({slices, segments, part});
  result.resize(replica_count);
  return result;
}

stage_place stage_in(const std::vector<partition>& group, size_t member) {
  std::set<size_t> stages; // by their first segments
  for (const auto& work : group)
    stages.insert(work.segments.begin);
  const auto own = stages.find(group[member].segments.begin);
  return {static_cast<size_t>(std::distance(stages.begin(), own)), stages.size(),
          group.size() / stages.size()};
}

namespace {

std::string counted(const std::string& what, const index_range& x) {
  return what + (x.size() == 1 ? " " : "s ") + range_text(x);
}

} // namespace

std::string range_text(const index_range& x) {
  return x.size() == 1 ? std::to_string(x.begin)
                       : std::to_string(x.begin) + "-" + std::to_string(x.end - 1);
}

std::string partition_text(const partition& work, const model_split& split) {
  if (work.empty())
    return "spare";
  const index_range layers{split.layers[work.segments.begin].begin,
                           split.layers[work.segments.end - 1].end};
  const auto part = counted(", part", work.parts) + " of " + std::to_string(split.part_count);
  return counted("slice", work.slices) + counted(", layer", layers) +
         (split.part_count > 1 ? part : "");
}

} // namespace troupe
