#include "models/solvers/gauss_newton.hpp"

#include "models/base/random.hpp"
#include "models/math/cholesky.hpp"
#include "models/network/neural_network.hpp"
#include "models/solvers/least_squares.hpp"
#include "tests/support/reference.hpp"

#include <gtest/gtest.h>

namespace troupe::gauss_newton_test {

namespace {

std::vector<float> normals(random_purpose purpose, size_t count) {
  std::vector<float> result(count);
  fill_normal({3, purpose, 0}, 0, 1, result);
  return result;
}

using floats = std::vector<float>;

floats times(floats values, float factor) {
  for (auto& value : values)
    value *= factor;
  return values;
}

/// Residual squares by squares of the targets around their mean: before and after each step.
std::vector<double> shares_of(const neural_network& network, double damping, const batch& rows,
                              floats parameters, size_t steps) {
  double mean = 0, total = 0;
  for (auto y : rows.targets)
    mean += y / static_cast<double>(rows.row_count);
  for (auto y : rows.targets)
    total += (y - mean) * (y - mean);
  workspace memory;
  floats next(parameters.size());
  std::vector<double> result;
  for (size_t step = 0; step < steps; ++step) {
    const auto sums = gauss_newton_step(network, {damping}, rows, parameters, next, memory);
    result.push_back(sums.loss_sum / total);
    parameters.swap(next);
  }
  result.push_back(network.evaluate(parameters, rows, memory).loss_sum / total);
  return result;
}

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected,
                 double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t k = 0; k < actual.size(); ++k)
    EXPECT_NEAR(actual[k], expected[k], tolerance * expected[k]) << "step " << k;
}

} // namespace

TEST(cholesky, matches_a_hand_worked_matrix) {
  // [4 2; 2 5] = L L^T with L = [2 0; 1 2]; x = [1 2] solves for [8 12].
  std::vector<double> matrix{4, 99, 2, 5};
  EXPECT_EQ(cholesky_decompose(matrix, 2), std::nullopt);
  EXPECT_EQ(matrix, (std::vector<double>{2, 99, 1, 2})) << "above the diagonal nothing is touched";
  std::vector<double> x{8, 12};
  cholesky_solve(matrix, x);
  EXPECT_EQ(x, (std::vector<double>{1, 2}));
}

TEST(cholesky, names_the_row_that_follows_from_others) {
  std::vector<double> matrix{1, 0, 0, 0, 1, 0, 1, 1, 2};
  EXPECT_EQ(cholesky_decompose(matrix, 3), 2u);
  EXPECT_THROW(cholesky_decompose(matrix, 2), std::invalid_argument);
}

TEST(gauss_newton, one_step_of_a_linear_model_is_least_squares) {
  const size_t rows = 60, features = 4, targets = 3;
  const auto x = normals(random_purpose::synthetic_features, rows * features);
  const auto y = normals(random_purpose::synthetic_targets, rows * targets);
  const batch all{rows, x, {}, y};
  const neural_network network{{features, targets, {}, activation_kind::relu, loss_kind::squared}};
  std::vector<float> parameters(network.layout().size()), next(parameters.size());
  network.initialize(1, parameters);
  workspace memory;
  gauss_newton_step(network, {}, all, parameters, next, memory);
  const auto expected = least_squares(all, features, targets);
  for (size_t k = 0; k < next.size(); ++k)
    EXPECT_NEAR(next[k], expected[k], 2e-6) << k;
}

TEST(gauss_newton, finds_a_network_that_fits_where_descent_has_hardly_begun) {
  // Targets of a network of the same shape: the loss can become 0.
  const size_t rows = 80;
  neural_network_options options{2, 1, {3}, activation_kind::tanh, loss_kind::squared};
  const neural_network network{options};
  std::vector<float> truth(network.layout().size()), parameters(truth.size()), next(truth.size());
  network.initialize(5, truth);
  for (size_t k = 0; k < truth.size(); ++k)
    parameters[k] = truth[k] + 0.1f * static_cast<float>(k % 3);
  const auto x = normals(random_purpose::synthetic_features, rows * 2);
  std::vector<float> y(rows);
  workspace memory;
  network.predict(truth, x, y, memory);
  const batch all{rows, x, {}, y};
  const auto before = network.evaluate(parameters, all, memory).loss_sum;
  for (int step = 0; step < 12; ++step) {
    EXPECT_EQ(gauss_newton_step(network, {1e-3}, all, parameters, next, memory),
              network.evaluate(parameters, all, memory));
    parameters.swap(next);
  }
  EXPECT_LT(network.evaluate(parameters, all, memory).loss_sum, 1e-6 * before);
}

