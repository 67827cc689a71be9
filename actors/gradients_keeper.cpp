#include "troupe/actors/gradients_keeper.hpp"

#include "troupe/actors/guard.hpp"

#include <caf/actor_cast.hpp>

#include <string>

namespace troupe {

keeper_actor::behavior_type
gradients_keeper_state::make_behavior(const gradients_keeper_options& options) {
  options_ = options;
  desk_.emplace(self_, options_.plan, options_.rows);
  return {
    [this](const view& news) { on_view(news); },
    [](const contribution&) {},
    [](const block_norms&) {},
    [this](const shard_start& news) { desk_->on_start(news); },
    [this](const horizon& news) { on_horizon(news); },
    [this](atom::pull, uint64_t version) { return desk_->on_pull(version); },
    [this](const trainer_result& news) { on_result(news); },
    [this](atom::hold, uint64_t replica, uint64_t round) { on_hold(replica, round); },
    [this](atom::status) { return on_status(); },
  };
}

void gradients_keeper_state::on_view(const view& news) {
  if (!desk_->on_view(news))
    return;
  options_.rule.trainer_count = desk_->trainer_count();
  coordinator_.emplace(options_.rule);
  coordinator_->set_parameters(desk_->parameters().values());
  statistics_.emplace(desk_->trainer_count());
  phases_.assign(desk_->trainer_count(), trainer_phase::idle);
}

void gradients_keeper_state::on_horizon(const horizon& news) {
  desk_->on_horizon(news);
  hand_out();
}

void gradients_keeper_state::on_hold(uint64_t replica, uint64_t round) {
  desk_->hold(replica, round, begun_count_);
}

void gradients_keeper_state::hand_out() {
  for (size_t i = 0; i < phases_.size(); ++i)
    if (phases_[i] == trainer_phase::idle && desk_->may_begin(begun_count_))
      give_step(i);
}

void gradients_keeper_state::give_step(size_t trainer) {
  const auto work = coordinator_->pull(trainer);
  if (work.decision.verdict != staleness_verdict::proceed) {
    phases_[trainer] = trainer_phase::waits;
    return;
  }
  phases_[trainer] = trainer_phase::computes;
  statistics_->on_sent(trainer, self_->clock().now());
  self_->send(desk_->trainer(trainer), trainer_order{trainer_task::gradient,
                                                     caf::actor_cast<keeper_actor>(self_),
                                                     trainer,
                                                     work.decision.ticket,
                                                     0,
                                                     begun_count_,
                                                     1,
                                                     work.parameters,
                                                     {}});
  ++begun_count_;
}

void gradients_keeper_state::on_result(const trainer_result& news) {
  statistics_->on_result(news.trainer, self_->clock().now(), news.computed);
  if (desk_->failed())
    return;
  phases_.at(news.trainer) = trainer_phase::idle;
  const auto outcome =
    coordinator_->push(news.trainer, news.number, news.values.values(), news.sums.sample_count);
  count(news.trainer, outcome);
  if (outcome.verdict == gradient_verdict::not_finite ||
      outcome.verdict == gradient_verdict::update_refused)
    return desk_->stop_here("the gradient of replica " + std::to_string(news.trainer) +
                            ", or what it leads to,");
  for (const auto released : outcome.released)
    phases_.at(released) = trainer_phase::idle;
  desk_->adopt(desk_->version() + 1, coordinator_->parameters(), news.sums);
  hand_out();
}

void gradients_keeper_state::count(size_t trainer, const pushed_gradient& outcome) {
  const auto& decision = outcome.decision;
  if (decision.verdict == staleness_verdict::refuse)
    statistics_->on_discarded(trainer, decision.staleness);
  else
    statistics_->on_applied(trainer, decision.staleness);
  if (decision.completes_step)
    statistics_->on_barrier(self_->clock().now());
}

trainer_figures gradients_keeper_state::on_status() const {
  return statistics_ ? figures_of(*statistics_, desk_->trainer_count()) : trainer_figures{};
}

keeper_actor::behavior_type
gradients_keeper(keeper_actor::stateful_pointer<gradients_keeper_state> self,
                 const gradients_keeper_options& options) {
  guard(self);
  return self->state.make_behavior(options);
}

} // namespace troupe
