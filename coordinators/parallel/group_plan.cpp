#include "coordinators/parallel/group_plan.hpp"

#include "coordinators/parallel/tile_rule.hpp"
#include "models/losses/split_loss.hpp"
#include "models/math/tree_accumulator.hpp"
#include "models/segments/segment_chain.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <utility>

namespace troupe {

namespace {

size_t count(const std::vector<index_range>& ranges) {
  size_t result = 0;
  for (const auto& range : ranges)
    result += range.size();
  return result;
}

class group_planner {
public:
  group_planner(const model& network, const group_work& work)
    : chain_(network.chain()),
      figure_words_(figure_words(network.loss())),
      work_(work),
      routes_(work.members, chain_.segments(), chain_.part_count()),
      replicas_(work.members.size()) {
    for (const auto rows : work.slice_rows)
      if (rows > 0)
        ++slices_of_rows_[rows];
    largest_ = slices_of_rows_.empty() ? 0 : slices_of_rows_.rbegin()->first;
  }

  group_plan result() && {
    for (size_t i = 0; i < replicas_.size(); ++i) {
      replicas_[i].work = work_.members[i];
      count_slices(i);
      count_tiles(replicas_[i]);
      count_memory(replicas_[i]);
    }
    for (const auto& [rows, count] : slices_of_rows_)
      count_boundaries({rows, count, false});
    if (work_.evaluated_chunks > 0)
      count_boundaries({work_.evaluated_rows, work_.evaluated_chunks, true});
    return {std::move(replicas_), in_order(links_), in_order(wires_)};
  }

private:
  using bytes_of_ends = std::map<std::pair<size_t, size_t>, std::array<uint64_t, 3>>;

  /// Slices of a step, or chunks of an evaluation, with so many rows.
  struct items {
    size_t rows;
    size_t count;
    bool evaluates;
  };

  static std::vector<link_plan> in_order(const bytes_of_ends& links) {
    std::vector<link_plan> result;
    for (const auto& [ends, bytes] : links)
      result.push_back({ends.first, ends.second, bytes});
    return result;
  }

  size_t process_of(size_t member) const {
    return work_.processes.empty() ? 0 : work_.processes[member];
  }

  void count_slices(size_t member) {
    const auto count =
      std::transform_reduce(slices_of_rows_.begin(), slices_of_rows_.end(), size_t{0}, std::plus{},
                            [](const auto& entry) { return entry.second; });
    const auto place = stage_in(work_.members, member);
    const auto bound = in_flight_bound(work_.schedule, place);
    const auto first =
      in_flight_bound(work_.schedule, {0, place.stage_count, place.tensor_replica_count});
    // No other replica can send the only one of the first stage a slice that it has not begun.
    const bool begins = place.stage == 0 && place.tensor_replica_count == 1;
    auto& x = replicas_[member];
    x.slices_held = std::min(count, std::min(bound, count) + (begins ? 0 : std::min(first, count)));
    // Sums lie where the leftmost slice's gradient was: there are never more of both than slices.
    const auto sums = static_cast<size_t>(std::bit_width(count));
    x.sums_kept = std::min(sums, count - x.slices_held);
    // A replica that computes alone adds a slice to the sums before it as soon as it is done.
    if (work_.members.size() == 1 && count > 0)
      x.sums_kept = sums - 1;
    if (work_.by_segment)
      x.slices_held = std::max(count, std::min(chunks_together_max, work_.evaluated_chunks));
  }

  // ---- Parameters and work ----

  void count_tiles(replica_plan& x) const {
    x.parameter_bytes = count(elements_read(chain_, x.work)) * sizeof(float);
    x.slice_gradient_bytes = count(elements_contributed(chain_, x.work)) * sizeof(float);
    for (auto k = x.work.segments.begin; k < x.work.segments.end && work_.by_segment; ++k)
      x.segment_gradient_bytes = std::max<uint64_t>(
        x.segment_gradient_bytes.value_or(0),
        count(elements_contributed(chain_, {x.work.slices, {k, k + 1}, x.work.parts})) *
          sizeof(float));
    uint64_t of_row = 0;
    for (auto k = x.work.segments.begin; k < x.work.segments.end; ++k)
      of_row += chain_.multiply_adds(k, x.work.parts);
    for (const auto rows : work_.slice_rows)
      x.multiply_adds += rows * of_row;
  }

  // ---- Memory of a slice ----

  // What evaluations use too has room for their chunks.
  void count_memory(replica_plan& x) const {
    const auto rows = std::max(largest_, work_.evaluated_rows);
    const auto floats = chain_.memory_floats(x.work.segments, rows, largest_);
    x.slice_activation_bytes = (floats + scratch_of(x.work, rows)) * sizeof(float);
    x.slice_row_bytes = largest_ * work_.gathered_words * sizeof(float);
  }

