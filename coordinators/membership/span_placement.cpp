#include "coordinators/membership/view_placement.hpp"

#include "coordinators/step/placement.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

namespace troupe {

namespace {

/// If more than one in so many blocks would go to a neighbour, all are split evenly. Such blocks make
/// the neighbour's shard larger; most contributions stay at home either way.
constexpr size_t left_over_max = 8;

/// Blocks that lie together and are contributed by the same members.
struct block_run {
  index_range blocks;
  std::vector<size_t> producers; ///< of those that have shards
  std::vector<size_t> owners;    ///< a member for each of its shards that has a share
};

struct owned_blocks {
  size_t member = 0;
  index_range blocks;
};

class near_spans {
public:
  near_spans(const std::vector<member>& members, std::span<const replica_place> replicas,
             size_t parameter_count, std::span<const split_tile> tiles)
    : block_count_(block_count(parameter_count)) {
    for (size_t m = 0; m < members.size(); ++m) {
      const auto works = [&](const replica_place& x) { return x.member == m && !x.work().empty(); };
      free_.push_back(std::ranges::any_of(replicas, works) ? members[m].shard_count : 0);
    }
    find_runs(replicas, tiles);
  }

  std::vector<shard_place> result() && {
    const auto free = free_;
    const auto near = share_runs();
    size_t left_over = 0;
    for (const auto& run : runs_)
      left_over += run.owners.empty() ? run.blocks.size() : 0;
    free_ = free;
    const auto even = split_evenly_near();
    const bool is_near =
      left_over * left_over_max <= block_count_ && at_home(near) >= at_home(even);
    return numbered(is_near ? near : even);
  }

private:
  // A block that lies in two tiles belongs to the one with more of it.
  void find_runs(std::span<const replica_place> replicas, std::span<const split_tile> tiles) {
    size_t begin = 0;
    for (const auto& tile : tiles) {
      const bool is_last = &tile == &tiles.back();
      const auto end = is_last ? block_count_ : (tile.elements.end + block_size / 2) / block_size;
      auto producers = producers_of(tile, replicas);
      if (begin == end)
        continue;
      if (!runs_.empty() && runs_.back().producers == producers)
        runs_.back().blocks.end = end;
      else
        runs_.push_back({{begin, end}, std::move(producers), {}});
      begin = end;
    }
  }

  std::vector<size_t> producers_of(const split_tile& tile,
                                   std::span<const replica_place> replicas) const {
    std::vector<size_t> result;
    for (const auto& place : replicas)
      if (tile.is_of(place.work()) && !place.slices.empty() && free_[place.member] > 0)
        result.push_back(place.member);
    std::ranges::sort(result);
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
  }

  // ---- Runs to the members that contribute them ----

  std::vector<owned_blocks> share_runs() {
    while (auto* run = worth_most())
      give(*run);
    std::vector<owned_blocks> result;
    size_t begin = 0; // of blocks without an owner
    for (auto& run : runs_) {
      std::ranges::sort(run.owners);
      const auto shares = split_evenly(run.blocks.size(), run.owners.size());
      for (size_t i = 0; i < shares.size(); ++i) {
        result.push_back({run.owners[i], {begin, run.blocks.begin + shares[i].end}});
        begin = result.back().blocks.end;
      }
      if (run.owners.empty() && !result.empty())
        begin = result.back().blocks.end = run.blocks.end;
    }
    return result;
  }

  /// The run for which another owner, one that is free, saves most.
  block_run* worth_most() {
    block_run* result = nullptr;
    for (auto& run : runs_) {
      const bool is_free =
        std::ranges::any_of(run.producers, [this](size_t m) { return free_[m] > 0; });
      if (is_free && gain(run) > (result != nullptr ? gain(*result) : 0))
        result = &run;
    }
    return result;
  }

  static double gain(const block_run& run) {
    const auto size = static_cast<double>(run.blocks.size());
    const auto count = static_cast<double>(run.owners.size());
    if (run.owners.empty())
      return size;
    return count < size ? size / count - size / (count + 1) : 0;
  }

