#include "models/solvers/gauss_newton.hpp"

#include "models/math/cholesky.hpp"

#include <stdexcept>
#include <string>
#include <vector>

namespace troupe {

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

} // namespace troupe
