// Linear and logistic regression end where theory says: at the solution of Newton's method.

#include "models/network/neural_network.hpp"
#include "models/optimizers/optimizer.hpp"
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

} // namespace

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

} // namespace troupe::linear_models_test
