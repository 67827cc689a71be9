#include "models/network/neural_network.hpp"

#include "models/base/require.hpp"
#include "models/layers/dense.hpp"
#include "models/layers/single_output.hpp"
#include "models/math/moves.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace troupe {

namespace {

/// Of sparse rows: some tens of entries each stay in a cache while they are used twice.
constexpr size_t sparse_piece_rows = 64;

constexpr size_check require_size{"neural network"};

std::vector<size_t> widths_of(const neural_network_options& options) {
  std::vector<size_t> result{options.features};
  result.insert(result.end(), options.hidden.begin(), options.hidden.end());
  result.push_back(options.outputs);
  return result;
}

std::vector<dense_layer> layers_of(const neural_network_options& options) {
  if (const auto& kinds = options.activation.kinds(); kinds.size() != 1)
    require_size("activations", options.hidden.size(), kinds.size());
  if (!(options.dropout >= 0 && options.dropout < 1))
    throw std::invalid_argument("neural network: the dropout must be in [0, 1)");
  const auto widths = widths_of(options);
  std::vector<dense_layer> result;
  for (size_t i = 0; i + 1 < widths.size(); ++i) {
    const bool hidden = i < options.hidden.size();
    const auto activation = hidden ? options.activation.of(i) : activation_kind::identity;
    result.push_back({widths[i], widths[i + 1], activation, options.bias});
  }
  return result;
}

std::vector<layer_cut> cuts_of(const neural_network_options& options) {
  if (options.parts == 0 || options.parts > part_count_max)
    throw std::invalid_argument("neural network: the parts must be 1 to " +
                                std::to_string(part_count_max));
  if (options.parts == 1)
    return std::vector<layer_cut>(options.hidden.size() + 1, layer_cut::none);
  if (options.cuts.empty())
    return cheapest_cuts(widths_of(options), options.parts);
  if (const auto problem = cut_problem(options.cuts, options.hidden.size() + 1); !problem.empty())
    throw std::invalid_argument("neural network: " + problem);
  if (is_binary(options.loss.kind) && options.cuts.back() == layer_cut::outputs)
    throw std::invalid_argument("neural network: a binary loss has one score, which is not cut");
  return options.cuts;
}

} // namespace

neural_network::neural_network(const neural_network_options& options)
  : chained_model(options.features, options.outputs, options.loss),
    chain_({layers_of(options), cuts_of(options), options.parts, options.sparse}, options.dropout),
    initialization_(options.initialization),
    initialization_scale_(options.initialization_scale) {
  if (is_binary(loss()))
    require_size("output for a binary loss", 1, options.outputs);
  for (size_t i = 0; i < chain_.layers().size(); ++i) {
    const auto& layer = chain_.layers()[i];
    const auto name = "layers." + std::to_string(i);
    layout_.add(name + ".weight", {layer.outputs, layer.inputs});
    if (options.bias)
      layout_.add(name + ".bias", {layer.outputs});
  }
  if (options.parts > 1 || (options.sparse && chain_.layers().front().outputs > 1))
    layout_.set_pieces(
      chain_.layout().pieces([&](size_t layer) { return options.bias ? 2 * layer : layer; }));
}

// Weights are made row by row; so many rows of the piece at once, and so many of their elements.
void neural_network::initialize_columns(const initialization_request& first,
                                        const layout_piece& piece, const index_range& elements,
                                        std::span<float> out) const {
  constexpr size_t columns_at_once = 4096;
  const auto rows = piece.rows.size();
  std::vector<float> values(columns_at_once);
  const auto begin = std::max(piece.offset, elements.begin);
  const auto end = std::min(piece.offset + piece.size(), elements.end);
  if (begin >= end)
    return;
  const auto column_end = (end - piece.offset + rows - 1) / rows;
  for (auto column = (begin - piece.offset) / rows; column < column_end; column += columns_at_once)
    for (size_t row = 0; row < rows; ++row) {
      const auto made = std::span{values}.first(std::min(columns_at_once, column_end - column));
      auto request = first;
      request.first = row * first.inputs + column;
      troupe::initialize(initialization_, request, made);
      for (size_t i = 0; i < made.size(); ++i)
        if (const auto place = piece.offset + (column + i) * rows + row;
            place >= elements.begin && place < elements.end)
          out[place - elements.begin] = made[i];
    }
}

void neural_network::do_initialize(uint64_t seed, const index_range& elements,
                                   std::span<float> out) const {
  require_size("parameters", elements.size(), out.size());
  std::ranges::fill(out, 0.0f);
  size_t layer = 0;
  for (const auto& tensor : layout_.tensors()) {
    if (tensor.shape.size() < 2)
      continue;
    const auto& x = chain_.layers()[layer];
    // Weights are sequence 2 i, with or without biases between them.
    const initialization_request first{
      seed, static_cast<uint32_t>(2 * layer), x.inputs, x.outputs, initialization_scale_, 0};
    ++layer;
    if (layer == 1 && chain_.reads_sparse() && !layout_.pieces().empty()) {
      initialize_columns(first, layout_.pieces().front(), elements, out);
      continue;
    }
    layout_.for_each_run(tensor, [&](size_t element, size_t place, size_t count) {
      const auto begin = std::max(place, elements.begin);
      const auto end = std::min(place + count, elements.end);
      auto request = first;
      request.first = element + begin - place;
      if (begin < end)
        troupe::initialize(initialization_, request,
                           out.subspan(begin - elements.begin, end - begin));
    });
  }
}

bool neural_network::sweeps() const {
  return chain_.layers().size() == 1 && chain_.part_count() == 1 &&
         (chain_.reads_sparse() || output_count() == 1);
}

// Piece by piece, so that the rows are read from memory once.
batch_sums neural_network::sweep(std::span<const float> parameters, const batch& rows,
                                 std::span<float> gradient_out, workspace& memory) const {
  fill_values(gradient_out, 0);
  const auto& layer = chain_.layers().front();
  const auto piece_rows = chain_.reads_sparse()
                            ? sparse_piece_rows
                            : std::max<size_t>(single_piece_values / feature_count() / 4 * 4, 16);
  batch_sums sums;
  for (size_t begin = 0; begin < rows.row_count; begin += piece_rows) {
    const auto piece = part_of(rows, begin, std::min(piece_rows, rows.row_count - begin));
    forward(parameters, piece, true, memory);
    sums = sums + take_loss(piece, memory);
    const auto delta = chain_.delta(0, piece, memory);
    if (chain_.reads_sparse())
      sparse_dense_layer{layer}.add_gradient(piece.sparse, delta, gradient_out);
    else
      layer.add_single_gradient(piece.features, delta, gradient_out);
  }
  return sums;
}

batch_sums neural_network::do_gradient(std::span<const float> parameters, const batch& rows,
                                       std::span<float> gradient_out, workspace& memory,
                                       const gradient_listener* listener) const {
  if (!sweeps())
    return chained_model::do_gradient(parameters, rows, gradient_out, memory, listener);
  require_size("gradients", layout_.size(), gradient_out.size());
  require_rows(rows);
  return sweep(parameters, rows, gradient_out, memory);
}

} // namespace troupe
