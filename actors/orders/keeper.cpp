#include "troupe/actors/orders/keeper.hpp"

#include <caf/actor_cast.hpp>

#include <algorithm>
#include <utility>

namespace troupe {

keeper_actor::behavior_type keeper_state::make_behavior(const keeper_options& options) {
  options_ = options;
  books_.model = main_model{{options.plan, options.rows, progress_interval}};
  self_->set_down_handler([this](const caf::down_msg& news) { on_down(news); });
  return {
    [this](const view& news) { on_view(news); },
    [this](const shard_start& news) { versions_ = news.versions; },
    [this](const horizon& news) { on_horizon(news); },
    [this](atom::pull, uint64_t version) { return on_pull(version); },
    [this](atom::figures) { return on_figures(); },
    [this](const trainer_result& news) { on_result(news); },
    [this](atom::hold, uint64_t replica, uint64_t round) { on_hold(replica, round); },
  };
}

// ---- Who is there ----

void keeper_state::on_view(const view& news) {
  const bool is_newer = std::pair{news.term, news.number} > std::pair{view_.term, view_.number};
  if (!versions_ || (books_.model.has_begun() && !is_newer))
    return;
  if (books_.model.has_begun() && news.term != view_.term)
    forget_all();
  const bool has_begun = books_.model.has_begun();
  view_ = news;
  std::vector<uint64_t> lives;
  for (const auto& entry : news.trainers)
    lives.push_back(entry.actor.id());
  for (const auto one : books_.roster.all_but(lives))
    lose(one);
  for (const auto& entry : news.trainers)
    if (!books_.roster.find(entry.actor.id()))
      has_begun ? join(entry) : void(seat(entry));
  if (!has_begun)
    start();
  hand_out();
}

// A term begins: everything goes back to its start version. Trainers here may be at orders of the one
// before; tickets go on, so what comes of those counts for nothing.
void keeper_state::forget_all() {
  for (size_t i = 0; i < trainers_.size(); ++i)
    if (trainers_[i])
      self_->demonitor(trainers_[i].address());
  trainers_.clear();
  books_ = {main_model{{options_.plan, options_.rows, progress_interval}}};
  tickets_before_ = last_ticket_;
}

void keeper_state::start() {
  const auto version = view_.start_version;
  books_.model.begin(version, versions_->of(version), now());
  options_.policy->begin(books_);
}

size_t keeper_state::seat(const trainer_entry& who) {
  const auto result = books_.roster.join(who.actor.id(), who.name);
  trainers_.resize(books_.roster.seat_count());
  trainers_[result] = who.actor;
  self_->monitor(who.actor);
  send_evaluations();
  return result;
}

void keeper_state::join(const trainer_entry& who) {
  const auto where = seat(who);
  options_.policy->on_joined(where);
  note({.what = trainer_event::kind::joined, .trainer = where});
  say_who_is_left("there");
}

void keeper_state::lose(size_t seat) {
  self_->demonitor(trainers_[seat].address());
  books_.roster.lose(seat, now());
  send_evaluations();
  note({.what = trainer_event::kind::lost, .trainer = seat});
  const auto not_finite = options_.policy->on_lost(seat, books_, now());
  say_who_is_left("lost");
  if (!not_finite.empty())
    stop_here(not_finite);
}

void keeper_state::on_down(const caf::down_msg& news) {
  if (const auto seat = books_.roster.find(news.source.id()))
    lose(*seat);
  hand_out();
}

void keeper_state::say_who_is_left(const std::string& what) {
  const auto count = books_.roster.living_count();
  report({}, "a replica is " + what + ", " + std::to_string(count) +
               (count == 1 ? " replica is left" : " replicas are left") +
               options_.policy->remark());
}

// ---- How far it goes ----

void keeper_state::on_horizon(const horizon& news) {
  books_.model.set_horizon(news.rule);
  books_.roster.forget_evaluations(news.row_version);
  if (books_.model.is_at_horizon())
    publish();
  hand_out();
}

void keeper_state::on_hold(uint64_t replica, uint64_t round) {
  books_.model.hold();
  if (books_.model.has_begun()) // the node is to know where it is
    report({}, {});
  self_->send(view_.relay, atom::held_v, replica, round, options_.policy->next_step(books_));
}

void keeper_state::stop_here(const std::string& not_finite) {
  books_.model.fail();
  not_finite_report report;
  report.term = view_.term;
  report.step = books_.model.version();
  report.what = not_finite;
  self_->send(view_.director, std::move(report));
}

// ---- Work ----

void keeper_state::hand_out() {
  if (!books_.model.has_begun() || books_.model.has_failed())
    return;
  const auto limit = options_.policy->piece_limit(books_);
  for (size_t i = 0; i < books_.roster.seat_count(); ++i) {
    if (!books_.roster.is_free(i) || !books_.roster.has_work(limit))
      continue;
    auto order = options_.policy->order_for(i, books_, now());
    if (!order)
      continue;
    order->keeper = caf::actor_cast<keeper_actor>(self_);
    order->ticket += tickets_before_;
    last_ticket_ = std::max(last_ticket_, order->ticket);
    order->trainer = i;
    note({.what = trainer_event::kind::ordered,
          .trainer = i,
          .ticket = order->ticket,
          .round = options_.policy->round(),
          .piece = options_.policy->piece_of(order->member, order->first_step)});
    self_->send(trainers_[i], *std::move(order));
  }
}

void keeper_state::on_result(const trainer_result& given) {
  if (!books_.model.has_begun() || books_.model.has_failed())
    return;
  auto news = given;
  news.ticket -= std::min(tickets_before_, news.ticket);
  trainer_event event{.what = trainer_event::kind::refused,
                      .trainer = news.trainer,
                      .ticket = given.ticket,
                      .round = options_.policy->round(),
                      .piece = options_.policy->piece_of(news.member, news.first_step)};
  if (news.ticket == 0 ||
      !books_.roster.finish(news.trainer, {news.ticket, event.piece}, now(), news.computed))
    return note(event);
  const auto outcome = options_.policy->on_result(news, books_, now());
  event.what = outcome.is_discarded ? trainer_event::kind::discarded : trainer_event::kind::used;
  event.staleness = outcome.staleness;
  event.completes_step = outcome.completes_step;
  note(event);
  if (!outcome.not_finite.empty())
    return stop_here(outcome.not_finite);
  publish();
  hand_out();
}

void keeper_state::note(const trainer_event& news) const {
  if (options_.hooks.on_trainer)
    options_.hooks.on_trainer(news);
}

// ---- Versions ----

void keeper_state::publish() {
  const auto& model = books_.model;
  if (books_.model.take_evaluation())
    books_.roster.evaluate(model.version(), model.parameters(), options_.rows.chunk_count());
  send_evaluations();
  if (const auto mark = books_.model.take_report(now()))
    report(*mark, {});
}

void keeper_state::send_evaluations() {
  for (const auto& [seat, share] : books_.roster.take_given())
    self_->send(trainers_[seat], evaluation_order{view_.director, view_.term, share.version,
                                                  share.parameters, share.chunks});
}

void keeper_state::report(const main_model::report_mark& mark, const std::string& notice) {
  auto& model = books_.model;
  model.on_reported(now());
  self_->send(view_.director,
              training_report{view_.term, model.version(), model.epoch_sums(), mark.is_row,
                              mark.is_mark, model.seconds(now()), notice});
}

caf::result<parameter_span> keeper_state::on_pull(uint64_t version) const {
  const auto parameters = books_.model.parameters_of(version);
  if (!parameters)
    return caf::make_error(protocol_error::version_not_held, version);
  return parameter_span{view_.term, version, 0, payload{parameters, 0, parameters.size()}};
}

trainer_figures keeper_state::on_figures() const {
  const auto& roster = books_.roster;
  return {roster.statistics().barrier_count(), roster.figures()};
}

keeper_actor::behavior_type keeper(self_pointer<keeper_actor, keeper_state> self,
                                   const keeper_options& options) {
  guard(self);
  return self->state.make_behavior(options);
}

} // namespace troupe
