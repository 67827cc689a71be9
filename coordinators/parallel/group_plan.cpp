#include "troupe/coordinators/parallel/group_plan.hpp"

#include "troupe/coordinators/parallel/grid.hpp"
#include "troupe/models/losses/split_loss.hpp"
#include "troupe/models/math/tree_accumulator.hpp"
#include "troupe/models/network/segment_chain.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <map>
#include <numeric>
#include <span>
#include <utility>

namespace troupe {

namespace {

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
      count_seams(rows, count);
    group_plan result{std::move(replicas_), {}};
    for (const auto& [ends, bytes] : links_)
      result.links.push_back({ends.first, ends.second, bytes});
    return result;
  }

private:
  void count_slices(size_t member) {
    const auto count =
      std::transform_reduce(slices_of_rows_.begin(), slices_of_rows_.end(), size_t{0}, std::plus{},
                            [](const auto& entry) { return entry.second; });
    const auto place = stage_in(work_.members, member);
    const auto bound = in_flight_bound(work_.schedule, place);
    const auto first =
      in_flight_bound(work_.schedule, {0, place.stage_count, place.tensor_replica_count});
    // Nobody can send the only replica of the first stage what it has not begun.
    const bool begins = place.stage == 0 && place.tensor_replica_count == 1;
    auto& x = replicas_[member];
    x.slices_held = std::min(count, std::min(bound, count) + (begins ? 0 : std::min(first, count)));
    x.sums_kept = static_cast<size_t>(std::bit_width(count));
  }

  // ---- Parameters and work ----

  void count_tiles(replica_plan& x) const {
    chain_.for_each_tile([&](size_t k, size_t t, const index_range& elements) {
      const bool shared = t == chain_.part_count() || chain_.segment(k).cut == layer_cut::none;
      if (!x.work.segments.contains(k) || (!shared && !x.work.parts.contains(t)))
        return;
      x.parameter_bytes += elements.size() * sizeof(float);
      if (!shared || x.work.parts.contains(0))
        x.slice_gradient_bytes += elements.size() * sizeof(float);
    });
    uint64_t of_row = 0;
    for (auto k = x.work.segments.begin; k < x.work.segments.end; ++k)
      for (auto i = chain_.segment(k).first_layer; i <= chain_.segment(k).last_layer(); ++i)
        of_row += products_of(i, x.work.parts);
    for (const auto rows : work_.slice_rows)
      x.multiply_adds += rows * of_row;
  }

  /// Multiply-adds of a row: forward, the derivative by what is read unless that is data, the gradient.
  uint64_t products_of(size_t layer, const index_range& parts) const {
    const auto& x = chain_.layers()[layer];
    const auto whole = uint64_t{x.inputs} * x.outputs;
    const uint64_t passes = layer > 0 ? 2 : 1;
    if (chain_.cut(layer) == layer_cut::none)
      return whole * (passes + (parts.contains(0) ? 1 : 0));
    uint64_t units = 0;
    for (auto t = parts.begin; t < parts.end; ++t)
      units += chain_.units(layer, t).size();
    return units * (chain_.cut(layer) == layer_cut::inputs ? x.outputs : x.inputs) * (passes + 1);
  }

  // ---- Memory of a slice ----

  // Slots as segment_chain uses them. What evaluations use too has room for their chunks.
  void count_memory(replica_plan& x) const {
    const auto rows = std::max(largest_, work_.evaluated_rows);
    const auto& layers = chain_.layers();
    const auto begin = chain_.segment(x.work.segments.begin).first_layer;
    const auto end = chain_.segment(x.work.segments.end - 1).last_layer() + 1;
    uint64_t floats = 0;
    for (auto i = begin > 0 ? begin - 1 : 0; i < end; ++i) {
      const uint64_t width = layers[i].outputs;
      const bool is_loss = i + 1 == layers.size();
      floats += width * (rows + (is_loss ? rows : largest_)); // kept, and the derivative
      if (i + 1 < end)
        floats += width * (rows + (chain_.dropout() > 0 ? largest_ : 0)); // read, and the mask
    }
    if (begin == 0 && chain_.cut(0) == layer_cut::inputs)
      floats += rows * layers[0].inputs; // columns of the features
    x.slice_activation_bytes = (floats + scratch_of(x.work, rows)) * sizeof(float);
    x.slice_row_bytes = largest_ * work_.gathered_words * sizeof(float);
  }

  /// For right children of the tree over parts: a slot for each size of a node, as a power of two.
  uint64_t scratch_of(const portion& work, size_t rows) const {
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

  // ---- Seams ----

  void count_seams(size_t rows, size_t times) {
    const auto last = chain_.size() - 1;
    for (size_t seam = 0; seam < last; ++seam) {
      count_seam(seam, seam_way::forward, rows, times);
      count_seam(seam, seam_way::backward, rows, times);
    }
    if (chain_.splits_scores())
      count_figures(rows, times);
    else
      count_seam(last, seam_way::forward, rows, times);
  }

  void count_seam(size_t seam, seam_way way, size_t rows, size_t times) {
    const auto& route = routes_.route(seam, way);
    const auto width = chain_.out_width(seam);
    for (const auto maker : route.makers) {
      const auto sums =
        route.exchanges() ? sums_of(way == seam_way::forward ? seam : seam + 1, maker) : 0;
      make(maker, rows, sums * rows * width);
      for (const auto other : route.makers)
        send(maker, other, way, times * sums * routes_.rows_of(route, other, rows).size() * width);
      const auto own = routes_.rows_of(route, maker, rows).size() * width;
      const auto receivers = routes_.receivers(route, maker);
      make(maker, rows, receivers.empty() ? 0 : own);
      for (const auto receiver : receivers)
        send(maker, receiver, way, times * own);
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

  void count_figures(size_t rows, size_t times) {
    const auto last = chain_.size() - 1;
    const auto& route = routes_.route(last, seam_way::figures);
    for (const auto maker : route.makers) {
      const auto words = count_parts(last, work_.members[maker].parts) * rows * figure_words_;
      make(maker, rows, words);
      for (const auto taker : route.takers)
        send(maker, taker, seam_way::figures, times * words);
    }
  }

  void make(size_t maker, size_t rows, size_t floats) {
    if (rows == largest_)
      replicas_[maker].slice_seam_bytes += floats * sizeof(float);
  }

  void send(size_t from, size_t to, seam_way way, size_t floats) {
    if (from != to && floats > 0)
      links_[{from, to}][static_cast<size_t>(way)] += floats * sizeof(float);
  }

  const segment_chain& chain_;
  size_t figure_words_;
  const group_work& work_;
  seam_routes routes_;
  std::map<size_t, size_t> slices_of_rows_; ///< how many slices have so many rows
  size_t largest_ = 0;                      ///< rows of a slice
  std::vector<replica_plan> replicas_;
  std::map<std::pair<size_t, size_t>, std::array<uint64_t, 3>> links_;
};

} // namespace

group_plan plan_group(const model& network, const group_work& work) {
  return group_planner{network, work}.result();
}

} // namespace troupe
