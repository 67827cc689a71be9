#include "models/math/cholesky.hpp"

#include "models/math/lanes.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

namespace troupe {

namespace {

/// A pivot below this share of its diagonal element is rounding.
constexpr double pivot_min = 1e-12;

double product(const double* a, const double* b, size_t count) {
  return lane_sum<double>(count, [=](size_t i) { return a[i] * b[i]; });
}

void require_square(size_t element_count, size_t size) {
  if (element_count != size * size)
    throw std::invalid_argument("cholesky: " + std::to_string(element_count) +
                                " elements are no square of " + std::to_string(size) + " rows");
}

} // namespace

std::optional<size_t> cholesky_decompose(std::span<double> matrix, size_t size) {
  require_square(matrix.size(), size);
  for (size_t j = 0; j < size; ++j) {
    double* const row_j = matrix.data() + j * size;
    const double pivot = row_j[j] - product(row_j, row_j, j);
    if (!(pivot > pivot_min * row_j[j]))
      return j;
    row_j[j] = std::sqrt(pivot);
    for (size_t i = j + 1; i < size; ++i) {
      double* const row_i = matrix.data() + i * size;
      row_i[j] = (row_i[j] - product(row_i, row_j, j)) / row_j[j];
    }
  }
  return std::nullopt;
}

void cholesky_solve(std::span<const double> lower, std::span<double> x) {
  const auto size = x.size();
  require_square(lower.size(), size);
  for (size_t i = 0; i < size; ++i)
    x[i] = (x[i] - product(lower.data() + i * size, x.data(), i)) / lower[i * size + i];
  for (size_t i = size; i-- > 0;) {
    for (size_t k = i + 1; k < size; ++k)
      x[i] -= lower[k * size + i] * x[k];
    x[i] /= lower[i * size + i];
  }
}

} // namespace troupe
