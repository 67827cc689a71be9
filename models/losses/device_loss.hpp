// The loss of scores that a device has (models/device/device_memory.hpp): each row's there, their sum here.

#pragma once

#include "models/base/batch.hpp"
#include "models/losses/loss.hpp"

#include <span>

namespace troupe::detail {

/// As `evaluate_loss`, of rows that fit, by a loss of the library's on targets as they are.
batch_sums evaluate_on_device(const loss_options& loss, const batch& rows,
                              std::span<const float> scores, size_t score_count,
                              std::span<float> derivative);

} // namespace troupe::detail
