#include "models/solvers/least_squares.hpp"

#include "models/base/require.hpp"
#include "models/math/lanes.hpp"

#include <cmath>

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

constexpr size_check require_size{"least squares"};

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

namespace {

// J^T J (lower triangle) and J^T r, gathered output by output.
class normal_equations {
public:
  explicit normal_equations(size_t size) : matrix(size * size), vector(size) {}

  void add(std::span<const float> derivatives, double residual, double weight) {
    const auto size = vector.size();
    for (size_t i = 0; i < size; ++i) {
      const double factor = weight * derivatives[i];
      vector[i] += factor * residual;
      for (size_t j = 0; j <= i; ++j)
        matrix[i * size + j] += factor * derivatives[j];
    }
  }

  void solve(double damping) {
    const auto size = vector.size();
    for (size_t i = 0; i < size; ++i)
      matrix[i * size + i] += damping;
    if (const auto row = cholesky_decompose(matrix, size))
      throw std::invalid_argument("gauss-newton: parameter " + std::to_string(*row) +
                                  " is not determined by the rows; use a damping");
    cholesky_solve(matrix, vector);
  }

  std::vector<double> matrix;
  std::vector<double> vector;
};

} // namespace

batch_sums gauss_newton_step(const model& network, const gauss_newton_options& options,
                             const batch& rows, std::span<const float> parameters,
                             std::span<float> next, workspace& memory) {
  if (network.loss() != loss_kind::squared)
    throw std::invalid_argument("gauss-newton: the model is not trained with the squared loss");
  if (next.size() != parameters.size())
    throw std::invalid_argument("gauss-newton: old and new parameters differ in size");
  const auto sums = network.evaluate(parameters, rows, memory);
  const auto outputs = network.output_count();
  normal_equations equations{parameters.size()};
  std::vector<float> scores(outputs), derivatives(parameters.size());
  for (size_t i = 0; i < rows.row_count; ++i) {
    const auto row = rows.features.subspan(i * network.feature_count(), network.feature_count());
    network.predict(parameters, row, scores, memory);
    const double weight = rows.weights.empty() ? 1.0 : rows.weights[i];
    for (size_t j = 0; j < outputs; ++j) {
      network.score_derivatives(parameters, row, j, derivatives, memory);
      equations.add(derivatives, static_cast<double>(scores[j]) - rows.targets[i * outputs + j],
                    weight);
    }
  }
  equations.solve(options.damping);
  for (size_t k = 0; k < next.size(); ++k)
    next[k] = static_cast<float>(parameters[k] - equations.vector[k]);
  return sums;
}

namespace {

/// A pivot below this share of its diagonal element is rounding.
constexpr double pivot_min = 1e-12;

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
