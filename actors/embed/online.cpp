#include "actors/embed/online.hpp"

#include <utility>

namespace troupe {

namespace {

std::vector<float> copy_of(const payload& values) {
  const auto span = values.values();
  return {span.begin(), span.end()};
}

} // namespace

online_actor::behavior_type online_state::make_behavior(const online_options& options) {
  learner_.emplace(options.network, options.rule);
  learner_->set_parameters(options.parameters.values());
  if (options.validation)
    learner_->set_validation(*options.validation);
  return {
    [this](const online_batch& news) { return on_batch(news); },
    [this](atom::pull) { return on_pull(); },
    [this](atom::tick) { on_tick(); },
  };
}

caf::result<online_report> online_state::on_batch(const online_batch& news) {
  if (!news.features.intact() || !news.targets.intact()) {
    online_report damaged;
    damaged.verdict = online_verdict::refused_shape;
    damaged.version = learner_->version();
    damaged.reason = "the batch was damaged on its way";
    return damaged;
  }
  if (auto refused =
        learner_->enqueue({copy_of(news.features), news.labels, copy_of(news.targets)}))
    return std::move(*refused);
  if (waiting_.empty())
    self_->send(self_, atom::tick_v);
  waiting_.push_back(self_->make_response_promise<online_report>());
  return waiting_.back();
}

void online_state::on_tick() {
  if (waiting_.empty())
    return;
  auto report = learner_->learn_next().value();
  waiting_.front().deliver(std::move(report));
  waiting_.pop_front();
  if (!waiting_.empty())
    self_->send(self_, atom::tick_v);
}

parameter_span online_state::on_pull() const {
  const auto parameters = learner_->parameters();
  return {0, learner_->version(), 0, payload{parameters, 0, parameters.size()}};
}

online_actor::behavior_type online(self_pointer<online_actor, online_state> self,
                                   const online_options& options) {
  guard(self);
  return self->state.make_behavior(options);
}

} // namespace troupe
