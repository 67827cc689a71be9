#include "actors/embed/coordinate_parameters.hpp"

#include "models/base/copy_values.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace troupe {

parameters_coordinator_actor::behavior_type
coordinate_parameters_state::make_behavior(const coordinate_parameters_options& options) {
  rule_.emplace(options.rule);
  rule_->set_parameters(options.initial.values());
  self_->set_down_handler([this](const caf::down_msg& news) { on_down(news); });
  if (options.rule.trigger == round_trigger::time)
    self_->delayed_send(self_, coordinator_tick_interval, atom::tick_v);
  return {
    [this](const child_model& news) { return on_model(news); },
    [this](uint64_t child, const model_listener_actor& listener) { on_listener(child, listener); },
    [this](atom::pull) { return main_model(); },
    [this](atom::stop) { return on_stop(); },
    [this](atom::tick) { on_tick(); },
  };
}

merge_report coordinate_parameters_state::on_model(const child_model& news) {
  auto& [last, life] = answered_[news.child];
  const bool came_already = last.number > 0 && news.number <= last.number;
  if (came_already && (!life || listeners_.contains(news.child)))
    return last;
  merge_report result;
  result.verdict = parameters_verdict::misfit;
  if (came_already) { // or it is the first one of a restarted child
    result.reason = "the child has ended: it says where it is before it hands in another model";
  } else if (!news.values.intact()) {
    result.reason = "the model was damaged on its way";
  } else {
    buffer values{news.values.values().size()};
    copy_values(news.values.values(), values.values().begin());
    merge_entry entry{.child = news.child, .values = values, .sample_count = news.sample_count};
    const auto outcome = rule_->add_parameters(std::move(entry), self_->clock().now());
    result = report_of(outcome);
    push(outcome);
  }
  result.child = news.child;
  result.number = news.number;
  if (!came_already && news.values.intact()) // the child may send a damaged one again
    last = result;
  return result;
}

void coordinate_parameters_state::on_listener(uint64_t child,
                                              const model_listener_actor& listener) {
  rule_->add_child(child);
  self_->monitor(listener);
  listeners_[child] = listener;
  auto& [last, life] = answered_[child];
  if (life && life != listener.address())
    last = {};
  life = listener.address();
}

void coordinate_parameters_state::on_down(const caf::down_msg& news) {
  std::vector<uint64_t> gone;
  for (const auto& [child, listener] : listeners_)
    if (listener.address() == news.source)
      gone.push_back(child);
  for (const auto child : gone) {
    listeners_.erase(child);
    push(rule_->remove_child(child));
  }
}

merge_report coordinate_parameters_state::on_stop() {
  const auto outcome = rule_->stop();
  push(outcome);
  return report_of(outcome);
}

void coordinate_parameters_state::on_tick() {
  self_->delayed_send(self_, coordinator_tick_interval, atom::tick_v);
  push(rule_->on_time(self_->clock().now()));
}

parameter_span coordinate_parameters_state::main_model() const {
  const auto values = rule_->main_parameters();
  return {0, rule_->round_count(), 0, payload{values, 0, values.size()}};
}

merge_report coordinate_parameters_state::report_of(const parameters_outcome& outcome) const {
  return {0, 0, outcome.verdict, outcome.reason, rule_->round_count(), outcome.merged_count};
}

void coordinate_parameters_state::push(const parameters_outcome& outcome) {
  for (const auto child : outcome.send_to)
    if (const auto found = listeners_.find(child); found != listeners_.end())
      self_->send(found->second, main_model());
}

parameters_coordinator_actor::behavior_type
coordinate_parameters(self_pointer<parameters_coordinator_actor, coordinate_parameters_state> self,
                      const coordinate_parameters_options& options) {
  guard(self);
  return self->state.make_behavior(options);
}

} // namespace troupe
