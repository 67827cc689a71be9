#include "coordinators/modes/asynchronous_coordinator.hpp"

#include "models/base/rounding.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace troupe {

namespace {

// Each gradient is a round of its own. Held gradients make one together, and the staleness rule says when.
gradients_coordinator_options with_rounds(const asynchronous_options& options) {
  auto result = options.gradients;
  const bool holds = options.consistency.mode == consistency_kind::half_synchronous;
  result.round_size = holds ? std::numeric_limits<size_t>::max() : 1;
  return result;
}

/// Gradients that may be held while no trainer computes: one more, and their step is full.
size_t held_max(const asynchronous_options& options) {
  const bool holds = options.consistency.mode == consistency_kind::half_synchronous;
  return holds ? options.consistency.first_count - 1 : 0;
}

} // namespace

asynchronous_coordinator::asynchronous_coordinator(const asynchronous_options& options)
  : options_(options),
    rule_(options.consistency, options.trainer_count),
    gradients_(with_rounds(options)),
    read_(options.trainer_count) {
  if (!options.compensation)
    return;
  if (options.consistency.mode == consistency_kind::half_synchronous)
    throw std::invalid_argument("asynchronous coordinator: delay compensation corrects gradients "
                                "that are applied on their own, half-synchronous steps add them");
  compensation_.emplace(*options.compensation);
}

void asynchronous_coordinator::set_parameters(std::span<const float> values) {
  gradients_.clear();
  gradients_.set_parameters(values);
  gradients_.start();
  rule_ = staleness_rule{options_.consistency, options_.trainer_count};
  read_.assign(options_.trainer_count, {});
  if (compensation_)
    compensation_.emplace(*options_.compensation);
}

pulled_parameters asynchronous_coordinator::pull(size_t trainer) {
  pulled_parameters result;
  if (!gradients_.parameters()) {
    result.decision.verdict = staleness_verdict::refuse;
    result.decision.reason = staleness_reason::no_parameters;
    return result;
  }
  result.decision = rule_.on_pull(trainer);
  result.version = gradients_.update_count();
  if (result.decision.verdict != staleness_verdict::proceed)
    return result;
  auto& read = read_[trainer];
  if (!read)
    read = gradients_.parameters();
  result.parameters = read;
  return result;
}

pushed_gradient asynchronous_coordinator::push(size_t trainer, uint64_t ticket,
                                               std::span<const float> gradient_sum,
                                               uint64_t sample_count) {
  pushed_gradient result;
  const auto problem = gradients_.problem(gradient_sum, sample_count);
  result.decision =
    problem ? rule_.on_useless(trainer, ticket) : rule_.on_gradient(trainer, ticket);
  if (result.is_void())
    return result;
  if (problem)
    result.verdict = problem;
  else if (result.decision.verdict != staleness_verdict::refuse)
    result.verdict = hand_in(trainer, gradient_sum, sample_count, result.decision);
  if (result.verdict == gradient_verdict::applied)
    result.applied = result.decision.applied;
  read_[trainer] = {};
  result.released = rule_.released();
  return result;
}

gradient_verdict asynchronous_coordinator::hand_in(size_t trainer,
                                                   std::span<const float> gradient_sum,
                                                   uint64_t sample_count,
                                                   const staleness_decision& decision) {
  std::vector<float> corrected;
  if (compensation_) {
    const default_rounding rounding;
    corrected.assign(gradient_sum.begin(), gradient_sum.end());
    compensation_->apply(corrected, sample_count, read_[trainer].values(),
                         gradients_.parameters().values());
    gradient_sum = corrected;
  }
  const auto verdict = gradients_.add_gradients(gradient_sum, sample_count, decision.step_scale);
  return decision.completes_step ? apply_held() : verdict;
}

gradient_verdict asynchronous_coordinator::apply_held() {
  return gradients_.flush().refused_count == 0 ? gradient_verdict::applied
                                               : gradient_verdict::update_refused;
}

lost_trainer asynchronous_coordinator::lost(size_t trainer) {
  const auto decision = rule_.on_lost(trainer);
  if (decision.reason == staleness_reason::not_a_trainer)
    return {};
  lost_trainer result;
  if (decision.completes_step)
    result.verdict = apply_held();
  if (result.verdict == gradient_verdict::applied)
    result.applied = decision.applied;
  read_[trainer] = {};
  result.released = rule_.released();
  return result;
}

void asynchronous_coordinator::joined(size_t trainer) {
  rule_.on_joined(trainer);
  read_.resize(std::max(read_.size(), trainer + 1));
}

state_shape asynchronous_coordinator::shape_of(const asynchronous_options& options) {
  return gradients_coordinator::shape_of(options.gradients, held_max(options)) +
         (options.compensation ? delay_compensation::shape_of(*options.compensation)
                               : state_shape{});
}

void asynchronous_coordinator::save(state_saver& out) const {
  gradients_.save(out, held_max(options_));
  if (compensation_)
    compensation_->save(out);
}

void asynchronous_coordinator::load(state_loader& in) {
  gradients_.load(in, held_max(options_));
  rule_.on_restored(gradients_.queued_count());
  if (compensation_)
    compensation_->load(in);
}

} // namespace troupe
