#include "troupe/models/training/whole_model_step.hpp"

#include <cmath>

namespace troupe {

std::optional<batch_sums> whole_model_stepper::run(const whole_model_rule& rule,
                                                   const whole_model_step& x,
                                                   optimizer_state& state) {
  if (gradient_.size() != x.parameters.size())
    gradient_ = buffer{x.parameters.size()};
  const auto gradient = gradient_.values();
  const auto point_slot = rule.point_slot();
  const auto point = point_slot ? std::span<const float>{state.slot(*point_slot)} : x.parameters;
  reducer_.reduce(x.plan, x.inputs, gradient);
  // Looked at before clipping, which hides infinity.
  const bool is_finite =
    scale(gradient, mean_factor(x.total.sample_count), gradient) && std::isfinite(x.total.loss_sum);
  x.changes.apply(gradient, point.data(), 0, x.norm_factor);
  return rule.update(
    {x.step, x.total, x.changes.penalty(point), is_finite, gradient, x.parameters, x.next}, state);
}

} // namespace troupe