  /// To the member that is needed least elsewhere, and then has the smallest share of it.
  void give(block_run& run) {
    std::optional<std::tuple<ptrdiff_t, ptrdiff_t, size_t>> best;
    for (const auto m : run.producers)
      if (free_[m] > 0) {
        const std::tuple rank{needs_for(m) - static_cast<ptrdiff_t>(free_[m]),
                              std::ranges::count(run.owners, m), m};
        best = best ? std::min(*best, rank) : rank;
      }
    const auto owner = std::get<2>(*best);
    run.owners.push_back(owner);
    --free_[owner];
  }

  ptrdiff_t needs_for(size_t member) const {
    return std::ranges::count_if(runs_, [&](const block_run& run) {
      return run.owners.empty() && std::ranges::binary_search(run.producers, member);
    });
  }

  // ---- Even spans to the members that contribute most of them ----

  std::vector<owned_blocks> split_evenly_near() {
    size_t shard_count = 0;
    for (const auto count : free_)
      shard_count += count;
    const auto spans = split_evenly(block_count_, std::min(shard_count, block_count_));
    std::vector<std::tuple<size_t, size_t, size_t>> ranks; // blocks of others, span, member
    for (size_t k = 0; k < spans.size(); ++k)
      for (size_t m = 0; m < free_.size(); ++m)
        ranks.emplace_back(spans[k].size() - contributed(spans[k], m), k, m);
    std::ranges::sort(ranks);
    std::vector<std::optional<size_t>> owners(spans.size());
    for (const auto& [others, k, m] : ranks)
      if (!owners[k] && free_[m] > 0) {
        owners[k] = m;
        --free_[m];
      }
    std::vector<owned_blocks> result;
    for (size_t k = 0; k < spans.size(); ++k)
      result.push_back({*owners[k], spans[k]});
    return result;
  }

  size_t contributed(const index_range& span, size_t member) const {
    size_t result = 0;
    for (const auto& run : runs_) {
      const auto begin = std::max(run.blocks.begin, span.begin);
      const auto end = std::min(run.blocks.end, span.end);
      if (begin < end && std::ranges::binary_search(run.producers, member))
        result += end - begin;
    }
    return result;
  }

  /// Blocks that lie with a member that contributes them.
  size_t at_home(const std::vector<owned_blocks>& spans) const {
    size_t result = 0;
    for (const auto& span : spans)
      result += contributed(span.blocks, span.member);
    return result;
  }

  std::vector<shard_place> numbered(const std::vector<owned_blocks>& spans) const {
    std::vector<shard_place> result;
    std::vector<size_t> next(free_.size(), 0);
    for (const auto& span : spans)
      result.push_back({span.member, next[span.member]++, span.blocks});
    return result;
  }

  size_t block_count_;
  std::vector<size_t> free_; ///< shards of each member that own nothing yet
  std::vector<block_run> runs_;
};

} // namespace

std::vector<shard_place> place_spans_evenly(const std::vector<member>& members,
                                            size_t parameter_count) {
  std::vector<shard_place> result;
  for (size_t m = 0; m < members.size(); ++m)
    for (size_t k = 0; k < members[m].shard_count; ++k)
      result.push_back({m, k, {}});
  result.resize(std::min(result.size(), block_count(parameter_count)));
  const auto blocks = assign_blocks(parameter_count, result.size());
  for (size_t k = 0; k < result.size(); ++k)
    result[k].blocks = blocks[k];
  return result;
}

std::vector<shard_place> place_spans_near(const std::vector<member>& members,
                                          std::span<const replica_place> replicas,
                                          size_t parameter_count,
                                          std::span<const split_tile> tiles) {
  const bool serves = std::ranges::any_of(
    members, [](const member& x) { return x.shard_count > 0 && x.replica_count == 0; });
  const bool works = std::ranges::any_of(replicas, [&](const replica_place& x) {
    return !x.work().empty() && members[x.member].shard_count > 0;
  });
  if (serves || !works || tiles.empty())
    return place_spans_evenly(members, parameter_count);
  return near_spans{members, replicas, parameter_count, tiles}.result();
}

} // namespace troupe
