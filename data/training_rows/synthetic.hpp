// Synthetic data: rows made by a rule, for examples, tests and benchmarks. Each number is a
// function of seed and place, so every machine makes the same rows.

#pragma once

#include "data/table/dataset.hpp"
#include "models/training/row_options.hpp"

#include <cstdint>

namespace troupe {

/// Both throw failure(bad_job) when the rows need more memory than is available, with both numbers.

/// Classes as clouds: class c has a centre drawn from the normal distribution, and row i (of class
/// i mod classes) is its centre plus `noise` times a normal vector.
dataset make_classification(const synthetic_options& options, uint64_t seed);

/// Y = X W^T + b + noise: X, W (T x F) and b normal, the noise normal with deviation `noise`.
dataset make_regression(const synthetic_options& options, uint64_t seed);

} // namespace troupe
