// What a model computes on, and what it reports: rows in, sums out.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

// Compressed sparse rows: only the values that are there are kept; the others are 0.
//
// Row i has the entries [begins[i], ends[i]): pairs of a feature and its value. Entries of all rows lie
// in two arrays of another owner, those of a batch's rows anywhere in them. So gathering rows copies
// only where each begins and ends.

/// Shapes: N rows, E entries.
struct sparse_rows {
  std::span<const uint64_t> begins;   ///< N
  std::span<const uint64_t> ends;     ///< N
  const uint32_t* features = nullptr; ///< E, below the model's features, rising within a row
  const float* values = nullptr;      ///< E, finite

  size_t row_count() const { return begins.size(); }
  std::span<const uint32_t> features_of(size_t i) const {
    return {features + begins[i], static_cast<size_t>(ends[i] - begins[i])};
  }
  std::span<const float> values_of(size_t i) const {
    return {values + begins[i], static_cast<size_t>(ends[i] - begins[i])};
  }
};

/// Rows with their targets. Shapes: N rows, F features, T targets; dense, row-major, unless the rows
/// are sparse: then `features` is empty.
/// Exactly one of `labels` and `targets` is filled, as the model's loss asks.
struct batch {
  size_t row_count = 0;            ///< N
  std::span<const float> features; ///< N x F
  std::span<const int32_t> labels; ///< N class numbers
  std::span<const float> targets;  ///< N x T

  /// What randomness in training is keyed by, besides layer and unit; only dropout asks.
  uint64_t seed = 0;                          ///< of the job
  uint64_t step = 0;                          ///< counted from 0
  size_t first_row = 0;                       ///< what all of these numbers begin with
  std::span<const uint32_t> row_numbers = {}; ///< N numbers; empty: rows are neighbours

  sparse_rows sparse = {}; ///< N rows, or none where rows are dense

  /// What each row counts in the loss (N, each >= 0); empty: all 1. Nothing else is weighted.
  std::span<const float> weights = {};

  /// The number of row i in the training data: its own wherever and whenever it is used.
  size_t row_number(size_t i) const {
    return first_row + (row_numbers.empty() ? i : row_numbers[i]);
  }
};

/// Rows [begin, begin + count) of a batch, without a copy.
batch part_of(const batch& rows, size_t begin, size_t count);

/// Sums over the samples of a batch; sums of parts add up to the sum of the whole.
struct batch_sums {
  double loss_sum = 0;
  uint64_t sample_count = 0;
  uint64_t correct_count = 0;   ///< classification: rows whose likeliest class is their label
  double squared_error_sum = 0; ///< regression: over rows and targets

  friend batch_sums operator+(const batch_sums& a, const batch_sums& b) {
    return {a.loss_sum + b.loss_sum, a.sample_count + b.sample_count,
            a.correct_count + b.correct_count, a.squared_error_sum + b.squared_error_sum};
  }
  /// Bit for bit: a sum that is not a number is the same when it comes again.
  friend bool operator==(const batch_sums& a, const batch_sums& b) {
    return std::bit_cast<uint64_t>(a.loss_sum) == std::bit_cast<uint64_t>(b.loss_sum) &&
           a.sample_count == b.sample_count && a.correct_count == b.correct_count &&
           std::bit_cast<uint64_t>(a.squared_error_sum) ==
             std::bit_cast<uint64_t>(b.squared_error_sum);
  }
};

} // namespace troupe
