// An outside witness: a dense network and its losses in double, as plainly as they can be written.
// Its losses, differentiated by central differences, are what our float gradients are held against.

#pragma once

#include "troupe/models/activation.hpp"
#include "troupe/models/losses/loss.hpp"
#include "troupe/models/neural_network.hpp"

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
  }
  return NAN;
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
      y[j] = parameters[at + y.size() * x.size() + j];
      for (size_t k = 0; k < x.size(); ++k)
        y[j] += parameters[at + j * x.size() + k] * x[k];
      if (l + 1 < sizes.size())
        y[j] = activated(options.activation, y[j]);
    }
    at += y.size() * x.size() + y.size();
    x = y;
  }
  return x;
}

/// Loss of one row's scores. `label` or `targets` counts, as the loss asks.
inline double loss_of_row(loss_kind kind, const std::vector<double>& scores, size_t label,
                          const std::vector<double>& targets) {
  if (kind == loss_kind::squared) {
    double sum = 0;
    for (size_t j = 0; j < scores.size(); ++j)
      sum += (scores[j] - targets[j]) * (scores[j] - targets[j]);
    return sum / static_cast<double>(scores.size());
  }
  double total = 0;
  for (auto score : scores)
    total += std::exp(score);
  return std::log(total) - scores[label];
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
