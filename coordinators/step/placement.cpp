#include "coordinators/step/placement.hpp"

#include "models/training/regularization.hpp"

#include <algorithm>
#include <iterator>
#include <set>

namespace troupe {

static_assert(block_size == norm_block_size, "a shard's blocks are those of the norm");

std::vector<index_range> split_evenly(size_t count, size_t part_count) {
  std::vector<index_range> parts;
  for (size_t k = 0; k < part_count; ++k)
    parts.push_back({k * count / part_count, (k + 1) * count / part_count});
  return parts;
}

std::vector<index_range> assign_slices(size_t slice_count, size_t replica_count) {
  auto parts = split_evenly(slice_count, std::min(slice_count, replica_count));
  parts.resize(replica_count);
  return parts;
}

index_range chunks_of_group(const std::vector<index_range>& slices, size_t own,
                            size_t chunk_count) {
  std::set<index_range> groups;
  std::ranges::copy_if(slices, std::inserter(groups, groups.end()),
                       [](const index_range& x) { return !x.empty(); });
  const auto place = std::distance(groups.begin(), groups.find(slices.at(own)));
  return split_evenly(chunk_count, groups.size()).at(static_cast<size_t>(place));
}

size_t block_count(size_t parameter_count) {
  return (parameter_count + block_size - 1) / block_size;
}

std::vector<index_range> assign_blocks(size_t parameter_count, size_t shard_count) {
  return split_evenly(block_count(parameter_count), shard_count);
}

index_range elements_of_blocks(const index_range& blocks, size_t parameter_count) {
  return {std::min(blocks.begin * block_size, parameter_count),
          std::min(blocks.end * block_size, parameter_count)};
}

size_t useful_threads(const step_work& x, size_t core_count) {
  const auto parameters = std::max<size_t>(x.parameter_count, 1);
  const bool is_short = x.batch_rows < shared_step_work_min / parameters;
  const bool updates_fast = x.slot_count == 0 || x.slot_count < shared_update_min / parameters;
  return is_short || (x.has_one_replica && updates_fast) ? 1 : core_count;
}

} // namespace troupe
