// Dropout (Srivastava et al. 2014), in its inverted form: training silences each unit of a hidden
// layer with probability p and multiplies the others by 1 / (1 - p). So the expected output is that
// of evaluation, where nothing is dropped.
//
// Whether a unit is silenced depends on (seed, step, layer, number of the row, unit) alone, never
// on which replica computes the row or in which slice it is.

#pragma once

#include "models/base/batch.hpp"
#include "models/base/index_range.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

/// Fills `mask` (N x U) for the batch's N rows and U units of a layer: 0 with probability `rate`, else
/// 1 / (1 - rate). Throws std::invalid_argument when `mask` has another size or `rate` is not in
/// [0, 1).
void fill_dropout_mask(double rate, const batch& rows, uint32_t layer, const index_range& units,
                       std::span<float> mask);

/// out = values * mask, element by element; `out` may be `values`. Sizes must be equal.
void apply_mask(std::span<const float> mask, std::span<const float> values, std::span<float> out);

} // namespace troupe
