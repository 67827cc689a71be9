// A whole-model rule with its state and parameters, driven without actors.

#pragma once

#include "models/whole_model/whole_model_rule.hpp"

#include <functional>
#include <utility>
#include <vector>

namespace troupe::test {

class whole_model_run {
public:
  /// The gradient of the mean loss at a point, written to the second; returns the loss.
  using function = std::function<double(const std::vector<float>&, std::vector<float>&)>;

  whole_model_run(const optimizer_options& options, const parameter_layout& layout,
                  std::vector<float> start)
    : rule(make_whole_model_rule(options, layout)),
      parameters(std::move(start)),
      state(rule->start(parameters)) {}

  std::vector<float> point() const {
    if (!rule->point_slot())
      return parameters;
    const auto values = state.slot(*rule->point_slot());
    return {values.begin(), values.end()};
  }

  /// One version further; false when the step cannot be made finite.
  bool step(const std::vector<float>& gradient, double loss = 0, bool is_finite = true,
            double penalty = 0) {
    std::vector<float> next(parameters.size());
    sums = update_alone(
      *rule, {version, {loss, 1, 0, 0}, penalty, is_finite, gradient, parameters, next}, state);
    if (!sums)
      return false;
    parameters.swap(next);
    ++version;
    return true;
  }

  bool step_of(const function& loss_at) {
    std::vector<float> gradient(parameters.size());
    const double loss = loss_at(point(), gradient);
    return step(gradient, loss);
  }

  std::unique_ptr<whole_model_rule> rule;
  std::vector<float> parameters;
  optimizer_state state;
  uint64_t version = 0;
  std::optional<batch_sums> sums; ///< of the last step
};

/// A layout of one tensor.
inline parameter_layout one_tensor(std::vector<size_t> shape) {
  parameter_layout layout;
  layout.add("x", std::move(shape));
  return layout;
}

} // namespace troupe::test
