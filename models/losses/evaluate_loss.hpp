// One pass over a batch's scores: the loss summed over samples, and its derivative.

#pragma once

#include "troupe/models/batch.hpp"
#include "troupe/models/losses/loss.hpp"

#include <span>

namespace troupe {

/// Sums of the loss over the batch's N samples; `scores` is N x C.
///
/// - squared: (1 / C) sum_j (s_j - y_j)^2 a sample; targets N x C.
///   Derivative 2 (s_j - y_j) / C.
/// - categorical cross-entropy: log(sum_j exp(s_j)) - s_label a sample; labels N, each below C.
///   Derivative softmax(s)_j - [j = label].
///
/// `derivative` (N x C) receives d(sum of losses) / d(scores); it may be the same memory as
/// `scores`. A score that is not finite makes the loss not finite. Throws std::invalid_argument
/// when shapes differ or a label is out of range.
batch_sums evaluate_loss(loss_kind kind, const batch& rows, std::span<const float> scores,
                         size_t score_count, std::span<float> derivative);

/// Turns each row of `scores` (N x C) into class probabilities: softmax, in place.
void softmax_rows(std::span<float> scores, size_t score_count);

} // namespace troupe
