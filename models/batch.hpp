// What a model computes on, and what it reports: rows in, sums out.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

/// Rows with their targets. Shapes: N rows, F features, T targets; dense, row-major.
/// Exactly one of `labels` and `targets` is filled, as the model's loss asks.
struct batch {
  size_t row_count = 0;            ///< N
  std::span<const float> features; ///< N x F
  std::span<const int32_t> labels; ///< N class numbers
  std::span<const float> targets;  ///< N x T
};

/// Sums over the samples of a batch; sums of parts add up to the sum of the whole.
struct batch_sums {
  double loss_sum = 0;
  uint64_t sample_count = 0;
  uint64_t correct_count = 0;   ///< classification: rows whose highest score is their label's
  double squared_error_sum = 0; ///< regression: over rows and targets

  friend batch_sums operator+(const batch_sums& a, const batch_sums& b) {
    return {a.loss_sum + b.loss_sum, a.sample_count + b.sample_count,
            a.correct_count + b.correct_count, a.squared_error_sum + b.squared_error_sum};
  }
  friend bool operator==(const batch_sums&, const batch_sums&) = default;
};

} // namespace troupe
