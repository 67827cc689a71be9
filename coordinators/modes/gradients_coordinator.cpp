#include "coordinators/modes/gradients_coordinator.hpp"

#include "models/base/own_copy.hpp"
#include "models/base/require.hpp"
#include "models/math/lanes.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace troupe {

namespace {

constexpr requirement require_gradients{"gradients coordinator"};

} // namespace

const char* name_of(gradient_verdict verdict) {
  switch (verdict) {
  case gradient_verdict::applied:
    return "applied";
  case gradient_verdict::queued:
    return "queued";
  case gradient_verdict::no_parameters:
    return "no parameters are set yet";
  case gradient_verdict::wrong_size:
    return "the gradient's size is not that of the parameters";
  case gradient_verdict::no_samples:
    return "the gradient sums over no samples";
  case gradient_verdict::not_finite:
    return "a value is not finite";
  case gradient_verdict::update_refused:
    return "the updated parameters would not be finite";
  }
  return "?";
}

std::optional<gradient_verdict> problem_of(const const_buffer& parameters,
                                           std::span<const float> gradient_sum,
                                           uint64_t sample_count) {
  if (!parameters)
    return gradient_verdict::no_parameters;
  if (gradient_sum.size() != parameters.size())
    return gradient_verdict::wrong_size;
  if (sample_count == 0)
    return gradient_verdict::no_samples;
  if (!all_finite(gradient_sum.data(), gradient_sum.size()))
    return gradient_verdict::not_finite;
  return std::nullopt;
}

regularization changes_of(const gradients_coordinator_options& options, size_t parameter_count) {
  const auto& layout = options.layout;
  require_gradients(!layout || layout->size() == parameter_count,
                    "the layout has " + std::to_string(layout ? layout->size() : 0) +
                      " values, the parameters " + std::to_string(parameter_count));
  return {options.optimizer,
          layout ? penalized_ranges(*layout, options.frozen)
                 : std::vector<index_range>{{0, parameter_count}},
          options.frozen};
}

gradients_coordinator::gradients_coordinator(const gradients_coordinator_options& options)
  : options_(options), model_({options.optimizer, options.way}) {
  require_gradients(!options.optimizer.plateau.is_on(),
                    "plateau needs evaluations, and there are none");
  require_gradients(options.round_size >= 1, "a round needs at least one gradient");
  regularization{options.optimizer, {}}; // throws for options that exclude each other
}

void gradients_coordinator::set_parameters(std::span<const float> values) {
  const auto size = parameters().size();
  require_gradients(queued_count() == 0 || size == values.size(),
                    "queued gradients have " + std::to_string(size) +
                      " values, the new parameters " + std::to_string(values.size()));
  require_gradients(all_finite(values.data(), values.size()), "a parameter is not finite");
  model_.begin(own_copy(values), changes_of(options_, values.size()));
}

std::optional<gradient_verdict> gradients_coordinator::problem(std::span<const float> gradient_sum,
                                                               uint64_t sample_count) const {
  return problem_of(parameters(), gradient_sum, sample_count);
}

gradient_verdict gradients_coordinator::add_gradients(std::span<const float> gradient_sum,
                                                      uint64_t sample_count, double step_scale) {
  require_gradients(step_scale > 0 && step_scale <= 1, "step_scale must be above 0 and at most 1");
  if (const auto refused = problem(gradient_sum, sample_count))
    return *refused;
  model_.hold(model_.copy_of(gradient_sum), sample_count, step_scale);
  if (!running_ || queued_count() < options_.round_size)
    return gradient_verdict::queued;
  return drain(options_.round_size).refused_count == 0 ? gradient_verdict::applied
                                                       : gradient_verdict::update_refused;
}

drain_report gradients_coordinator::start() {
  running_ = true;
  return drain(options_.round_size);
}

drain_report gradients_coordinator::stop() {
  const auto report = flush();
  running_ = false;
  return report;
}

drain_report gradients_coordinator::flush() {
  return running_ ? drain(1) : drain_report{};
}

// Applies whole rounds, and a last one as soon as it has `round_size_min` gradients.
drain_report gradients_coordinator::drain(size_t round_size_min) {
  drain_report result;
  while (queued_count() > 0 && queued_count() >= round_size_min)
    ++(model_.apply(std::min(queued_count(), options_.round_size)) ? result.applied_count
                                                                   : result.refused_count);
  refused_update_count_ += result.refused_count;
  return result;
}

} // namespace troupe
