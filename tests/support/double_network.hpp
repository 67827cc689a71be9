// An outside witness: a dense network and its losses in double, as plainly as they can be written.
// Its losses, differentiated by central differences, are what our float gradients are held against.

#pragma once

#include "models/losses/loss.hpp"
#include "models/network/activation.hpp"
#include "models/network/neural_network.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace troupe::test {

inline double activated(activation_kind kind, double x) {
  switch (kind) {
  case activation_kind::identity:
    return x;
  case activation_kind::relu:
    return std::max(x, 0.0);
  case activation_kind::tanh:
    return std::tanh(x);
  case activation_kind::sigmoid:
    return 1 / (1 + std::exp(-x));
  case activation_kind::leaky_relu:
    return x > 0 ? x : 0.01 * x;
  case activation_kind::elu:
    return x > 0 ? x : std::expm1(x);
  case activation_kind::gelu:
    return x * std::erfc(-x / std::sqrt(2.0)) / 2;
  case activation_kind::silu:
    return x / (1 + std::exp(-x));
  case activation_kind::softplus:
    return std::log1p(std::exp(x));
  }
  return NAN;
}

/// Probability of the second class.
inline double probability_of(link_kind kind, double z) {
  const double pi = std::acos(-1.0);
  switch (kind) {
  case link_kind::sigmoid:
    return (1 + std::tanh(z / 2)) / 2;
  case link_kind::tanh:
    return (1 + std::tanh(z)) / 2;
  case link_kind::probit:
    return std::erfc(-z / std::sqrt(2.0)) / 2;
  case link_kind::arctan:
    return (1 + 2 / pi * std::atan(pi / 2 * z)) / 2;
  case link_kind::gudermannian:
    return (1 + 2 / pi * (2 * std::atan(std::tanh(pi / 4 * z)))) / 2;
  case link_kind::algebraic:
    return (1 + z / std::sqrt(1 + z * z)) / 2;
  case link_kind::softsign:
    return (1 + z / (1 + std::abs(z))) / 2;
  }
  return NAN;
}

/// One output's part of a regression loss.
inline double loss_of_output(const loss_options& loss, double score, double target) {
  const double error = std::abs(score - target);
  const double mean = std::exp(score);
  switch (loss.kind) {
  case loss_kind::squared:
    return error * error;
  case loss_kind::absolute:
    return error;
  case loss_kind::huber:
    return error <= loss.huber_threshold
             ? error * error / 2
             : loss.huber_threshold * (error - loss.huber_threshold / 2);
  case loss_kind::poisson:
    return 2 * ((target > 0 ? target * std::log(target / mean) : 0) - target + mean);
  case loss_kind::gamma:
    return 2 * (target / mean - std::log(target / mean) - 1);
  default:
    return NAN;
  }
}

inline double binary_loss(const loss_options& loss, double score, size_t label) {
  const double z = label == 1 ? score : -score;
  if (loss.kind == loss_kind::binary_cross_entropy)
    return -std::log(probability_of(loss.link, z));
  const double gap = std::max(0.0, 1 - z);
  return loss.kind == loss_kind::hinge ? gap : gap * gap;
}

/// Scores of one row. Parameters as in the flat buffer: weight, bias, layer by layer.
inline std::vector<double> scores_of(const neural_network_options& options,
                                     const std::vector<double>& parameters, std::vector<double> x) {
  auto sizes = options.hidden;
  sizes.push_back(options.outputs);
  size_t at = 0;
  for (size_t l = 0; l < sizes.size(); ++l) {
    std::vector<double> y(sizes[l]);
    for (size_t j = 0; j < y.size(); ++j) {
      y[j] = options.bias ? parameters[at + y.size() * x.size() + j] : 0;
      for (size_t k = 0; k < x.size(); ++k)
        y[j] += parameters[at + j * x.size() + k] * x[k];
      if (l + 1 < sizes.size())
        y[j] = activated(options.activation.of(l), y[j]);
    }
    at += y.size() * x.size() + (options.bias ? y.size() : 0);
    x = y;
  }
  return x;
}

/// Loss of one row's scores. `label` or `targets` counts, as the loss asks.
inline double loss_of_row(const loss_options& loss, const std::vector<double>& scores, size_t label,
                          const std::vector<double>& targets) {
  if (!is_classification(loss.kind)) {
    double sum = 0;
    for (size_t j = 0; j < scores.size(); ++j)
      sum += loss_of_output(loss, scores[j], targets[j]);
    return sum / static_cast<double>(scores.size());
  }
  const double weight = loss.class_weights.empty() ? 1.0 : loss.class_weights[label];
  if (is_binary(loss.kind))
    return weight * binary_loss(loss, scores[0], label);
  double total = 0;
  for (auto score : scores)
    total += std::exp(score);
  return weight * (std::log(total) - scores[label]);
}

/// Loss summed over a batch.
inline double loss_of_batch(const neural_network_options& options,
                            const std::vector<double>& parameters, const batch& rows) {
  double sum = 0;
  for (size_t i = 0; i < rows.row_count; ++i) {
    const auto x = rows.features.subspan(i * options.features, options.features);
    const auto scores = scores_of(options, parameters, {x.begin(), x.end()});
    std::vector<double> targets;
    if (!rows.targets.empty()) {
      const auto y = rows.targets.subspan(i * options.outputs, options.outputs);
      targets.assign(y.begin(), y.end());
    }
    const auto label = rows.labels.empty() ? 0 : static_cast<size_t>(rows.labels[i]);
    sum += loss_of_row(options.loss, scores, label, targets);
  }
  return sum;
}

/// d(loss sum) / d(parameter k) by central differences.
inline double central_difference(const neural_network_options& options,
                                 std::vector<double> parameters, const batch& rows, size_t k) {
  const double h = 1e-5;
  const double before = parameters[k];
  parameters[k] = before + h;
  const double above = loss_of_batch(options, parameters, rows);
  parameters[k] = before - h;
  const double below = loss_of_batch(options, parameters, rows);
  return (above - below) / (2 * h);
}

} // namespace troupe::test
