#include "models/network/chained_model.hpp"

#include "models/base/require.hpp"
#include "models/losses/evaluate_loss.hpp"
#include "models/math/moves.hpp"
#include "models/math/tree_accumulator.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <string>

namespace troupe {

namespace {

constexpr size_check require_size{"model"};

} // namespace

// ---- Forward ----

void chained_model::require_rows(const batch& rows) const {
  if (chain().reads_sparse())
    require_size("sparse rows", rows.row_count, rows.sparse.row_count());
  else
    require_size("features", rows.row_count * feature_count(), rows.features.size());
}

void chained_model::forward(std::span<const float> parameters, const batch& rows, bool drops,
                            workspace& memory) const {
  require_size("parameters", layout_.size(), parameters.size());
  require_rows(rows);
  for (size_t k = 0; k < chain().size(); ++k) {
    chain().enter(k, rows, drops, memory);
    const auto compute = [&](size_t t, std::span<float> out) {
      chain().forward(k, t, parameters, rows, drops, memory, out);
    };
    if (chain().adds_parts(k)) {
      const auto out = chain().output(k, rows, memory);
      chain().add_parts(k, 0, chain().part_count(), out, memory, compute);
      chain().finish(k, 0, parameters, rows, memory, out);
      continue;
    }
    for (size_t t = 0; t < chain().part_count(); ++t)
      if (chain().exists(k, t))
        compute(t, chain().output(k, t, rows, memory));
  }
}

batch_sums chained_model::take_loss(const batch& rows, workspace& memory) const {
  const auto& loss = loss_with_constants();
  if (!chain().splits_scores())
    return whole_loss(chain(), loss, rows, memory);
  const auto last = chain().size() - 1;
  const auto parts = chain().part_count();
  const auto words = rows.row_count * figure_words(loss.kind);
  const auto told = memory.of_processor().slot(chain().slot_count(), parts * words);
  std::array<part_figures, part_count_max> figures;
  const auto sums =
    sum_along_tree<batch_sums>(0, parts, [&](size_t t) -> std::optional<batch_sums> {
      if (!chain().exists(last, t))
        return std::nullopt;
      const auto own = told.subspan(t * words, words);
      figures[t] = {chain().score_units(t), own};
      return tell_loss(chain(), loss, t, rows, memory, own);
    });
  if (words == 0)
    return *sums;
  batch_sums result;
  for (size_t t = 0; t < parts; ++t)
    if (chain().exists(last, t))
      result = settle_loss(chain(), loss, t, rows, memory, std::span{figures}.first(parts));
  return result;
}

// ---- Backward ----

void chained_model::descend(std::span<const float> parameters, const batch& rows,
                            workspace& memory) const {
  for (size_t k = chain().size(); k-- > 0;) {
    const auto compute = [&](size_t t, std::span<float> out) {
      chain().backward(k, t, parameters, rows, memory, out);
    };
    const auto out = k > 0 ? chain().delta(k - 1, rows, memory) : std::span<float>{};
    chain().add_parts(k, 0, chain().part_count(), out, memory, compute);
    if (k > 0)
      chain().derive(k, 0, rows, memory, out);
  }
}

batch_sums chained_model::do_gradient(std::span<const float> parameters, const batch& rows,
                                      std::span<float> gradient_out, workspace& memory,
                                      const gradient_listener* listener) const {
  require_size("gradients", layout_.size(), gradient_out.size());
  forward(parameters, rows, true, memory);
  const auto sums = take_loss(rows, memory);
  descend(parameters, rows, memory);
  size_t done = 0;
  for (const bool first : {true, false})
    chain().for_each_tile([&](size_t k, size_t t, const index_range& elements) {
      const auto middle = elements.begin + elements.size() / 2;
      if (first != (listener == nullptr || listener->is_wanted_first(middle)))
        return;
      chain().gradient(k, t, rows, memory, gradient_out.subspan(elements.begin, elements.size()));
      done += elements.size();
      if (done < layout_.size() && listener != nullptr)
        listener->on_piece(elements.begin, elements.end, sums);
    });
  return sums;
}

void chained_model::score_derivatives(std::span<const float> parameters,
                                      std::span<const float> features, size_t output,
                                      std::span<float> out, workspace& memory) const {
  require_size("derivatives", layout_.size(), out.size());
  if (output >= output_count())
    throw std::invalid_argument("model: there is no output " + std::to_string(output));
  if (is_random())
    throw std::invalid_argument("model: derivatives of scores are those without dropout");
  if (chain().reads_sparse())
    throw std::invalid_argument("model: derivatives of scores are those of dense rows");
  batch row;
  row.row_count = 1;
  row.features = features;
  forward(parameters, row, true, memory); // nothing is dropped, and what backward needs is kept
  // Of a single row scores lie in order, cut or not.
  const auto delta = chain().delta(chain().size() - 1, row, memory);
  fill_values(delta, 0);
  delta[output] = 1;
  descend(parameters, row, memory);
  chain().for_each_tile([&](size_t k, size_t t, const index_range& elements) {
    chain().gradient(k, t, row, memory, out.subspan(elements.begin, elements.size()));
  });
}

batch_sums chained_model::evaluate(std::span<const float> parameters, const batch& rows,
                                   workspace& memory) const {
  forward(parameters, rows, false, memory);
  return take_loss(rows, memory);
}

void chained_model::do_predict(std::span<const float> parameters, const batch& rows,
                               std::span<float> out, workspace& memory) const {
  require_size("predictions", rows.row_count * prediction_count(), out.size());
  forward(parameters, rows, false, memory);
  predict_from_scores(loss_with_constants(), chain().whole_scores(rows, memory), output_count(),
                      out);
}

namespace {

score_part part_of_scores(const segment_chain& chain, size_t t, const batch& rows,
                          workspace& memory) {
  const auto last = chain.size() - 1;
  return {chain.score_units(t), chain.out_width(last), chain.delta(last, t, rows, memory)};
}

} // namespace

batch_sums whole_loss(const segment_chain& chain, const loss_options& loss, const batch& rows,
                      workspace& memory) {
  const auto last = chain.size() - 1;
  return evaluate_loss(loss, rows, chain.output(last, rows, memory), chain.out_width(last),
                       chain.delta(last, rows, memory));
}

batch_sums tell_loss(const segment_chain& chain, const loss_options& loss, size_t t,
                     const batch& rows, workspace& memory, std::span<float> figures) {
  const auto part = part_of_scores(chain, t, rows, memory);
  copy_floats(chain.output(chain.size() - 1, t, rows, memory), part.scores);
  if (!is_classification(loss.kind))
    return split_regression(loss, rows, part);
  tell_figures(rows, part, figures);
  return {};
}

batch_sums settle_loss(const segment_chain& chain, const loss_options& loss, size_t t,
                       const batch& rows, workspace& memory,
                       std::span<const part_figures> figures) {
  return split_cross_entropy(loss, rows, t, part_of_scores(chain, t, rows, memory), figures);
}

} // namespace troupe
