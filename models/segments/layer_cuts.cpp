#include "models/segments/layer_cuts.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace troupe {

namespace {

/// Multiply-adds that one core does while a float crosses a fast wire and back.
constexpr uint64_t work_of_an_exchange = 128;

constexpr size_t part_units_min = 512;
constexpr size_t part_count_max_by_default = 8;

/// Costs of a row, times the number of parts so that shares of a layer are whole numbers.
class cut_costs {
public:
  cut_costs(std::span<const size_t> widths, size_t parts) : widths_(widths), parts_(parts) {}

  size_t layer_count() const { return widths_.size() - 1; }

  /// What a segment costs beyond an even share of its work.
  uint64_t of(const layer_segment& x) const {
    const auto first = x.first_layer;
    const auto last = x.last_layer();
    if (x.cut == layer_cut::none)
      return 3 * uint64_t{widths_[first]} * widths_[first + 1] * (parts_ - 1);
    uint64_t cost = 0;
    if (x.cut == layer_cut::outputs || x.layer_count == 2) {
      cost += uneven(widths_[first], widths_[first + 1]);
      cost += first > 0 ? sum(widths_[first]) : 0; // of the derivative by its inputs
    }
    if (x.cut == layer_cut::inputs)
      cost += uneven(widths_[last + 1], widths_[last]) + sum(widths_[last + 1]);
    return cost;
  }

private:
  uint64_t sum(uint64_t width) const { return 2 * width * work_of_an_exchange * parts_; }
  /// Three products of `whole` by the largest part of `cut` units, less their share.
  uint64_t uneven(uint64_t whole, uint64_t cut) const {
    return 3 * whole * ((cut + parts_ - 1) / parts_ * parts_ - cut);
  }

  std::span<const size_t> widths_;
  uint64_t parts_;
};

std::vector<layer_segment> segments_from(size_t layer, std::span<const size_t> widths) {
  const auto layer_count = widths.size() - 1;
  std::vector<layer_segment> result{{layer, 1, layer_cut::none}};
  if (layer + 1 == layer_count && widths.back() > 1) // a single score cannot be shared
    result.push_back({layer, 1, layer_cut::outputs});
  if (layer + 1 < layer_count)
    result.push_back({layer, 2, layer_cut::inputs});
  if (layer == 0)
    result.push_back({layer, 1, layer_cut::inputs});
  return result;
}

/// The cheapest segments from a layer on.
struct way_on {
  static constexpr auto none = std::numeric_limits<uint64_t>::max();
  uint64_t cost = 0;
  layer_segment first;

  void take(const layer_segment& x, uint64_t own_cost, uint64_t cost_behind) {
    if (cost_behind == none || own_cost + cost_behind >= cost)
      return;
    cost = own_cost + cost_behind;
    first = x;
  }
};

void append_cuts(const layer_segment& x, std::vector<layer_cut>& cuts) {
  if (x.layer_count == 2)
    cuts.push_back(layer_cut::outputs);
  cuts.push_back(x.cut);
}

} // namespace

std::vector<layer_cut> cheapest_cuts(std::span<const size_t> widths, size_t parts) {
  const cut_costs costs{widths, parts};
  const auto count = costs.layer_count();
  if (parts <= 1)
    return std::vector<layer_cut>(count, layer_cut::none);
  // From the last layer to the first: the cheapest way on from each, of all and of those that cut.
  std::vector<way_on> any(count + 1), cutting(count + 1);
  cutting[count].cost = way_on::none;
  for (size_t layer = count; layer-- > 0;) {
    any[layer].cost = cutting[layer].cost = way_on::none;
    for (const auto& x : segments_from(layer, widths)) {
      const auto behind = layer + x.layer_count;
      any[layer].take(x, costs.of(x), any[behind].cost);
      cutting[layer].take(x, costs.of(x),
                          x.cut == layer_cut::none ? cutting[behind].cost : any[behind].cost);
    }
  }
  std::vector<layer_cut> result;
  for (bool cuts = false; result.size() < count;) {
    const auto& next = (cuts ? any : cutting)[result.size()].first;
    append_cuts(next, result);
    cuts = cuts || next.cut != layer_cut::none;
  }
  return result;
}

std::string cut_problem(std::span<const layer_cut> cuts, size_t layer_count) {
  if (cuts.size() != layer_count)
    return std::to_string(cuts.size()) + " cuts for " + std::to_string(layer_count) + " layers";
  for (size_t i = 0; i < cuts.size(); ++i) {
    const auto layer = "layer " + std::to_string(i);
    if (cuts[i] == layer_cut::outputs && i + 1 < cuts.size() && cuts[i + 1] != layer_cut::inputs)
      return layer + " is cut by outputs, so layer " + std::to_string(i + 1) +
             " must be cut by inputs";
    if (cuts[i] == layer_cut::inputs && i > 0 && cuts[i - 1] != layer_cut::outputs)
      return layer + " is cut by inputs, so layer " + std::to_string(i - 1) +
             " must be cut by outputs";
  }
  return {};
}

std::vector<layer_segment> segments_of(std::span<const layer_cut> cuts) {
  std::vector<layer_segment> result;
  for (size_t i = 0; i < cuts.size(); ++i)
    if (cuts[i] == layer_cut::outputs && i + 1 < cuts.size())
      result.push_back({i++, 2, layer_cut::inputs});
    else
      result.push_back({i, 1, cuts[i]});
  return result;
}

size_t default_part_count(std::span<const size_t> hidden) {
  if (hidden.empty())
    return 1;
  const auto narrowest = *std::ranges::min_element(hidden);
  return std::min(std::bit_floor(std::max<size_t>(narrowest / part_units_min, 1)),
                  part_count_max_by_default);
}

} // namespace troupe
