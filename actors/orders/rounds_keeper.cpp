#include "troupe/actors/orders/rounds_keeper.hpp"

#include "troupe/actors/base/guard.hpp"
#include "troupe/coordinators/job/training_modes.hpp"

#include <caf/actor_cast.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace troupe {

keeper_actor::behavior_type
rounds_keeper_state::make_behavior(const rounds_keeper_options& options) {
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

void rounds_keeper_state::on_view(const view& news) {
  const auto changes = desk_->on_view(news);
  if (changes.begins)
    start();
  for (const auto trainer : changes.lost)
    lose(trainer);
  for (const auto trainer : changes.joined)
    join(trainer);
  hand_out();
}

void rounds_keeper_state::start() {
  const auto initial = desk_->parameters().values();
  rounds_.emplace(options_.rounds, initial);
  for (size_t i = 0; i < options_.rounds.member_count; ++i)
    states_.emplace_back(options_.slot_count, initial.size());
  sums_.resize(options_.rounds.member_count);
  book_.emplace(desk_->seat_count());
  tickets_.resize(desk_->seat_count());
  statistics_.emplace(desk_->seat_count());
}

void rounds_keeper_state::on_down(const caf::down_msg& news) {
  if (const auto trainer = desk_->on_down(news.source))
    lose(*trainer);
  hand_out();
}

void rounds_keeper_state::lose(size_t trainer) {
  book_->lose(trainer);
  tickets_.at(trainer) = 0;
  statistics_->on_lost(trainer, self_->clock().now());
  note(trainer_event::kind::lost, trainer);
  desk_->tell("a replica is lost, " + desk_->left_text());
}

void rounds_keeper_state::join(size_t trainer) {
  book_->join();
  tickets_.resize(book_->seat_count());
  statistics_->on_joined(trainer);
  note(trainer_event::kind::joined, trainer);
  desk_->tell("a replica is there, " + desk_->left_text());
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
  book_->start_anew();
  hand_out();
}

void rounds_keeper_state::hand_out() {
  if (!open_ || desk_->failed())
    return;
  for (size_t i = 0; i < book_->seat_count(); ++i)
    if (book_->is_free(i) && (book_->has_returned() || book_->begun_count() < sums_.size()))
      give_member(i);
}

void rounds_keeper_state::give_member(size_t trainer) {
  const auto member = book_->take(trainer);
  const auto work = rounds_->work_of(member);
  const auto first = desk_->version();
  statistics_->on_sent(trainer, self_->clock().now());
  tickets_[trainer] = ++last_ticket_;
  note(trainer_event::kind::ordered, trainer, last_ticket_, member);
  desk_->give(trainer,
              {trainer_task::local_steps, caf::actor_cast<keeper_actor>(self_), trainer,
               last_ticket_, member, first, end_ - first, work.parameters, states_[member]});
}

void rounds_keeper_state::on_result(const trainer_result& news) {
  if (desk_->failed())
    return;
  if (news.ticket != tickets_.at(news.trainer) || !book_->finish(news.trainer, news.member)) {
    note(trainer_event::kind::refused, news.trainer, news.ticket, news.member);
    return statistics_->on_refused(news.trainer);
  }
  desk_->on_answer(news.trainer);
  statistics_->on_result(news.trainer, self_->clock().now(), news.computed);
  if (!news.finite)
    return desk_->stop_here("the model of member " + std::to_string(news.member));
  note(trainer_event::kind::used, news.trainer, news.ticket, news.member);
  hand_out();
  use(news);
}

void rounds_keeper_state::use(const trainer_result& news) {
  const auto who = "the model of member " + std::to_string(news.member);
  sums_.at(news.member) = news.sums;
  states_.at(news.member) = news.state;
  switch (rounds_->finish(
    rounds_->round(),
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

void rounds_keeper_state::note(trainer_event::kind what, size_t trainer, uint64_t ticket,
                               uint64_t member) const {
  if (options_.hooks.on_trainer)
    options_.hooks.on_trainer({what, trainer, ticket, rounds_->round(), member, 0, false});
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

trainer_figures rounds_keeper_state::on_figures() const {
  return statistics_ ? desk_->figures_of(*statistics_) : trainer_figures{};
}

keeper_actor::behavior_type rounds_keeper(self_pointer<keeper_actor, rounds_keeper_state> self,
                                          const rounds_keeper_options& options) {
  guard(self);
  return self->state.make_behavior(options);
}

} // namespace troupe
