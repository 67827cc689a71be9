#include "troupe/actors/rounds_keeper.hpp"

#include "troupe/actors/guard.hpp"
#include "troupe/coordinators/training_modes.hpp"

#include <caf/actor_cast.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace troupe {

keeper_actor::behavior_type
rounds_keeper_state::make_behavior(const rounds_keeper_options& options) {
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

void rounds_keeper_state::on_view(const view& news) {
  if (!desk_->on_view(news))
    return;
  const auto initial = desk_->parameters().values();
  rounds_.emplace(options_.rounds, initial);
  for (size_t i = 0; i < options_.rounds.member_count; ++i)
    states_.emplace_back(options_.slot_count, initial.size());
  sums_.resize(options_.rounds.member_count);
  busy_.assign(desk_->trainer_count(), false);
  statistics_.emplace(desk_->trainer_count());
}

void rounds_keeper_state::on_horizon(const horizon& news) {
  desk_->on_horizon(news);
  advance();
}

void rounds_keeper_state::on_hold(uint64_t replica, uint64_t round) {
  desk_->hold(replica, round, open_ ? end_ : desk_->version());
}

void rounds_keeper_state::advance() {
  if (open_ || !desk_->may_begin(desk_->version()))
    return;
  open_ = true;
  end_ = round_end(options_.plan, desk_->version(), options_.rounds.local_steps);
  next_member_ = 0;
  hand_out();
}

void rounds_keeper_state::hand_out() {
  for (size_t i = 0; i < busy_.size() && next_member_ < sums_.size(); ++i) {
    if (busy_[i])
      continue;
    busy_[i] = true;
    const auto member = next_member_++;
    const auto work = rounds_->work_of(member);
    const auto first = desk_->version();
    statistics_->on_sent(i, self_->clock().now());
    self_->send(desk_->trainer(i),
                trainer_order{trainer_task::local_steps, caf::actor_cast<keeper_actor>(self_), i,
                              work.round, member, first, end_ - first, work.parameters,
                              states_[member]});
  }
}

void rounds_keeper_state::on_result(const trainer_result& news) {
  statistics_->on_result(news.trainer, self_->clock().now(), news.computed);
  busy_.at(news.trainer) = false;
  if (desk_->failed())
    return;
  const auto who = "the model of member " + std::to_string(news.member);
  if (!news.finite)
    return desk_->stop_here(who);
  hand_out();
  sums_.at(news.member) = news.sums;
  switch (rounds_->finish(
    news.number,
    {.child = news.member, .values = news.values, .sample_count = news.sums.sample_count})) {
  case round_verdict::closed:
    return close_round();
  case round_verdict::diverged:
    return desk_->stop_here(who + ", or the one it was merged to,");
  case round_verdict::misfit:
  case round_verdict::conflict:
    throw std::logic_error(who + " does not fit its round");
  case round_verdict::waits:
  case round_verdict::duplicate:
  case round_verdict::stale:
    break;
  }
}

void rounds_keeper_state::close_round() {
  open_ = false;
  statistics_->on_barrier(self_->clock().now());
  batch_sums total;
  for (const auto& part : sums_)
    total = total + part;
  auto main = rounds_->main_parameters();
  if (options_.rounds.averaging.kind != averaging_kind::none) {
    const buffer average{main.size()};
    std::ranges::copy(rounds_->evaluated_parameters(), average.values().begin());
    main = average;
  }
  desk_->adopt(end_, main, total);
  advance();
}

trainer_figures rounds_keeper_state::on_status() const {
  return statistics_ ? figures_of(*statistics_, desk_->trainer_count()) : trainer_figures{};
}

keeper_actor::behavior_type rounds_keeper(keeper_actor::stateful_pointer<rounds_keeper_state> self,
                                          const rounds_keeper_options& options) {
  guard(self);
  return self->state.make_behavior(options);
}

} // namespace troupe
