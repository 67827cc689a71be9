#include "troupe/models/network/segment_chain.hpp"

#include "troupe/models/base/copy_values.hpp"
#include "troupe/models/layers/sparse_dense.hpp"
#include "troupe/models/network/dropout.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace troupe {

namespace {

// A layer's slots of the workspace. Behind those of all layers: the columns of the features, if layer 0
// is cut by inputs; whole scores; sums over parts, by the size of their node of the tree.
enum slot : size_t { kept, read, mask, derivative, slots_per_layer };
enum slot_behind : size_t { columns, whole, sums, behind_count = sums + 65 };

size_t slot_of(size_t layer, slot which) {
  return layer * slots_per_layer + which;
}

/// f is applied by who reads what is kept.
bool is_kept_before(const dense_layer& layer) {
  return derivative_needs_input(layer.activation);
}

std::span<float> part_of_rows(std::span<float> whole, size_t row_count, const index_range& units) {
  return whole.subspan(row_count * units.begin, row_count * units.size());
}

void copy_columns(std::span<const float> rows, size_t width, const index_range& columns,
                  std::span<float> out) {
  for (size_t row = 0; row * width < rows.size(); ++row)
    copy_values(rows.subspan(row * width + columns.begin, columns.size()),
                out.subspan(row * columns.size()).begin());
}

} // namespace

// ---- Rows in memory ----

std::span<float> segment_chain::rows_of(size_t which, size_t layer, size_t t, const batch& rows,
                                        workspace& memory) const {
  const auto whole =
    memory.slot(slot_of(layer, static_cast<slot>(which)), rows.row_count * layers()[layer].outputs);
  return cut(layer) == layer_cut::outputs ? part_of_rows(whole, rows.row_count, units(layer, t))
                                          : whole;
}

std::span<float> segment_chain::output(size_t k, const batch& rows, workspace& memory) const {
  return memory.slot(slot_of(segment(k).last_layer(), kept), rows.row_count * out_width(k));
}

std::span<float> segment_chain::output(size_t k, size_t t, const batch& rows,
                                       workspace& memory) const {
  return rows_of(kept, segment(k).last_layer(), t, rows, memory);
}

std::span<float> segment_chain::delta(size_t k, const batch& rows, workspace& memory) const {
  return memory.slot(slot_of(segment(k).last_layer(), derivative), rows.row_count * out_width(k));
}

std::span<float> segment_chain::delta(size_t k, size_t t, const batch& rows,
                                      workspace& memory) const {
  return rows_of(derivative, segment(k).last_layer(), t, rows, memory);
}

std::span<const float> segment_chain::entered(size_t layer, size_t t, bool drops, const batch& rows,
                                              workspace& memory) const {
  const bool apart = is_kept_before(layers()[layer]) || (drops && drops_after(layer));
  return rows_of(apart ? read : kept, layer, t, rows, memory);
}

std::span<const float> segment_chain::input(size_t k, size_t t, bool drops, const batch& rows,
                                            workspace& memory) const {
  const auto layer = segment(k).first_layer;
  if (layer > 0)
    return entered(layer - 1, t, drops, rows, memory);
  if (cut(0) != layer_cut::inputs)
    return rows.features;
  return part_of_rows(memory.slot(behind_layers(columns), rows.row_count * layers()[0].inputs),
                      rows.row_count, units(0, t));
}

std::span<const float> segment_chain::whole_scores(const batch& rows, workspace& memory) const {
  const auto last = size() - 1;
  const auto packed = output(last, rows, memory);
  if (!splits_scores())
    return packed;
  const auto width = out_width(last);
  const auto result = memory.slot(behind_layers(whole), packed.size());
  for (size_t t = 0; t < part_count(); ++t) {
    const auto here = units(layers().size() - 1, t);
    const auto own = output(last, t, rows, memory);
    for (size_t row = 0; row < rows.row_count; ++row)
      copy_values(own.subspan(row * here.size(), here.size()),
                  result.subspan(row * width + here.begin).begin());
  }
  return result;
}

size_t segment_chain::behind_layers(size_t slot) const {
  return layers().size() * slots_per_layer + slot;
}

// What lies below a right child needs scratch for fewer parts.
std::span<float> segment_chain::scratch(size_t parts, size_t size, workspace& memory) const {
  return memory.slot(behind_layers(sums + static_cast<size_t>(std::bit_width(parts))), size);
}

size_t segment_chain::slot_count() const {
  return behind_layers(behind_count);
}

// ---- Forward ----

