#include "models/segments/dense_layout.hpp"

#include <stdexcept>

namespace troupe {

dense_layout::dense_layout(std::vector<dense_layer> layers, std::span<const layer_cut> cuts,
                           size_t part_count, bool reads_sparse)
  : layers_(std::move(layers)),
    cuts_(cuts.begin(), cuts.end()),
    segments_(segments_of(cuts)),
    part_count_(part_count),
    reads_sparse_(reads_sparse) {
  if (reads_sparse_ && cuts_.front() != layer_cut::none)
    throw std::invalid_argument("dense layout: a layer that reads sparse rows is not cut");
}

std::vector<chain_segment> dense_layout::chain_segments() const {
  std::vector<chain_segment> result;
  for (const auto& x : segments_) {
    chain_segment made{x, layers_[x.first_layer].inputs, layers_[x.last_layer()].outputs, {}, 0};
    for (size_t t = 0; t < part_count_; ++t)
      made.part_sizes.push_back(exists(x, t) ? std::optional{part_size(x, t)} : std::nullopt);
    made.common_size = common_size(x);
    result.push_back(std::move(made));
  }
  return result;
}

size_t dense_layout::part_size(const layer_segment& segment, size_t t) const {
  size_t result = 0;
  for (auto i = segment.first_layer; i <= segment.last_layer(); ++i)
    result += shape(i, t).parameter_count();
  return result;
}

size_t dense_layout::common_size(const layer_segment& segment) const {
  const auto& last = layers_[segment.last_layer()];
  return segment.cut == layer_cut::inputs && last.has_bias ? last.outputs : 0;
}

index_range dense_layout::units(size_t layer, size_t t) const {
  const auto& x = layers_[layer];
  const auto count = cuts_[layer] == layer_cut::inputs ? x.inputs : x.outputs;
  if (cuts_[layer] == layer_cut::none)
    return {0, t == 0 ? count : 0};
  return {part_begin(t, count, part_count_), part_begin(t + 1, count, part_count_)};
}

dense_layer dense_layout::shape(size_t layer, size_t t) const {
  auto result = layers_[layer];
  if (derivative_needs_input(result.activation))
    result.activation = activation_kind::identity;
  if (cuts_[layer] == layer_cut::outputs)
    result.outputs = units(layer, t).size();
  if (cuts_[layer] == layer_cut::inputs) {
    result.inputs = units(layer, t).size();
    result.activation = activation_kind::identity;
    result.has_bias = false;
  }
  return result;
}

std::vector<layout_piece>
dense_layout::pieces(const std::function<size_t(size_t layer)>& weight) const {
  std::vector<layout_piece> result;
  const auto add = [&](size_t tensor, const index_range& rows, const index_range& columns) {
    const auto offset = result.empty() ? 0 : result.back().offset + result.back().size();
    const bool by_columns = reads_sparse_ && tensor == weight(0);
    result.push_back({tensor, rows, columns, offset, by_columns});
  };
  for (size_t t = 0; t < part_count_; ++t)
    for (const auto& x : segments_)
      for (size_t i = x.first_layer; i <= x.last_layer() && !units(i, t).empty(); ++i) {
        const bool by_inputs = cuts_[i] == layer_cut::inputs;
        const auto rows = by_inputs ? index_range{0, layers_[i].outputs} : units(i, t);
        add(weight(i), rows, by_inputs ? units(i, t) : index_range{0, layers_[i].inputs});
        if (layers_[i].has_bias && !by_inputs)
          add(weight(i) + 1, rows, {0, 1});
      }
  for (const auto& x : segments_)
    if (const auto size = common_size(x); size > 0)
      add(weight(x.last_layer()) + 1, {0, size}, {0, 1});
  return result;
}

} // namespace troupe
