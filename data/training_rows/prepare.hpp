// From a data set as read to what replicas train on: split into training, test and validation rows,
// standardised. A function of content, seed and options alone, the same on every machine.

#pragma once

#include "troupe/data/table/dataset.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// The affine map of standardised features: x' = (x - mean) / deviation, per column (F each).
struct standardization {
  std::vector<float> mean;
  std::vector<float> deviation;

  bool empty() const { return mean.empty(); }
  friend bool operator==(const standardization&, const standardization&) = default;
};

/// Standardises `rows` (N x F, row-major) in place; `map` is not empty.
void standardize(const standardization& map, std::span<float> rows);

struct prepared_data {
  dataset train;
  dataset test;             ///< no rows when none are kept for testing
  dataset validation;       ///< likewise
  standardization features; ///< empty when the features are as read
  std::string fingerprint;  ///< SHA-256 of the content as read, hexadecimal
  /// Names of features that look like a row's number or name: whole numbers that rise from row to
  /// row, or are called as such and never repeat. Trained on as they are; for a warning.
  std::vector<std::string> row_names{};
};

struct prepare_options {
  uint64_t seed = 0;        ///< of the job: decides which rows are for what
  double test_fraction = 0; ///< floor(fraction * N) rows, in [0, 1)
  bool standardize = false; ///< by the training rows' mean and deviation (divisor n; 0 becomes 1)
  double validation_fraction = 0; ///< likewise; which rows are for testing does not depend on it
};

/// Splits and standardises. Rows keep their order in all parts.
///
/// Throws failure(bad_data) when no row would be left for training.
prepared_data prepare(dataset&& source, const prepare_options& options);

/// SHA-256 over shapes, names and values of a data set, hexadecimal.
std::string content_fingerprint(const dataset& source);

} // namespace troupe
