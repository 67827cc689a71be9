#include "models/segments/chain_loss.hpp"

#include "models/base/copy_values.hpp"
#include "models/losses/evaluate_loss.hpp"

#include <algorithm>

namespace troupe {

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
  copy_values(chain.output(chain.size() - 1, t, rows, memory), part.scores.begin());
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
