#include "troupe/actors/orders/gradients_keeper.hpp"

#include "troupe/actors/base/guard.hpp"

#include <caf/actor_cast.hpp>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace troupe {

keeper_actor::behavior_type
gradients_keeper_state::make_behavior(const gradients_keeper_options& options) {
  options_ = options;
  desk_.emplace(self_, options_.plan, options_.rows);
  self_->set_down_handler([this](const caf::down_msg& news) { on_down(news); });
  return {
    [this](const view& news) { on_view(news); },
    [](const contribution&) {},
    [](const block_norms&) {},
    [this](const shard_start& news) { desk_->on_start(news); },
    [this](const horizon& news) { on_horizon(news); },
    [this](atom::pull, uint64_t version) { return desk_->on_pull(version); },
    [this](atom::figures) { return on_figures(); },
    [this](const trainer_result& news) { on_result(news); },
    [this](atom::hold, uint64_t replica, uint64_t round) { on_hold(replica, round); },
  };
}

void gradients_keeper_state::on_view(const view& news) {
  const auto changes = desk_->on_view(news);
  if (changes.begins)
    start();
  for (const auto trainer : changes.lost)
    lose(trainer);
  for (const auto trainer : changes.joined)
    join(trainer);
  hand_out();
}

void gradients_keeper_state::start() {
  const auto count = desk_->seat_count();
  const auto& consistency = options_.rule.consistency;
  const bool holds = consistency.mode == consistency_mode::half_synchronous;
  options_.rule.trainer_count = std::max(count, holds ? consistency.first_count : 1);
  coordinator_.emplace(options_.rule);
  coordinator_->set_parameters(desk_->parameters().values());
  // Who is late is as good as lost: a step takes the first of those who are here.
  for (auto late = count; late < options_.rule.trainer_count; ++late)
    coordinator_->lost(late);
  statistics_.emplace(count);
  book_.emplace(count);
  waits_.assign(count, false);
}

void gradients_keeper_state::on_down(const caf::down_msg& news) {
  if (const auto trainer = desk_->on_down(news.source))
    lose(*trainer);
  hand_out();
}

void gradients_keeper_state::lose(size_t trainer) {
  book_->lose(trainer);
  statistics_->on_lost(trainer, self_->clock().now());
  note(trainer_event::kind::lost, trainer);
  const auto gone = coordinator_->lost(trainer);
  waits_.at(trainer) = false;
  release(gone.released);
  if (gone.verdict) // the step was waited for, and is over
    statistics_->on_barrier(self_->clock().now());
  std::ranges::copy(gone.applied, std::back_inserter(moved_));
  say_who_is_left("lost");
  if (gone.verdict == gradient_verdict::update_refused)
    desk_->stop_here("what the gradients of the replicas that are left lead to");
}

void gradients_keeper_state::join(size_t trainer) {
  book_->join();
  statistics_->on_joined(trainer);
  coordinator_->joined(trainer);
  waits_.resize(book_->seat_count());
  note(trainer_event::kind::joined, trainer);
  say_who_is_left("there");
}

void gradients_keeper_state::say_who_is_left(const std::string& what) {
  const auto& consistency = options_.rule.consistency;
  auto text = "a replica is " + what + ", " + desk_->left_text();
  const auto first = coordinator_->rule().first_count();
  if (consistency.mode == consistency_mode::half_synchronous && first > 0)
    text +=
      "; a step takes the first " + std::to_string(first) + " gradients" +
      (first < consistency.first_count ? " instead of " + std::to_string(consistency.first_count)
                                       : "");
  desk_->tell(text);
}

void gradients_keeper_state::on_horizon(const horizon& news) {
  desk_->on_horizon(news);
  hand_out();
}

void gradients_keeper_state::on_hold(uint64_t replica, uint64_t round) {
  desk_->hold(replica, round, book_ ? book_->begun_count() : 0);
}

void gradients_keeper_state::hand_out() {
  if (!book_ || desk_->failed())
    return;
  for (size_t i = 0; i < waits_.size(); ++i)
    if (book_->is_free(i) && !waits_[i] &&
        (book_->has_returned() || desk_->may_begin(book_->begun_count())))
      give_step(i);
}

void gradients_keeper_state::give_step(size_t trainer) {
  const auto work = coordinator_->pull(trainer);
  waits_[trainer] = work.decision.verdict != staleness_verdict::proceed;
  if (work.decision.reason == staleness_reason::too_far_ahead)
    statistics_->on_waits(trainer, self_->clock().now());
  if (waits_[trainer])
    return;
  const auto step = book_->take(trainer);
  statistics_->on_sent(trainer, self_->clock().now());
  note(trainer_event::kind::ordered, trainer, work.decision.ticket, step);
  desk_->give(trainer, {trainer_task::gradient,
                        caf::actor_cast<keeper_actor>(self_),
                        trainer,
                        work.decision.ticket,
                        0,
                        step,
                        1,
                        work.parameters,
                        {}});
}

void gradients_keeper_state::on_result(const trainer_result& news) {
  if (desk_->failed())
    return;
  const auto outcome =
    coordinator_->push(news.trainer, news.ticket, news.values.values(), news.sums.sample_count);
  count(news, outcome);
  if (outcome.is_void())
    return;
  if (outcome.verdict == gradient_verdict::not_finite ||
      outcome.verdict == gradient_verdict::update_refused)
    return desk_->stop_here("the gradient of replica " + std::to_string(news.trainer) +
                            ", or what it leads to,");
  release(outcome.released);
  desk_->adopt(desk_->version() + 1, coordinator_->parameters(), news.sums);
  std::ranges::copy(outcome.applied, std::back_inserter(moved_));
  count_applied();
  hand_out();
}

void gradients_keeper_state::release(const std::vector<size_t>& trainers) {
  for (const auto trainer : trainers)
    waits_.at(trainer) = false;
}

void gradients_keeper_state::count(const trainer_result& news, const pushed_gradient& outcome) {
  using kind = trainer_event::kind;
  const auto& decision = outcome.decision;
  const auto trainer = news.trainer;
  if (outcome.is_void()) {
    note(kind::refused, trainer, news.ticket, news.first_step);
    return statistics_->on_refused(trainer);
  }
  book_->finish(trainer, news.first_step);
  desk_->on_answer(trainer);
  statistics_->on_result(trainer, self_->clock().now(), news.computed);
  const bool is_late = decision.verdict == staleness_verdict::refuse;
  note(is_late ? kind::discarded : kind::used, trainer, news.ticket, news.first_step, decision);
  if (is_late)
    statistics_->on_discarded(trainer, decision.staleness);
  if (decision.completes_step)
    statistics_->on_barrier(self_->clock().now());
}

void gradients_keeper_state::count_applied() {
  for (const auto& x : std::exchange(moved_, {}))
    statistics_->on_applied(x.trainer, x.staleness);
}

void gradients_keeper_state::note(trainer_event::kind what, size_t trainer, uint64_t ticket,
                                  uint64_t step, const staleness_decision& decision) const {
  if (options_.hooks.on_trainer)
    options_.hooks.on_trainer(
      {what, trainer, ticket, 0, step, decision.staleness, decision.completes_step});
}

trainer_figures gradients_keeper_state::on_figures() const {
  return statistics_ ? desk_->figures_of(*statistics_) : trainer_figures{};
}

keeper_actor::behavior_type
gradients_keeper(self_pointer<keeper_actor, gradients_keeper_state> self,
                 const gradients_keeper_options& options) {
  guard(self);
  return self->state.make_behavior(options);
}

} // namespace troupe
