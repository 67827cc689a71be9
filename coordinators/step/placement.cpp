#include "coordinators/step/placement.hpp"

#include "models/training/regularization.hpp"

#include <algorithm>
#include <bit>
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

namespace {

/// `units` of `size` slices each, the last one may be shorter: each goes to whom it makes least late.
std::vector<size_t> units_by_speed(size_t units, size_t size, const std::vector<double>& speeds) {
  std::vector<size_t> result(speeds.size(), 0);
  const auto time_with_one_more = [&](size_t i) {
    return static_cast<double>((result[i] + 1) * size) / speeds[i];
  };
  for (; units > 0; --units) {
    size_t best = 0;
    for (size_t i = 1; i < speeds.size(); ++i)
      if (time_with_one_more(i) < time_with_one_more(best))
        best = i;
    ++result[best];
  }
  return result;
}

std::vector<index_range> ranges_of_units(const std::vector<size_t>& units, size_t size,
                                         size_t slice_count) {
  std::vector<index_range> result;
  size_t begin = 0;
  for (const auto count : units) {
    const auto end = std::min(begin + count * size, slice_count);
    result.push_back({begin, end});
    begin = end;
  }
  return result;
}

} // namespace

double step_time(const std::vector<index_range>& slices, const std::vector<double>& speeds) {
  double result = 0;
  for (size_t i = 0; i < slices.size(); ++i)
    result = std::max(result, static_cast<double>(slices[i].size()) / speeds[i]);
  return result;
}

std::vector<index_range> assign_slices(size_t slice_count, const std::vector<double>& speeds) {
  constexpr double much = 1 + 1.0 / 30;
  const auto shares_of = [&](size_t size) {
    const auto units = units_by_speed((slice_count + size - 1) / size, size, speeds);
    return ranges_of_units(units, size, slice_count);
  };
  const auto finest = shares_of(1);
  const auto enough = much * step_time(finest, speeds);
  if (const auto even = assign_slices(slice_count, speeds.size());
      step_time(even, speeds) <= enough)
    return even;
  for (auto size = std::bit_floor(std::max<size_t>(slice_count, 1)); size > 1; size /= 2)
    if (auto coarse = shares_of(size); step_time(coarse, speeds) <= enough)
      return coarse;
  return finest;
}

std::vector<index_range> chunks_of_group(const std::vector<index_range>& slices, size_t own,
                                         const evaluation_rows& rows, const timeline& plan) {
  const auto& mine = slices.at(own);
  /// Of these chunks, those that go with these slices, out of all of `among`.
  const auto part_of = [](const index_range& chunks, const index_range& part,
                          const index_range& among) {
    const auto at = [&](size_t slice) {
      return chunks.begin + chunks.size() * (slice - among.begin) / among.size();
    };
    return index_range{at(part.begin), at(part.end)};
  };
  const index_range all{0, plan.slice_count};
  std::set<index_range> groups;
  size_t replica_count = 0;
  for (const auto& x : slices)
    if (!x.empty()) {
      groups.insert(x);
      ++replica_count;
    }
  const bool are_at_home =
    !plan.holdings.empty() && (rows.test.is_held() || rows.validation.is_held()) &&
    groups.size() == replica_count && std::ranges::all_of(groups, [&](const index_range& x) {
      return plan.holdings[plan.holding_of_slice(x.begin)].slices.contains(x);
    });
  if (!are_at_home)
    return {part_of({0, rows.chunk_count()}, mine, all)};
  const auto holding = plan.holding_of_slice(mine.begin);
  std::vector<index_range> result;
  const auto add = [&](const chunked_rows& part, size_t first) {
    const bool at_home = part.is_held();
    const auto share = at_home
                         ? part_of(part.chunks_of(holding), mine, plan.holdings[holding].slices)
                         : part_of({0, part.chunk_count()}, mine, all);
    const auto begin = first + share.begin;
    if (!result.empty() && result.back().end == begin)
      result.back().end = first + share.end;
    else if (!share.empty())
      result.push_back({begin, first + share.end});
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
