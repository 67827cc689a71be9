#include "models/segments/dense_chain.hpp"

#include "models/math/moves.hpp"
#include "models/network/dropout.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

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

namespace {

// A layer's slots of the workspace. Behind those of all layers: the columns of the features, if layer 0
// is cut by inputs; whole scores.
enum slot : size_t { kept, read, mask, derivative, slots_per_layer };
enum slot_behind : size_t { columns, whole, behind_count };

size_t slot_of(size_t layer, slot which) {
  return layer * slots_per_layer + which;
}

/// f is not applied yet: the reader of the kept rows applies it.
bool is_kept_before(const dense_layer& layer) {
  return derivative_needs_input(layer.activation);
}

std::span<float> part_of_rows(std::span<float> whole, size_t row_count, const index_range& units) {
  return whole.subspan(row_count * units.begin, row_count * units.size());
}

} // namespace

// ---- For plans ----

std::vector<size_t> dense_chain::layer_widths() const {
  std::vector<size_t> result;
  for (const auto& layer : layers())
    result.push_back(layer.outputs);
  return result;
}

std::vector<layer_cut> dense_chain::cuts_of(size_t k) const {
  std::vector<layer_cut> result;
  for (auto i = segment(k).first_layer; i <= segment(k).last_layer(); ++i)
    result.push_back(layout_.cut(i));
  return result;
}

uint64_t dense_chain::multiply_adds(size_t k, const index_range& parts) const {
  uint64_t result = 0;
  for (auto i = segment(k).first_layer; i <= segment(k).last_layer(); ++i) {
    const auto& x = layers()[i];
    const uint64_t passes = i > 0 ? 2 : 1;
    if (layout_.cut(i) == layer_cut::none) {
      result += uint64_t{x.inputs} * x.outputs * (passes + (parts.contains(0) ? 1 : 0));
      continue;
    }
    uint64_t count = 0;
    for (auto t = parts.begin; t < parts.end; ++t)
      count += layout_.units(i, t).size();
    result += count * (layout_.cut(i) == layer_cut::inputs ? x.outputs : x.inputs) * (passes + 1);
  }
  return result;
}

uint64_t dense_chain::memory_floats(const index_range& some, size_t rows, size_t derived) const {
  const auto begin = segment(some.begin).first_layer;
  const auto end = segment(some.end - 1).last_layer() + 1;
  uint64_t result = 0;
  for (auto i = begin > 0 ? begin - 1 : 0; i < end; ++i) {
    const uint64_t width = layers()[i].outputs;
    const bool is_loss = i + 1 == layers().size();
    result += width * (rows + (is_loss ? rows : derived)); // kept, and the derivative
    if (i + 1 < end)
      result += width * (rows + (dropout_ > 0 ? derived : 0)); // read, and the mask
  }
  if (begin == 0 && layout_.cut(0) == layer_cut::inputs)
    result += rows * layers()[0].inputs; // columns of the features
  return result;
}

std::optional<size_t> dense_chain::smallest_part() const {
  std::optional<size_t> result;
  for (const auto& x : segments())
    for (auto i = x.first_layer; i <= x.last_layer(); ++i)
      for (size_t t = 0; x.cut != layer_cut::none && t < part_count(); ++t)
        if (const auto count = layout_.units(i, t).size(); count > 0)
          result = std::min(result.value_or(count), count);
  return result;
}

// ---- Rows in memory ----

std::span<float> dense_chain::rows_of(size_t which, size_t layer, size_t t, const batch& rows,
                                      workspace& memory) const {
  const auto whole =
    memory.slot(slot_of(layer, static_cast<slot>(which)), rows.row_count * layers()[layer].outputs);
  return layout_.cut(layer) == layer_cut::outputs
           ? part_of_rows(whole, rows.row_count, layout_.units(layer, t))
           : whole;
}

