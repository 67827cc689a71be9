#include "models/solvers/least_squares.hpp"

#include "models/math/cholesky.hpp"
#include "models/math/lanes.hpp"

#include <span>
#include <stdexcept>
#include <string>

namespace troupe {

namespace {

/// What rows count; without weights 1 each.
struct row_weights {
  explicit row_weights(const batch& rows)
    : row_count(rows.row_count),
      values(rows.weights),
      total(values.empty()
              ? static_cast<double>(row_count)
              : lane_sum<double>(row_count, [this](size_t i) { return double{values[i]}; })) {}

  double times(size_t i, double x) const { return values.empty() ? x : values[i] * x; }

  size_t row_count;
  std::span<const float> values;
  double total;
};

// Columns of doubles, one behind the other, with their (weighted) means taken out if they are to be.
struct centred_columns {
  centred_columns(std::span<const float> rows, const row_weights& weights, size_t column_count,
                  bool centre)
    : height(weights.row_count), values(height * column_count), means(column_count) {
    const auto row_count = height;
    for (size_t j = 0; j < column_count; ++j) {
      const auto at = [&](size_t i) { return static_cast<double>(rows[i * column_count + j]); };
      if (centre)
        means[j] = lane_sum<double>(row_count, [&](size_t i) { return weights.times(i, at(i)); }) /
                   weights.total;
      for (size_t i = 0; i < row_count; ++i)
        values[j * row_count + i] = at(i) - means[j];
    }
  }

  const double* column(size_t j) const { return values.data() + j * height; }

  size_t height;
  std::vector<double> values;
  std::vector<double> means;
};

double product(const double* a, const double* b, size_t count) {
  return lane_sum<double>(count, [=](size_t i) { return a[i] * b[i]; });
}

double product(const double* a, const double* b, const row_weights& weights) {
  const auto* weight = weights.values.data();
  return weights.values.empty()
           ? product(a, b, weights.row_count)
           : lane_sum<double>(weights.row_count, [=](size_t i) { return weight[i] * a[i] * b[i]; });
}

void require_size(const char* what, size_t expected, size_t actual) {
  if (expected != actual)
    throw std::invalid_argument(std::string{"least squares: expected "} + std::to_string(expected) +
                                " " + what + ", got " + std::to_string(actual));
}

} // namespace

std::vector<float> least_squares(const batch& rows, size_t feature_count, size_t target_count,
                                 const least_squares_options& options) {
  require_size("features", rows.row_count * feature_count, rows.features.size());
  require_size("targets", rows.row_count * target_count, rows.targets.size());
  if (rows.row_count == 0)
    throw std::invalid_argument("least squares: no rows");
  if (!rows.weights.empty())
    require_size("weights", rows.row_count, rows.weights.size());
  const row_weights weights{rows};
  if (!(weights.total > 0))
    throw std::invalid_argument("least squares: the weights of all rows are 0");
  if (!(options.penalty >= 0))
    throw std::invalid_argument("least squares: the penalty must be 0 or more");
  const centred_columns x{rows.features, weights, feature_count, options.bias};
  const centred_columns y{rows.targets, weights, target_count, options.bias};
  std::vector<double> gram(feature_count * feature_count);
  for (size_t i = 0; i < feature_count; ++i)
    for (size_t j = 0; j <= i; ++j)
      gram[i * feature_count + j] = product(x.column(i), x.column(j), weights);
  for (size_t i = 0; i < feature_count; ++i)
    gram[i * feature_count + i] += options.penalty;
  if (const auto column = cholesky_decompose(gram, feature_count))
    throw dependent_column(*column);
  std::vector<float> result(target_count * (feature_count + (options.bias ? 1 : 0)));
  std::vector<double> weight(feature_count);
  for (size_t t = 0; t < target_count; ++t) {
    for (size_t j = 0; j < feature_count; ++j)
      weight[j] = product(x.column(j), y.column(t), weights);
    cholesky_solve(gram, weight);
    for (size_t j = 0; j < feature_count; ++j)
      result[t * feature_count + j] = static_cast<float>(weight[j]);
    if (!options.bias)
      continue;
    const double shift = product(weight.data(), x.means.data(), feature_count);
    result[target_count * feature_count + t] = static_cast<float>(y.means[t] - shift);
  }
  return result;
}

} // namespace troupe
