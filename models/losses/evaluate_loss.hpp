// One pass over a batch's scores: the loss summed over samples, and its derivative.

#pragma once

#include "models/base/batch.hpp"
#include "models/losses/loss.hpp"

#include <span>

namespace troupe {

/// Sums of the loss over the batch's N samples; `scores` is N x C.
///
/// Regressions, targets N x C; a sample's loss is the mean over its C outputs of, with error
/// e = s - y:
/// - squared:  e^2
/// - absolute: |e|; derivative 0 at e = 0
/// - huber:    e^2 / 2 up to |e| = d, d (|e| - d / 2) beyond, d the threshold  (Huber 1964)
/// - poisson:  deviance 2 (y log(y / m) - y + m), m = e^s the mean, y >= 0; derivative 2 (m - y)
/// - gamma:    deviance 2 (y / m - log(y / m) - 1), m = e^s, y > 0; derivative 2 (1 - y / m)
/// With a target scale y is the scaled target, and the sum of squared errors that of predictions in the
/// targets' unit.
///
/// Binary losses, C = 1, labels N of 0 or 1; with the signed score z = s for label 1, -s for 0:
/// - binary cross-entropy: -log P(z), P the link's probability
/// - hinge:                max(0, 1 - z); derivative 0 at z = 1   (Cortes & Vapnik 1995)
/// - squared hinge:        max(0, 1 - z)^2
/// A score above 0 predicts label 1.
///
/// - categorical cross-entropy: log(sum_j exp(s_j)) - s_label; labels N, each below C.
///   Derivative softmax(s)_j - [j = label].
///
/// With weights of classes or of rows, a sample's loss and derivative are multiplied by its label's
/// weight times its own; counts are not, so a mean loss is a sum of weighted losses divided by the number
/// of samples.
///
/// `derivative` (N x C) receives d(sum of losses) / d(scores); it may be the same memory as
/// `scores`. A score that is not finite makes the loss not finite. Throws std::invalid_argument
/// when shapes differ, a label is out of range or without a weight.
batch_sums evaluate_loss(const loss_options& loss, const batch& rows, std::span<const float> scores,
                         size_t score_count, std::span<float> derivative);

/// Predictions from scores (N x C) to `out` (N x 2 for a binary loss, else N x C), which may not
/// overlap:
///
/// - categorical cross-entropy: class probabilities (softmax)
/// - binary cross-entropy: probabilities of both classes
/// - hinges: -s and s, no probabilities: the higher one is the predicted class
/// - poisson, gamma: means e^s
/// - other regressions: the scores, in the targets' unit where they are scaled
void predict_from_scores(const loss_options& loss, std::span<const float> scores,
                         size_t score_count, std::span<float> out);

/// Turns each row of `scores` (N x C) into class probabilities: softmax, in place.
void softmax_rows(std::span<float> scores, size_t score_count);

} // namespace troupe