std::span<float> dense_chain::output(size_t k, const batch& rows, workspace& memory) const {
  return memory.slot(slot_of(segment(k).last_layer(), kept), rows.row_count * out_width(k));
}

std::span<float> dense_chain::output(size_t k, size_t t, const batch& rows,
                                     workspace& memory) const {
  return rows_of(kept, segment(k).last_layer(), t, rows, memory);
}

std::span<float> dense_chain::delta(size_t k, const batch& rows, workspace& memory) const {
  return memory.slot(slot_of(segment(k).last_layer(), derivative), rows.row_count * out_width(k));
}

std::span<float> dense_chain::delta(size_t k, size_t t, const batch& rows,
                                    workspace& memory) const {
  return rows_of(derivative, segment(k).last_layer(), t, rows, memory);
}

std::span<const float> dense_chain::entered(size_t layer, size_t t, bool drops, const batch& rows,
                                            workspace& memory) const {
  const bool apart = is_kept_before(layers()[layer]) || (drops && drops_after(layer));
  return rows_of(apart ? read : kept, layer, t, rows, memory);
}

std::span<const float> dense_chain::input(size_t k, size_t t, bool drops, const batch& rows,
                                          workspace& memory) const {
  const auto layer = segment(k).first_layer;
  if (layer > 0)
    return entered(layer - 1, t, drops, rows, memory);
  if (layout_.cut(0) != layer_cut::inputs)
    return rows.features;
  return part_of_rows(memory.slot(behind_layers(columns), rows.row_count * layers()[0].inputs),
                      rows.row_count, layout_.units(0, t));
}

std::span<const float> dense_chain::whole_scores(const batch& rows, workspace& memory) const {
  const auto last = size() - 1;
  const auto packed = output(last, rows, memory);
  if (!splits_scores())
    return packed;
  const auto width = out_width(last);
  const auto result = memory.slot(behind_layers(whole), packed.size());
  for (size_t t = 0; t < part_count(); ++t) {
    const auto here = layout_.units(layers().size() - 1, t);
    const auto own = output(last, t, rows, memory);
    copy_columns({own, here.size(), 0}, {result, width, here.begin}, here.size(), rows.row_count);
  }
  return result;
}

size_t dense_chain::behind_layers(size_t slot) const {
  return layers().size() * slots_per_layer + slot;
}

size_t dense_chain::own_slot_count() const {
  return behind_layers(behind_count);
}

// ---- Forward ----

void dense_chain::enter_layer(size_t layer, size_t t, const batch& rows, bool drops,
                              workspace& memory) const {
  const auto values = rows_of(kept, layer, t, rows, memory);
  const auto result = rows_of(read, layer, t, rows, memory);
  auto from = values;
  if (is_kept_before(layers()[layer])) {
    copy_floats(values, result);
    activate(layers()[layer].activation, result);
    from = result;
  }
  if (!drops || !drops_after(layer))
    return;
  const auto factors = rows_of(mask, layer, t, rows, memory);
  const auto all = index_range{0, layers()[layer].outputs};
  fill_dropout_mask(dropout_, rows, static_cast<uint32_t>(layer),
                    layout_.cut(layer) == layer_cut::outputs ? layout_.units(layer, t) : all,
                    factors);
  apply_mask(factors, from, result);
}

void dense_chain::enter(size_t k, const batch& rows, bool drops, workspace& memory) const {
  if (k > 0)
    enter_layer(segment(k).first_layer - 1, 0, rows, drops, memory);
}

