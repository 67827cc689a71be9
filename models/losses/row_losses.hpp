// Losses of one row: what `evaluate_loss` runs over a batch. Shapes: C scores a row.

#pragma once

#include "models/base/batch.hpp"
#include "models/losses/loss.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace troupe::detail {

/// Targets (N x T) as a loss with this scale compares them: the given ones, or scaled ones in `room`.
std::span<const float> compared_targets(const target_scale& scale, std::span<const float> targets,
                                        size_t target_count, std::vector<float>& room);

/// Squared errors of what scores (N x U) predict by a scale that is not none, in the targets' unit; U targets of
/// each row from number `first` on, of N x T.
double squared_errors(const loss_options& loss, std::span<const float> scores, size_t width,
                      std::span<const float> targets, size_t first, size_t target_count);

/// A regression's loss of one row, U of its C scores against as many compared targets, as their share of the mean
/// over all C; `derivative` (U) may be the scores.
batch_sums regression_row(const loss_options& loss, std::span<const float> scores,
                          std::span<const float> targets, size_t score_count, float* derivative);

/// A regression's losses of R rows with one score each (R); `derivative` (R) may be the scores.
batch_sums regression_column(const loss_options& loss, std::span<const float> scores,
                             std::span<const float> targets, float* derivative);

/// A binary loss of one score against label 0 or 1; `derivative` may be the score.
batch_sums binary_row(const loss_options& loss, float score, size_t label, float* derivative);

/// The first highest score; 0 when a NaN is in the way.
size_t index_of_maximum(std::span<const float> scores);

/// Writes e^(s_j - maximum) to `out` (which may be `scores`) and returns their sum.
float exponentials(std::span<const float> scores, float maximum, float* out);

/// The label of row i. Throws std::invalid_argument when it is not below `class_count`.
size_t checked_label(const batch& rows, size_t i, size_t class_count);

/// Multiplies the loss and derivative of row i by what it counts: the weight of its label's class times
/// its own, in this order and in float; `label` is 0 where there are no classes. Nothing where nothing has
/// weights.
void apply_weight(const loss_options& loss, const batch& rows, size_t i, size_t label,
                  batch_sums& sums, std::span<float> derivative);

/// What each row counts by that (N); empty where nothing has weights. Labels are below the number of classes.
std::vector<float> row_weights(const loss_options& loss, const batch& rows);

/// Throws std::invalid_argument unless each row has a weight, or none.
void require_weights(const batch& rows);

} // namespace troupe::detail
