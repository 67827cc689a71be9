// Losses of one row: what `evaluate_loss` runs over a batch. Shapes: C scores a row.

#pragma once

#include "troupe/models/base/batch.hpp"
#include "troupe/models/losses/loss.hpp"

#include <cstddef>
#include <span>

namespace troupe::detail {

/// A regression's loss of one row, C scores against C targets; `derivative` (C) may be the scores.
batch_sums regression_row(const loss_options& loss, std::span<const float> scores,
                          std::span<const float> targets, float* derivative);

/// A regression's losses of R rows with one score each (R); `derivative` (R) may be the scores.
batch_sums regression_column(const loss_options& loss, std::span<const float> scores,
                             std::span<const float> targets, float* derivative);

/// A binary loss of one score against label 0 or 1; `derivative` may be the score.
batch_sums binary_row(const loss_options& loss, float score, size_t label, float* derivative);

} // namespace troupe::detail