void segment_chain::enter_layer(size_t layer, size_t t, const batch& rows, bool drops,
                                workspace& memory) const {
  const auto values = rows_of(kept, layer, t, rows, memory);
  const auto result = rows_of(read, layer, t, rows, memory);
  auto from = values;
  if (is_kept_before(layers()[layer])) {
    copy_values(values, result.begin());
    activate(layers()[layer].activation, result);
    from = result;
  }
  if (!drops || !drops_after(layer))
    return;
  const auto factors = rows_of(mask, layer, t, rows, memory);
  const auto all = index_range{0, layers()[layer].outputs};
  fill_dropout_mask(dropout_, rows, static_cast<uint32_t>(layer),
                    cut(layer) == layer_cut::outputs ? units(layer, t) : all, factors);
  apply_mask(factors, from, result);
}

void segment_chain::enter(size_t k, const batch& rows, bool drops, workspace& memory) const {
  if (k > 0)
    enter_layer(segment(k).first_layer - 1, 0, rows, drops, memory);
}

void segment_chain::forward(size_t k, size_t t, const windowed_values& parameters,
                            const batch& rows, bool drops, workspace& memory,
                            std::span<float> out) const {
  const auto& x = segment(k);
  auto own = parameters.at(tile(k, t));
  if (k == 0 && reads_sparse())
    return sparse_dense_layer{shape(0, t)}.forward(own, rows.sparse, out);
  auto from = input(k, t, drops, rows, memory);
  if (cut(x.first_layer) == layer_cut::inputs) { // layer 0: the part's columns of the features
    const auto own_columns =
      part_of_rows(memory.slot(behind_layers(columns), rows.row_count * layers()[0].inputs),
                   rows.row_count, units(0, t));
    copy_columns(rows.features, layers()[0].inputs, units(0, t), own_columns);
  }
  if (x.layer_count == 2) {
    const auto layer = shape(x.first_layer, t);
    layer.forward(own.first(layer.parameter_count()), from,
                  rows_of(kept, x.first_layer, t, rows, memory));
    enter_layer(x.first_layer, t, rows, drops, memory);
    from = entered(x.first_layer, t, drops, rows, memory);
    own = own.subspan(layer.parameter_count());
  }
  shape(x.last_layer(), t).forward(own, from, out);
}

void segment_chain::finish(size_t k, const windowed_values& parameters,
                           std::span<float> values) const {
  const auto& layer = layers()[segment(k).last_layer()];
  const auto kind = is_kept_before(layer) ? activation_kind::identity : layer.activation;
  if (layer.has_bias)
    add_bias_and_activate(kind, parameters.at(tile(k, part_count())).first(out_width(k)), values);
  else
    activate(kind, values);
}

// ---- Backward ----

void segment_chain::leave_layer(size_t layer, size_t t, size_t first_row, const batch& rows,
                                workspace& memory, std::span<float> delta) const {
  const auto width = rows_of(kept, layer, t, rows, memory).size() / rows.row_count;
  const auto own = [&](slot which) {
    return rows_of(which, layer, t, rows, memory).subspan(first_row * width, delta.size());
  };
  if (drops_after(layer))
    apply_mask(own(mask), delta, delta);
  multiply_by_derivative(layers()[layer].activation, own(kept), delta);
}

void segment_chain::backward(size_t k, size_t t, const windowed_values& parameters,
                             const batch& rows, workspace& memory, std::span<float> out) const {
  const auto& x = segment(k);
  auto own = parameters.at(tile(k, t));
  std::span<const float> behind = delta(k, t, rows, memory);
  auto layer = shape(x.first_layer, t);
  if (x.layer_count == 2) {
    const auto inner = rows_of(derivative, x.first_layer, t, rows, memory);
    shape(x.last_layer(), t).backward(own.subspan(layer.parameter_count()), behind, inner);
    leave_layer(x.first_layer, t, 0, rows, memory, inner);
    behind = inner;
  }
  if (!out.empty())
    layer.backward(own.first(layer.parameter_count()), behind, out);
}

void segment_chain::derive(size_t k, size_t first_row, const batch& rows, workspace& memory,
                           std::span<float> values) const {
  leave_layer(segment(k).first_layer - 1, 0, first_row, rows, memory, values);
}

void segment_chain::gradient(size_t k, size_t t, const batch& rows, workspace& memory,
                             std::span<float> out) const {
  if (t == part_count())
    return sum_columns(delta(k, rows, memory), out);
  if (k == 0 && reads_sparse())
    return sparse_dense_layer{shape(0, t)}.gradient(rows.sparse, delta(k, t, rows, memory), out);
  const auto& x = segment(k);
  auto from = input(k, t, true, rows, memory);
  if (x.layer_count == 2) {
    const auto layer = shape(x.first_layer, t);
    layer.gradient(from, rows_of(derivative, x.first_layer, t, rows, memory),
                   out.first(layer.parameter_count()));
    from = entered(x.first_layer, t, true, rows, memory);
    out = out.subspan(layer.parameter_count());
  }
  shape(x.last_layer(), t).gradient(from, delta(k, t, rows, memory), out);
}

} // namespace troupe
