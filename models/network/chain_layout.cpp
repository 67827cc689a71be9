#include "troupe/models/network/chain_layout.hpp"

#include <stdexcept>

namespace troupe {

chain_layout::chain_layout(std::vector<dense_layer> layers, std::span<const layer_cut> cuts,
                           size_t part_count, bool reads_sparse)
  : layers_(std::move(layers)),
    cuts_(cuts.begin(), cuts.end()),
    segments_(segments_of(cuts)),
    part_count_(part_count),
    reads_sparse_(reads_sparse),
    tiles_(segments_.size(), std::vector<index_range>(part_count + 1)) {
  if (reads_sparse_ && cuts_.front() != layer_cut::none)
    throw std::invalid_argument("chain layout: a layer that reads sparse rows is not cut");
  size_t next = 0;
  for (size_t t = 0; t <= part_count_; ++t)
    for (size_t k = 0; k < size(); ++k) {
      tiles_[k][t].begin = next;
      next += t < part_count_ ? part_size(k, t) : common_size(k);
      tiles_[k][t].end = next;
    }
}

size_t chain_layout::part_size(size_t k, size_t t) const {
  size_t result = 0;
  for (auto i = segments_[k].first_layer; exists(k, t) && i <= segments_[k].last_layer(); ++i)
    result += shape(i, t).parameter_count();
  return result;
}

size_t chain_layout::common_size(size_t k) const {
  return adds_parts(k) && layers_[segments_[k].last_layer()].has_bias ? out_width(k) : 0;
}

index_range chain_layout::units(size_t layer, size_t t) const {
  const auto& x = layers_[layer];
  const auto count = cuts_[layer] == layer_cut::inputs ? x.inputs : x.outputs;
  if (cuts_[layer] == layer_cut::none)
    return {0, t == 0 ? count : 0};
  return {part_begin(t, count, part_count_), part_begin(t + 1, count, part_count_)};
}

bool chain_layout::exists(size_t k, size_t t) const {
  return !units(segments_[k].last_layer(), t).empty();
}

dense_layer chain_layout::shape(size_t layer, size_t t) const {
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
chain_layout::pieces(const std::function<size_t(size_t layer)>& weight) const {
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
  for (size_t k = 0; k < size(); ++k)
    if (common_size(k) > 0)
      add(weight(segments_[k].last_layer()) + 1, {0, out_width(k)}, {0, 1});
  return result;
}

} // namespace troupe
