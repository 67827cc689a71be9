#include "models/merging/regression_mean.hpp"

#include "models/base/require.hpp"
#include "models/math/lanes.hpp"
#include "models/solvers/least_squares.hpp"

#include <stdexcept>
#include <string>

namespace troupe {

namespace {

constexpr size_check require_size{"regression mean"};

// Where target t's weight of column j lies: the bias is the last column, and behind all weights.
size_t place_of(size_t t, size_t j, size_t feature_count, size_t target_count) {
  return j < feature_count ? t * feature_count + j : target_count * feature_count + t;
}

} // namespace

std::vector<double> gram_matrix(std::span<const float> rows, size_t feature_count, bool bias) {
  if (feature_count == 0 || rows.size() % feature_count != 0)
    throw std::invalid_argument("gram matrix: " + std::to_string(rows.size()) +
                                " values are no rows of " + std::to_string(feature_count) +
                                " features");
  const auto row_count = rows.size() / feature_count;
  const auto columns = feature_count + (bias ? 1 : 0);
  const auto at = [&](size_t i, size_t j) {
    return j < feature_count ? static_cast<double>(rows[i * feature_count + j]) : 1.0;
  };
  std::vector<double> gram(columns * columns);
  for (size_t a = 0; a < columns; ++a)
    for (size_t b = 0; b <= a; ++b)
      gram[a * columns + b] = gram[b * columns + a] =
        lane_sum<double>(row_count, [&](size_t i) { return at(i, a) * at(i, b); });
  return gram;
}

std::vector<float> regression_mean(std::span<const regression_part> parts, size_t feature_count,
                                   size_t target_count, bool bias) {
  if (parts.empty())
    throw std::invalid_argument("regression mean: there are no models to merge");
  const auto columns = feature_count + (bias ? 1 : 0);
  std::vector<double> gram(columns * columns), products(target_count * columns);
  for (const auto& part : parts) {
    require_size("parameters", target_count * columns, part.parameters.size());
    require_size("numbers of a Gram matrix", gram.size(), part.gram.size());
    for (size_t k = 0; k < gram.size(); ++k)
      gram[k] += part.gram[k];
    for (size_t t = 0; t < target_count; ++t)
      for (size_t a = 0; a < columns; ++a)
        products[t * columns + a] += lane_sum<double>(columns, [&](size_t j) {
          const auto place = place_of(t, j, feature_count, target_count);
          return part.gram[a * columns + j] * static_cast<double>(part.parameters[place]);
        });
  }
  if (const auto column = cholesky_decompose(gram, columns))
    throw dependent_column(*column);
  std::vector<float> result(target_count * columns);
  for (size_t t = 0; t < target_count; ++t) {
    const auto weights = std::span{products}.subspan(t * columns, columns);
    cholesky_solve(gram, weights);
    for (size_t j = 0; j < columns; ++j)
      result[place_of(t, j, feature_count, target_count)] = static_cast<float>(weights[j]);
  }
  return result;
}

} // namespace troupe