TEST(gauss_newton, targets_of_any_size_are_fitted_as_in_double) {
  const auto reference = test::load_reference("gauss_newton.json");
  const auto x = test::flat<float>(reference.at("features"));
  const auto start = test::flat<float>(reference.at("start"));
  const neural_network network{{3, 1, {3}, activation_kind::tanh, loss_kind::squared}};
  for (const auto& one : reference.at("network")) {
    const auto scale = one.at("scale").get<float>();
    SCOPED_TRACE(scale);
    const auto y = times(test::flat<float>(reference.at("targets")), scale);
    const auto expected = test::flat<double>(one.at("shares"));
    expect_near(
      shares_of(network, reference.at("damping"), {y.size(), x, {}, y}, start, expected.size() - 1),
      expected, 1e-2);
  }
}

TEST(gauss_newton, features_of_any_size_are_fitted_as_in_double) {
  const auto reference = test::load_reference("gauss_newton.json");
  const auto y = test::flat<float>(reference.at("targets"));
  const neural_network network{{3, 1, {}, activation_kind::relu, loss_kind::squared}};
  for (const auto& one : reference.at("linear")) {
    const auto scale = one.at("scale").get<float>();
    SCOPED_TRACE(scale);
    const auto x = times(test::flat<float>(reference.at("features")), scale);
    // One step in double; with scores in float32 what it missed is seen by those that follow.
    const auto shares = shares_of(network, 0, {y.size(), x, {}, y}, floats(4, 0.5f), 4);
    const auto expected = test::flat<double>(one.at("shares"));
    EXPECT_NEAR(shares.front(), expected.front(), 1e-3 * expected.front());
    EXPECT_NEAR(shares.back(), expected.back(), 1e-3 * expected.back());
  }
}

TEST(gauss_newton, the_derivatives_of_a_score_do_not_depend_on_its_size) {
  const neural_network network{{2, 2, {3}, activation_kind::tanh, loss_kind::squared}};
  floats parameters(network.layout().size()), expected(parameters.size()), far(parameters.size());
  network.initialize(3, parameters);
  workspace memory;
  const floats x{0.5f, -2};
  for (size_t output : {0u, 1u}) {
    network.score_derivatives(parameters, x, output, expected, memory);
    EXPECT_EQ(expected[expected.size() - 2 + output], 1) << "its bias";
    EXPECT_EQ(expected[expected.size() - 1 - output], 0) << "the other's";
    auto moved = parameters;
    moved[moved.size() - 2] = moved[moved.size() - 1] = 1e9f;
    network.score_derivatives(moved, x, output, far, memory);
    EXPECT_EQ(far, expected);
  }
  EXPECT_THROW(network.score_derivatives(parameters, x, 2, far, memory), std::invalid_argument);
  EXPECT_THROW(network.score_derivatives(parameters, x, 0, std::span{far}.first(3), memory),
               std::invalid_argument);
}

TEST(gauss_newton, refuses_other_losses_and_undetermined_parameters) {
  const std::vector<float> x{1, 2}, y{1, 1};
  std::vector<float> parameters(3), next(3), two(2);
  workspace memory;
  const neural_network poisson{{2, 1, {}, activation_kind::relu, loss_kind::poisson}};
  const neural_network squared{{2, 1, {}, activation_kind::relu, loss_kind::squared}};
  const batch one{1, x, {}, std::span{y}.first(1)};
  EXPECT_THROW(gauss_newton_step(poisson, {}, one, parameters, next, memory),
               std::invalid_argument);
  EXPECT_THROW(gauss_newton_step(squared, {}, one, parameters, two, memory), std::invalid_argument);
  EXPECT_THROW(gauss_newton_step(squared, {}, one, parameters, next, memory), std::invalid_argument)
    << "one row does not determine three parameters";
  EXPECT_NO_THROW(gauss_newton_step(squared, {0.1}, one, parameters, next, memory));
}

} // namespace troupe::gauss_newton_test
