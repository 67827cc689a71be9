#include "coordinators/modes/asynchronous_coordinator.hpp"

#include "models/base/own_copy.hpp"

#include <algorithm>
#include <stdexcept>

namespace troupe {

namespace {

bool holds(const asynchronous_options& options) {
  return options.consistency.mode == consistency_kind::half_synchronous;
}

} // namespace

// While no trainer computes, one gradient less than a step has may be held.
gradient_span_options span_options_of(const asynchronous_options& options) {
  return {options.gradients.optimizer, options.gradients.way, options.compensation,
          holds(options) ? options.consistency.first_count - 1 : 0};
}

asynchronous_coordinator::asynchronous_coordinator(const asynchronous_options& options)
  : options_(options),
    rule_(options.consistency, options.trainer_count),
    model_(span_options_of(options)),
    tickets_(options.trainer_count) {
  gradients_coordinator{options.gradients}; // throws for what no coordinator of gradients takes
  if (options.compensation && holds(options))
    throw std::invalid_argument("asynchronous coordinator: delay compensation corrects gradients "
                                "that are applied on their own, half-synchronous steps add them");
}

void asynchronous_coordinator::set_parameters(std::span<const float> values) {
  model_.clear_held();
  model_.begin(own_copy(values), changes_of(options_.gradients, values.size()));
  rule_ = staleness_rule{options_.consistency, options_.trainer_count};
  tickets_.assign(options_.trainer_count, 0);
}

pulled_parameters asynchronous_coordinator::pull(size_t trainer) {
  pulled_parameters result;
  if (!parameters()) {
    result.decision.verdict = staleness_verdict::refuse;
    result.decision.reason = staleness_reason::no_parameters;
    return result;
  }
  result.decision = rule_.on_pull(trainer);
  result.version = model_.update_count();
  if (result.decision.verdict != staleness_verdict::proceed)
    return result;
  tickets_[trainer] = result.decision.ticket;
  result.parameters = model_.give({.number = result.decision.ticket}).values;
  return result;
}

pushed_gradient asynchronous_coordinator::push(size_t trainer, uint64_t ticket,
                                               const const_buffer& gradient_sum,
                                               uint64_t sample_count) {
  pushed_gradient result;
  const auto problem = problem_of(parameters(), gradient_sum.values(), sample_count);
  result.decision =
    problem ? rule_.on_useless(trainer, ticket) : rule_.on_gradient(trainer, ticket);
  if (result.is_void())
    return result;
  sequence_entry task{.number = ticket, .sample_count = sample_count};
  task.step_scale = result.decision.step_scale;
  if (problem)
    result.verdict = problem;
  if (problem || result.decision.verdict == staleness_verdict::refuse) {
    model_.drop(task);
  } else {
    model_.take(task, {gradient_sum, {}});
    result.verdict =
      result.decision.verdict == staleness_verdict::wait ? gradient_verdict::queued : close();
  }
  if (result.verdict == gradient_verdict::applied)
    result.applied = result.decision.applied;
  result.released = rule_.released();
  return result;
}

gradient_verdict asynchronous_coordinator::close() {
  return model_.close({}) ? gradient_verdict::applied : gradient_verdict::update_refused;
}

lost_trainer asynchronous_coordinator::lost(size_t trainer) {
  const auto decision = rule_.on_lost(trainer);
  if (decision.reason == staleness_reason::not_a_trainer)
    return {};
  lost_trainer result;
  if (decision.completes_step)
    result.verdict = close();
  if (result.verdict == gradient_verdict::applied)
    result.applied = decision.applied;
  model_.drop({.number = tickets_[trainer]});
  result.released = rule_.released();
  return result;
}

void asynchronous_coordinator::joined(size_t trainer) {
  rule_.on_joined(trainer);
  tickets_.resize(std::max(tickets_.size(), trainer + 1));
}

void asynchronous_coordinator::load(state_loader& in) {
  model_.load(in);
  rule_.on_restored(model_.held_count());
}

} // namespace troupe