void dense_chain::forward(size_t k, size_t t, const windowed_values& parameters, const batch& rows,
                          bool drops, workspace& memory, std::span<float> out) const {
  const auto& x = segment(k);
  auto own = parameters.at(tile(k, t));
  if (k == 0 && reads_sparse())
    return sparse_dense_layer{layout_.shape(0, t)}.forward(own, rows.sparse, out);
  auto from = input(k, t, drops, rows, memory);
  if (layout_.cut(x.first_layer) ==
      layer_cut::inputs) { // layer 0: the part's columns of the features
    const auto own_columns =
      part_of_rows(memory.slot(behind_layers(columns), rows.row_count * layers()[0].inputs),
                   rows.row_count, layout_.units(0, t));
    const auto units = layout_.units(0, t);
    copy_columns({rows.features, layers()[0].inputs, units.begin}, {own_columns, units.size(), 0},
                 units.size(), rows.row_count);
  }
  if (x.layer_count == 2) {
    const auto layer = layout_.shape(x.first_layer, t);
    layer.forward(own.first(layer.parameter_count()), from,
                  rows_of(kept, x.first_layer, t, rows, memory));
    enter_layer(x.first_layer, t, rows, drops, memory);
    from = entered(x.first_layer, t, drops, rows, memory);
    own = own.subspan(layer.parameter_count());
  }
  layout_.shape(x.last_layer(), t).forward(own, from, out);
}

void dense_chain::finish(size_t k, size_t, const windowed_values& parameters, const batch&,
                         workspace&, std::span<float> values) const {
  const auto& layer = layers()[segment(k).last_layer()];
  const auto kind = is_kept_before(layer) ? activation_kind::identity : layer.activation;
  if (layer.has_bias)
    add_bias_and_activate(kind, parameters.at(tile(k, part_count())).first(out_width(k)), values);
  else
    activate(kind, values);
}

// ---- Backward ----

void dense_chain::leave_layer(size_t layer, size_t t, size_t first_row, const batch& rows,
                              workspace& memory, std::span<float> delta) const {
  const auto width = rows_of(kept, layer, t, rows, memory).size() / rows.row_count;
  const auto own = [&](slot which) {
    return rows_of(which, layer, t, rows, memory).subspan(first_row * width, delta.size());
  };
  if (drops_after(layer))
    apply_mask(own(mask), delta, delta);
  multiply_by_derivative(layers()[layer].activation, own(kept), delta);
}

void dense_chain::backward(size_t k, size_t t, const windowed_values& parameters, const batch& rows,
                           workspace& memory, std::span<float> out) const {
  const auto& x = segment(k);
  auto own = parameters.at(tile(k, t));
  std::span<const float> behind = delta(k, t, rows, memory);
  auto layer = layout_.shape(x.first_layer, t);
  if (x.layer_count == 2) {
    const auto inner = rows_of(derivative, x.first_layer, t, rows, memory);
    layout_.shape(x.last_layer(), t).backward(own.subspan(layer.parameter_count()), behind, inner);
    leave_layer(x.first_layer, t, 0, rows, memory, inner);
    behind = inner;
  }
  if (!out.empty())
    layer.backward(own.first(layer.parameter_count()), behind, out);
}

void dense_chain::derive(size_t k, size_t first_row, const batch& rows, workspace& memory,
                         std::span<float> values) const {
  leave_layer(segment(k).first_layer - 1, 0, first_row, rows, memory, values);
}

void dense_chain::gradient(size_t k, size_t t, const batch& rows, workspace& memory,
                           std::span<float> out) const {
  if (t == part_count())
    return sum_columns(delta(k, rows, memory), out);
  if (k == 0 && reads_sparse())
    return sparse_dense_layer{layout_.shape(0, t)}.gradient(rows.sparse, delta(k, t, rows, memory),
                                                            out);
  const auto& x = segment(k);
  auto from = input(k, t, true, rows, memory);
  if (x.layer_count == 2) {
    const auto layer = layout_.shape(x.first_layer, t);
    layer.gradient(from, rows_of(derivative, x.first_layer, t, rows, memory),
                   out.first(layer.parameter_count()));
    from = entered(x.first_layer, t, true, rows, memory);
    out = out.subspan(layer.parameter_count());
  }
  layout_.shape(x.last_layer(), t).gradient(from, delta(k, t, rows, memory), out);
}

} // namespace troupe
