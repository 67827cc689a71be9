// Linear and logistic regression end where theory says: at the solution of Newton's method.

#include "models/base/random.hpp"
#include "models/network/neural_network.hpp"
#include "models/optimizers/optimizer.hpp"
#include "models/solvers/least_squares.hpp"
#include "tests/support/reference.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace troupe::linear_models_test {
namespace {

struct fitted {
  std::vector<float> parameters;
  double mean_loss = 0;
};

/// Full-batch gradient descent with momentum 0.9 from zero.
fitted descend(const neural_network& network, const batch& rows, double learning_rate,
               uint64_t steps) {
  optimizer_options options;
  options.momentum = 0.9;
  options.learning_rate = learning_rate;
  const auto rule = make_optimizer(options);
  const auto size = network.layout().size();
  const optimizer_state state{rule->slot_count(), size};
  fitted result{std::vector<float>(size)};
  std::vector<float> gradient(size), next(size);
  workspace memory;
  for (uint64_t t = 0; t < steps; ++t) {
    network.gradient(result.parameters, rows, gradient, memory);
    rule->update(rule->begin_step(t, rows.row_count, direction::descent),
                 {gradient.data(), result.parameters.data(), next.data(), 0, size}, state);
    result.parameters.swap(next);
  }
  const auto sums = network.evaluate(result.parameters, rows, memory);
  result.mean_loss = sums.loss_sum / static_cast<double>(sums.sample_count);
  return result;
}

void expect_near_relative(double actual, double expected, double tolerance) {
  EXPECT_NEAR(actual, expected, tolerance * std::abs(expected));
}

TEST(logistic_regression, ends_at_the_solution_of_newtons_method) {
  const auto reference = test::load_reference("logistic.json");
  ASSERT_EQ(reference.at("cases").size(), 2u);
  for (const auto& entry : reference.at("cases")) {
    SCOPED_TRACE(entry.at("name").dump());
    const auto labels = test::flat<int32_t>(entry.at("labels"));
    const auto features = test::flat<float>(entry.at("features"));
    const auto weight = test::flat<double>(entry.at("weight"));
    const neural_network network{
      {weight.size(), 1, {}, activation_kind::relu, loss_kind::binary_cross_entropy}};
    const auto found = descend(network, {labels.size(), features, labels, {}}, 5, 4000);
    for (size_t k = 0; k < weight.size(); ++k)
      expect_near_relative(found.parameters[k], weight[k], 1e-4);
    expect_near_relative(found.parameters.back(), entry.at("bias").get<double>(), 1e-4);
    expect_near_relative(found.mean_loss, entry.at("loss").get<double>(), 1e-6);
  }
}

TEST(logistic_regression, scales_of_links_of_one_curve_show_in_the_coefficients) {
  // (1 + tanh(z)) / 2 is the logistic function of 2 z: same fit, half the coefficients.
  const auto entry = test::load_reference("logistic.json").at("cases").at(1);
  const auto labels = test::flat<int32_t>(entry.at("labels"));
  const auto features = test::flat<float>(entry.at("features"));
  neural_network_options options{3, 1, {}, activation_kind::relu, loss_kind::binary_cross_entropy};
  options.loss.link = link_kind::tanh;
  const auto found =
    descend(neural_network{options}, {labels.size(), features, labels, {}}, 1.25, 4000);
  for (size_t k = 0; k < 3; ++k)
    expect_near_relative(found.parameters[k], entry.at("weight").at(k).get<double>() / 2, 1e-4);
}

TEST(linear_regression, of_log_link_losses_without_features_is_the_mean) {
  // With one constant feature and no bias, the best score of a deviance is log(mean of targets).
  const std::vector<float> ones(4, 1);
  const std::vector<float> targets{1, 2, 3, 10};
  for (auto kind : {loss_kind::poisson, loss_kind::gamma}) {
    neural_network_options options{1, 1, {}, activation_kind::relu, kind};
    options.bias = false;
    const auto found = descend(neural_network{options}, {4, ones, {}, targets}, 0.01, 2000);
    EXPECT_NEAR(found.parameters[0], std::log(4.0), 1e-5) << name_of(kind);
  }
}

TEST(linear_regression, of_the_absolute_loss_is_a_median) {
  const std::vector<float> ones(5, 1);
  const std::vector<float> targets{1, 2, 3, 4, 1000};
  neural_network_options options{1, 1, {}, activation_kind::relu, loss_kind::absolute};
  options.bias = false;
  const auto found = descend(neural_network{options}, {5, ones, {}, targets}, 1e-3, 20'000);
  EXPECT_NEAR(found.parameters[0], 3, 0.05);
}

TEST(least_squares, matches_a_hand_worked_line) {
  // Through (0, 1), (1, 3), (2, 4): slope 3/2, intercept 7/6; and exactly y = -x.
  const std::vector<float> x{0, 1, 2};
  const std::vector<float> y{1, 0, 3, -1, 4, -2};
  const auto found = least_squares({3, x, {}, y}, 1, 2);
  ASSERT_EQ(found.size(), 4u);
  EXPECT_FLOAT_EQ(found[0], 1.5f);
  EXPECT_FLOAT_EQ(found[1], -1);
  EXPECT_FLOAT_EQ(found[2], 7.0f / 6);
  EXPECT_NEAR(found[3], 0, 1e-7);
}

TEST(least_squares, leaves_no_gradient) {
  const size_t rows = 300, features = 7, targets = 2;
  std::vector<float> x(rows * features), y(rows * targets);
  fill_normal({1, random_purpose::synthetic_features, 0}, 0, 1, x);
  fill_normal({1, random_purpose::synthetic_targets, 0}, 0, 3, y);
  for (size_t i = 0; i < rows; ++i)
    x[i * features + 3] += 40; // far from the mean 0
  const batch all{rows, x, {}, y};
  const auto found = least_squares(all, features, targets);
  const neural_network network{{features, targets, {}, activation_kind::relu, loss_kind::squared}};
  ASSERT_EQ(found.size(), network.layout().size());
  std::vector<float> gradient(found.size());
  workspace memory;
  const auto sums = network.gradient(found, all, gradient, memory);
  EXPECT_GT(sums.loss_sum, 100) << "the rows lie on no plane";
  for (size_t k = 0; k < gradient.size(); ++k)
    EXPECT_NEAR(gradient[k] / static_cast<float>(rows), 0, 1e-3) << k;
}

TEST(least_squares, a_penalty_shrinks_weights_and_not_the_bias) {
  // Centred: sum x^2 = 2, sum x y = 3; w = 3 / (2 + r), b = mean(y) - w.
  const std::vector<float> x{0, 1, 2};
  const std::vector<float> y{1, 3, 4};
  const auto found = least_squares({3, x, {}, y}, 1, 1, {true, 4});
  EXPECT_FLOAT_EQ(found[0], 0.5f);
  EXPECT_FLOAT_EQ(found[1], 8.0f / 3 - 0.5f);
  const std::vector<float> dependent{1, 2, 2, 4, 5, 10};
  EXPECT_EQ(least_squares({3, dependent, {}, y}, 2, 1, {true, 1}).size(), 3u) << "one answer again";
  EXPECT_THROW(least_squares({3, x, {}, y}, 1, 1, {true, -1}), std::invalid_argument);
}

TEST(least_squares, goes_through_the_origin_without_a_bias) {
  const std::vector<float> x{0, 1, 2};
  const std::vector<float> y{1, 3, 4};
  const auto found = least_squares({3, x, {}, y}, 1, 1, {false, 0});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FLOAT_EQ(found[0], 11.0f / 5);
}

TEST(least_squares, names_the_column_that_follows_from_others) {
  const std::vector<float> rows{1, 0, 2, 2, 1, 4, 5, 7, 10, 3, 1, 6};
  const std::vector<float> y{1, 2, 3, 4};
  try {
    least_squares({4, rows, {}, y}, 3, 1);
    FAIL();
  } catch (const dependent_column& problem) {
    EXPECT_EQ(problem.column(), 2u);
  }
}

TEST(least_squares, refuses_what_has_no_single_answer) {
  const std::vector<float> dependent{1, 2, 2, 4, 5, 10};
  const std::vector<float> constant{1, 7, 2, 7, 5, 7};
  const std::vector<float> y{1, 2, 3};
  EXPECT_THROW(least_squares({3, dependent, {}, y}, 2, 1), std::invalid_argument);
  EXPECT_THROW(least_squares({3, constant, {}, y}, 2, 1), std::invalid_argument);
  EXPECT_THROW(least_squares({3, dependent, {}, y}, 3, 1), std::invalid_argument);
  EXPECT_THROW(least_squares({3, dependent, {}, y}, 2, 2), std::invalid_argument);
  EXPECT_THROW(least_squares({0, {}, {}, {}}, 2, 1), std::invalid_argument);
}

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

} // namespace
} // namespace troupe::linear_models_test