  /// For right children of the tree over parts: a slot for each size of a node, as a power of two.
  uint64_t scratch_of(const partition& work, size_t rows) const {
    std::array<uint64_t, 65> slots{};
    for (const auto& node : largest_nodes(chain_.part_count(), work.parts))
      for (auto k = work.segments.begin; k < work.segments.end; ++k) {
        if (chain_.adds_parts(k))
          use_scratch(slots, k, node, rows * chain_.out_width(k));
        if (k > 0 && chain_.segment(k).cut != layer_cut::none)
          use_scratch(slots, k, node, largest_ * chain_.in_width(k));
      }
    return std::reduce(slots.begin(), slots.end());
  }

  void use_scratch(std::span<uint64_t> slots, size_t k, const index_range& node,
                   uint64_t floats) const {
    if (node.size() <= 1)
      return;
    const auto middle = node.begin + left_size(node.size());
    if (count_parts(k, {node.begin, middle}) > 0) {
      auto& slot = slots[static_cast<size_t>(std::bit_width(node.size()))];
      slot = std::max(slot, floats);
    }
    use_scratch(slots, k, {node.begin, middle}, floats);
    use_scratch(slots, k, {middle, node.end}, floats);
  }

  // ---- Boundaries ----

  void count_boundaries(const items& of) {
    const auto last = chain_.size() - 1;
    for (size_t boundary = 0; boundary < last; ++boundary) {
      count_boundary(boundary, boundary_way::forward, of);
      if (!of.evaluates)
        count_boundary(boundary, boundary_way::backward, of);
    }
    if (chain_.splits_scores())
      count_figures(of);
    else
      count_boundary(last, boundary_way::forward, of);
  }

  void count_boundary(size_t boundary, boundary_way way, const items& of) {
    const auto& route = routes_.route(boundary, way);
    const auto width = chain_.out_width(boundary);
    for (const auto maker : route.makers) {
      const auto sums = route.exchanges()
                          ? sums_of(way == boundary_way::forward ? boundary : boundary + 1, maker)
                          : 0;
      make(maker, route.makers, of, sums * of.rows * width);
      for (const auto other : route.makers)
        send(maker, {other}, way, of, sums * routes_.rows_of(route, other, of.rows).size() * width);
      const auto own = routes_.rows_of(route, maker, of.rows).size() * width;
      const auto receivers = routes_.receivers(route, maker);
      make(maker, receivers, of, receivers.empty() ? 0 : own);
      send(maker, receivers, way, of, own);
    }
  }

  /// Nodes of the tree over a segment's parts that a maker has sums of.
  size_t sums_of(size_t segment, size_t maker) const {
    size_t result = 0;
    for (const auto& node : largest_nodes(chain_.part_count(), work_.members[maker].parts))
      result += count_parts(segment, node) > 0 ? 1 : 0;
    return result;
  }

  size_t count_parts(size_t segment, const index_range& parts) const {
    size_t result = 0;
    for (auto t = parts.begin; t < parts.end; ++t)
      result += chain_.exists(segment, t) ? 1 : 0;
    return result;
  }

  void count_figures(const items& of) {
    const auto last = chain_.size() - 1;
    const auto& route = routes_.route(last, boundary_way::figures);
    for (const auto maker : route.makers) {
      const auto words = count_parts(last, work_.members[maker].parts) * of.rows * figure_words_;
      make(maker, route.takers, of, words);
      send(maker, route.takers, boundary_way::figures, of, words);
    }
  }

  /// Of an item, for these members: those of other processes may ask for it still when it is done.
  void make(size_t maker, const std::vector<size_t>& takers, const items& of, size_t floats) {
    const bool is_kept = std::ranges::any_of(
      takers, [&](size_t taker) { return process_of(taker) != process_of(maker); });
    if (is_kept)
      replicas_[maker].kept_boundary_bytes += of.count * floats * sizeof(float);
    else
      hold(maker, of, floats);
  }

  void hold(size_t member, const items& of, size_t floats) {
    if (!of.evaluates && of.rows == largest_)
      replicas_[member].slice_boundary_bytes += floats * sizeof(float);
  }

  /// Of an item, to each of these members, but once to each process.
  void send(size_t from, const std::vector<size_t>& to, boundary_way way, const items& of,
            size_t floats) {
    std::set<size_t> told{process_of(from)};
    for (const auto member : to) {
      if (member == from || floats == 0)
        continue;
      const bool crosses = told.insert(process_of(member)).second;
      if (crosses)
        hold(member, of, floats);
      if (of.evaluates)
        continue;
      const auto bytes = of.count * floats * sizeof(float);
      links_[{from, member}][static_cast<size_t>(way)] += bytes;
      if (crosses)
        wires_[{process_of(from), process_of(member)}][static_cast<size_t>(way)] += bytes;
    }
  }

  const segment_chain& chain_;
  size_t figure_words_;
  const group_work& work_;
  boundary_routes routes_;
  std::map<size_t, size_t> slices_of_rows_; ///< how many slices have so many rows
  size_t largest_ = 0;                      ///< rows of a slice
  std::vector<replica_plan> replicas_;
  bytes_of_ends links_;
  bytes_of_ends wires_;
};

} // namespace

group_plan plan_group(const model& network, const group_work& work) {
  return group_planner{network, work}.result();
}

} // namespace troupe
