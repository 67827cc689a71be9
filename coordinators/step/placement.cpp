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

std::vector<index_range> chunks_of_group(const std::vector<index_range>& slices, size_t own,
                                         const evaluation_rows& rows, const timeline& plan) {
  std::set<index_range> groups;
  size_t replica_count = 0;
  for (const auto& x : slices)
    if (!x.empty()) {
      groups.insert(x);
      ++replica_count;
    }
  const auto& mine = slices.at(own);
  const auto holding = plan.holding_of_slice(mine.begin);
  const auto is_of = [&](const index_range& x, size_t other) {
    return plan.holdings[other].slices.contains(x);
  };
  const bool are_at_home =
    !plan.holdings.empty() && (rows.test.is_held() || rows.validation.is_held()) &&
    groups.size() == replica_count && std::ranges::all_of(groups, [&](const index_range& x) {
      return is_of(x, plan.holding_of_slice(x.begin));
    });
  if (!are_at_home) {
    const auto place = static_cast<size_t>(std::distance(groups.begin(), groups.find(mine)));
    return {split_evenly(rows.chunk_count(), groups.size()).at(place)};
  }
  std::vector<index_range> result;
  const auto add = [&](const chunked_rows& part, size_t first) {
    const bool at_home = part.is_held();
    index_range chunks = at_home ? part.chunks_of(holding) : index_range{0, part.chunk_count()};
    size_t count = 0, place = 0;
    for (const auto& group : groups)
      if (!at_home || is_of(group, holding)) {
        place += group < mine;
        ++count;
      }
    const auto share = split_evenly(chunks.size(), count).at(place);
    const auto begin = first + chunks.begin;
    if (!result.empty() && result.back().end == begin + share.begin)
      result.back().end = begin + share.end;
    else if (!share.empty())
      result.push_back({begin + share.begin, begin + share.end});
  };
  add(rows.test, 0);
  add(rows.validation, rows.test.chunk_count());
  return result;
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
