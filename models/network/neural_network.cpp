#include "troupe/models/network/neural_network.hpp"

#include "troupe/models/layers/narrow_dense.hpp"
#include "troupe/models/layers/sparse_dense.hpp"
#include "troupe/models/losses/evaluate_loss.hpp"
#include "troupe/models/math/tree_accumulator.hpp"
#include "troupe/models/network/chain_loss.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <string>

namespace troupe {

namespace {

/// Of sparse rows: some tens of entries each stay in a cache while they are used twice.
constexpr size_t sparse_piece_rows = 64;

void require_size(const char* what, size_t expected, size_t actual) {
  if (expected != actual)
    throw std::invalid_argument(std::string{"neural network: expected "} +
                                std::to_string(expected) + " " + what + ", got " +
                                std::to_string(actual));
}

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
  : model(options.features, options.outputs, options.loss),
    chain_(layers_of(options), cuts_of(options), options.parts, options.dropout, options.sparse),
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
      chain_.pieces([&](size_t layer) { return options.bias ? 2 * layer : layer; }));
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

// ---- Forward ----

void neural_network::require_rows(const batch& rows) const {
  if (chain_.reads_sparse())
    require_size("sparse rows", rows.row_count, rows.sparse.row_count());
  else
    require_size("features", rows.row_count * feature_count(), rows.features.size());
}

void neural_network::forward(std::span<const float> parameters, const batch& rows, bool drops,
                             workspace& memory) const {
  require_size("parameters", layout_.size(), parameters.size());
  require_rows(rows);
  for (size_t k = 0; k < chain_.size(); ++k) {
    chain_.enter(k, rows, drops, memory);
    const auto compute = [&](size_t t, std::span<float> out) {
      chain_.forward(k, t, parameters, rows, drops, memory, out);
    };
    if (chain_.adds_parts(k)) {
      const auto out = chain_.output(k, rows, memory);
      chain_.add_parts(k, 0, chain_.part_count(), out, memory, compute);
      chain_.finish(k, parameters, out);
      continue;
    }
    for (size_t t = 0; t < chain_.part_count(); ++t)
      if (chain_.exists(k, t))
        compute(t, chain_.output(k, t, rows, memory));
  }
}

batch_sums neural_network::take_loss(const batch& rows, workspace& memory) const {
  const auto& loss = loss_with_constants();
  if (!chain_.splits_scores())
    return whole_loss(chain_, loss, rows, memory);
  const auto last = chain_.size() - 1;
  const auto parts = chain_.part_count();
  const auto words = rows.row_count * figure_words(loss.kind);
  const auto told = memory.slot(chain_.slot_count(), parts * words);
  std::array<part_figures, part_count_max> figures;
  const auto sums =
    sum_along_tree<batch_sums>(0, parts, [&](size_t t) -> std::optional<batch_sums> {
      if (!chain_.exists(last, t))
        return std::nullopt;
      const auto own = told.subspan(t * words, words);
      figures[t] = {chain_.units(chain_.layers().size() - 1, t), own};
      return tell_loss(chain_, loss, t, rows, memory, own);
    });
  if (words == 0)
    return *sums;
  batch_sums result;
  for (size_t t = 0; t < parts; ++t)
    if (chain_.exists(last, t))
      result = settle_loss(chain_, loss, t, rows, memory, std::span{figures}.first(parts));
  return result;
}

bool neural_network::sweeps() const {
  return chain_.layers().size() == 1 && chain_.part_count() == 1 &&
         (chain_.reads_sparse() || output_count() <= narrow_outputs_max);
}

// Piece by piece, so that the rows are read from memory once.
batch_sums neural_network::sweep(std::span<const float> parameters, const batch& rows,
                                 std::span<float> gradient_out, workspace& memory) const {
  std::ranges::fill(gradient_out, 0.0f);
  const auto& layer = chain_.layers().front();
  const auto piece_rows = chain_.reads_sparse()
                            ? sparse_piece_rows
                            : std::max<size_t>(narrow_piece_values / feature_count() / 4 * 4, 16);
  batch_sums sums;
  for (size_t begin = 0; begin < rows.row_count; begin += piece_rows) {
    const auto piece = part_of(rows, begin, std::min(piece_rows, rows.row_count - begin));
    forward(parameters, piece, true, memory);
    sums = sums + take_loss(piece, memory);
    const auto delta = chain_.delta(0, piece, memory);
    if (chain_.reads_sparse())
      sparse_dense_layer{layer}.add_gradient(piece.sparse, delta, gradient_out);
    else
      layer.add_narrow_gradient(piece.features, delta, gradient_out);
  }
  return sums;
}

// ---- Backward ----

void neural_network::descend(std::span<const float> parameters, const batch& rows,
                             workspace& memory) const {
  for (size_t k = chain_.size(); k-- > 0;) {
    const auto compute = [&](size_t t, std::span<float> out) {
      chain_.backward(k, t, parameters, rows, memory, out);
    };
    const auto out = k > 0 ? chain_.delta(k - 1, rows, memory) : std::span<float>{};
    chain_.add_parts(k, 0, chain_.part_count(), out, memory, compute);
    if (k > 0)
      chain_.derive(k, 0, rows, memory, out);
  }
}

batch_sums neural_network::do_gradient(std::span<const float> parameters, const batch& rows,
                                       std::span<float> gradient_out, workspace& memory,
                                       const gradient_listener* listener) const {
  require_size("gradients", layout_.size(), gradient_out.size());
  if (sweeps()) {
    require_rows(rows);
    return sweep(parameters, rows, gradient_out, memory);
  }
  forward(parameters, rows, true, memory);
  const auto sums = take_loss(rows, memory);
  descend(parameters, rows, memory);
  size_t done = 0;
  for (const bool first : {true, false})
    chain_.for_each_tile([&](size_t k, size_t t, const index_range& elements) {
      const auto middle = elements.begin + elements.size() / 2;
      if (first != (listener == nullptr || listener->is_wanted_first(middle)))
        return;
      chain_.gradient(k, t, rows, memory, gradient_out.subspan(elements.begin, elements.size()));
      done += elements.size();
      if (done < layout_.size() && listener != nullptr)
        listener->on_piece(elements.begin, elements.end, sums);
    });
  return sums;
}

void neural_network::score_derivatives(std::span<const float> parameters,
                                       std::span<const float> features, size_t output,
                                       std::span<float> out, workspace& memory) const {
  require_size("derivatives", layout_.size(), out.size());
  if (output >= output_count())
    throw std::invalid_argument("neural network: there is no output " + std::to_string(output));
  if (chain_.dropout() > 0)
    throw std::invalid_argument("neural network: derivatives of scores are those without dropout");
  if (chain_.reads_sparse())
    throw std::invalid_argument("neural network: derivatives of scores are those of dense rows");
  batch row;
  row.row_count = 1;
  row.features = features;
  forward(parameters, row, false, memory);
  // Of a single row scores lie in order, cut or not.
  const auto delta = chain_.delta(chain_.size() - 1, row, memory);
  std::ranges::fill(delta, 0.0f);
  delta[output] = 1;
  descend(parameters, row, memory);
  chain_.for_each_tile([&](size_t k, size_t t, const index_range& elements) {
    chain_.gradient(k, t, row, memory, out.subspan(elements.begin, elements.size()));
  });
}

batch_sums neural_network::evaluate(std::span<const float> parameters, const batch& rows,
                                    workspace& memory) const {
  forward(parameters, rows, false, memory);
  return take_loss(rows, memory);
}

void neural_network::do_predict(std::span<const float> parameters, const batch& rows,
                                std::span<float> out, workspace& memory) const {
  require_size("predictions", rows.row_count * prediction_count(), out.size());
  forward(parameters, rows, false, memory);
  predict_from_scores(loss_with_constants(), chain_.whole_scores(rows, memory), output_count(),
                      out);
}

} // namespace troupe
