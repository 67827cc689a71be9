// The loss behind a segment chain: of whole scores, or part by part where a last layer is cut by outputs
// (models/losses/split_loss.hpp).

#pragma once

#include "models/losses/split_loss.hpp"
#include "models/segments/segment_chain.hpp"

namespace troupe {

/// The loss of whole scores (R x C), to the batch's sums; its derivative goes behind the last segment.
batch_sums whole_loss(const segment_chain& chain, const loss_options& loss, const batch& rows,
                      workspace& memory);

/// What part `t` of split scores tells: figures (R x figure_words) of a cross-entropy, or a regression's
/// sums over its targets. The part's derivative, or what becomes it, goes behind the last segment.
batch_sums tell_loss(const segment_chain& chain, const loss_options& loss, size_t t,
                     const batch& rows, workspace& memory, std::span<float> figures);

/// The cross-entropy from what all parts told, in order of parts, with the derivative of part `t`.
batch_sums settle_loss(const segment_chain& chain, const loss_options& loss, size_t t,
                       const batch& rows, workspace& memory, std::span<const part_figures> figures);

} // namespace troupe
