#include "actors/embed/coordinate_gradients.hpp"

#include <string>
#include <utility>

namespace troupe {

namespace {

gradient_work work_of(const pulled_parameters& pulled) {
  gradient_work result;
  result.verdict = pulled.decision.verdict;
  if (pulled.decision.verdict == staleness_verdict::refuse)
    result.reason = name_of(pulled.decision.reason);
  result.ticket = pulled.decision.ticket;
  result.version = pulled.version;
  result.parameters = payload{pulled.parameters, 0, pulled.parameters.size()};
  return result;
}

gradient_report report_of(const pushed_gradient& pushed, uint64_t version) {
  gradient_report result{pushed.decision.verdict, {}, pushed.decision.staleness, version};
  const bool went_well = !pushed.verdict || *pushed.verdict == gradient_verdict::applied ||
                         *pushed.verdict == gradient_verdict::queued;
  if (!went_well)
    result.verdict = staleness_verdict::refuse;
  if (result.verdict == staleness_verdict::refuse)
    result.reason = went_well ? std::string{name_of(pushed.decision.reason)}
                              : std::string{name_of(*pushed.verdict)};
  return result;
}

} // namespace

gradients_coordinator_actor::behavior_type
coordinate_gradients_state::make_behavior(const coordinate_gradients_options& options) {
  rule_.emplace(options.rule);
  rule_->set_parameters(options.initial.values());
  trainer_count_ = options.rule.trainer_count;
  self_->set_down_handler([this](const caf::down_msg& news) { on_down(news); });
  return {
    [this](atom::pull, uint64_t trainer) { return on_pull(trainer); },
    [this](const gradient_offer& news) { return on_offer(news); },
    [this](uint64_t trainer, const model_listener_actor& listener) {
      return on_listener(trainer, listener);
    },
    [this](atom::pull) { return main_model(); },
  };
}

caf::result<gradient_work> coordinate_gradients_state::on_pull(uint64_t trainer) {
  const auto pulled = rule_->pull(trainer);
  if (pulled.decision.verdict != staleness_verdict::wait)
    return work_of(pulled);
  auto& waiting = waiting_[trainer];
  waiting.push_back(self_->make_response_promise<gradient_work>());
  return waiting.back();
}

gradient_report coordinate_gradients_state::on_offer(const gradient_offer& news) {
  if (!news.gradient_sum.intact()) // its ticket stays open: the trainer may send it again
    return {staleness_verdict::refuse, "the gradient was damaged on its way", 0,
            rule_->update_count()};
  const auto pushed =
    rule_->push(news.trainer, news.ticket, news.gradient_sum.values(), news.sample_count);
  release(pushed.released);
  return report_of(pushed, rule_->update_count());
}

caf::result<void> coordinate_gradients_state::on_listener(uint64_t trainer,
                                                          const model_listener_actor& listener) {
  if (trainer >= trainer_count_)
    return caf::make_error(
      caf::sec::invalid_argument,
      "trainer " + std::to_string(trainer) + " is none of the " + std::to_string(trainer_count_) +
        " that the coordinator was made for (trainer_count), which count from 0");
  self_->monitor(listener);
  listeners_[trainer] = listener;
  if (lost_.erase(trainer) > 0)
    rule_->joined(trainer);
  return caf::unit;
}

void coordinate_gradients_state::on_down(const caf::down_msg& news) {
  std::vector<uint64_t> gone;
  for (const auto& [trainer, listener] : listeners_)
    if (listener.address() == news.source)
      gone.push_back(trainer);
  for (const auto trainer : gone) {
    listeners_.erase(trainer);
    lost_.insert(trainer);
    const auto left = rule_->lost(trainer);
    refuse_waiting(trainer);
    release(left.released);
  }
}

void coordinate_gradients_state::release(const std::vector<size_t>& trainers) {
  for (const auto trainer : trainers) {
    const auto found = waiting_.find(trainer);
    if (found == waiting_.end())
      continue;
    auto promises = std::move(found->second);
    waiting_.erase(found);
    const auto pulled = rule_->pull(trainer);
    if (pulled.decision.verdict == staleness_verdict::wait)
      waiting_[trainer] = std::move(promises);
    else
      for (auto& one : promises)
        one.deliver(work_of(pulled));
  }
}

void coordinate_gradients_state::refuse_waiting(uint64_t trainer) {
  const auto refusal = work_of(rule_->pull(trainer));
  for (auto& one : waiting_[trainer])
    one.deliver(refusal);
  waiting_.erase(trainer);
}

parameter_span coordinate_gradients_state::main_model() const {
  const auto values = rule_->parameters();
  return {0, rule_->update_count(), 0, payload{values, 0, values.size()}};
}

gradients_coordinator_actor::behavior_type
coordinate_gradients(self_pointer<gradients_coordinator_actor, coordinate_gradients_state> self,
                     const coordinate_gradients_options& options) {
  guard(self);
  return self->state.make_behavior(options);
}

} // namespace troupe
