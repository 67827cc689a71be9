#include "actors/node/keeping.hpp"

#include <caf/actor_cast.hpp>

#include <algorithm>

namespace troupe {

void keeping::begin_term() {
  begin_orders();
  meet_distant_trainers();
  begin_replicas();
}

void keeping::on_view(const cluster_view& before, size_t me_before) {
  meet_distant_trainers();
  node_work::on_view(before, me_before);
}

// The keeper's life begins anew with a term, and so do the numbers of its orders.
void keeping::begin_orders() {
  orders_.begin_term(seat_.view.id.term);
  work_.begin_term(seat_.view.id.term);
  for (const auto& [who, actor] : seat_.distant)
    end(actor);
  seat_.distant.clear();
}

void keeping::end(const order_taker_actor& distant) const {
  seat_.self->send_exit(distant, caf::exit_reason::user_shutdown);
}

void keeping::meet_distant_trainers() {
  if (spans_.all().empty())
    return;
  std::map<trainer_life, order_taker_actor> here;
  for (const auto& place : seat_.view.replicas) {
    const auto who = seat_.life_of(place);
    if (seat_.is_mine(place) || lost_trainers_.contains(who))
      continue;
    const auto known = seat_.distant.find(who);
    here[who] =
      known != seat_.distant.end() ? known->second : seat_.options.stand_in(seat_.self, who);
  }
  for (const auto& [who, actor] : seat_.distant)
    if (!here.contains(who))
      end(actor);
  seat_.distant = std::move(here);
  forget_orders_of_the_lost();
}

void keeping::forget_orders_of_the_lost() {
  orders_.keep_if([this](const trainer_life& who) { return seat_.distant.contains(who); });
}

// Its process goes on with its other trainers. The keeper hears of it as of the end of any trainer.
void keeping::lose_distant_trainer(const trainer_life& who) {
  lost_trainers_.insert(who);
  if (const auto found = seat_.distant.find(who); found != seat_.distant.end())
    end(found->second);
  seat_.distant.erase(who);
  forget_orders_of_the_lost();
}

const std::string& keeping::keeper_process() const {
  return seat_.owner_of(seat_.view.shards.front());
}

// A keeper's versions come here by its reports alone.
void keeping::on_report(const training_report& news) {
  for (auto& one : spans_.all())
    if (news.term == seat_.view.id.term)
      one.version = std::max(one.version, news.version);
}

void keeping::on_distant_order(const distant_order& order) {
  if (seat_.distant.contains(order.who)) // else lost meanwhile: the keeper is about to hear of it
    seat_.tell(order.who.process, orders_.open(order, seat_.now()));
}

void keeping::on_sheet(const order_sheet& news) {
  const auto& options = seat_.options;
  if (seat_.takes_part() && news.replica < seat_.local.trainers.size() &&
      is_possible(
        news, {options.plan, options.rows, options.orders.slot_count, options.orders.cohort_max}))
    send(work_.offer(news, seat_.exchange.id_of(keeper_process()), seat_.now()));
}

void keeping::on_sheet(const result_sheet& news) {
  if (const auto who = orders_.lost_by(news))
    return lose_distant_trainer(*who);
  deliver(orders_.offer(news, seat_.now()));
}

void keeping::on_accepted(const tensor_name& what) {
  if (what.kind == tensor_kind::result)
    orders_.hear(what.key, seat_.now());
}

void keeping::on_arrived(const tensor_arrived& news) {
  if (!news.complete)
    return;
  if (news.of.kind == tensor_kind::result)
    deliver(orders_.finish(news.of.key));
  else if (news.of.kind == tensor_kind::order)
    for (const auto& order : work_.begin(news.of.key))
      give(order);
}

void keeping::deliver(const std::optional<order_desk::finished_order>& order) const {
  if (order)
    seat_.self->send(order->keeper, order->result);
}

// Its result comes here, and is known by the order's number.
void keeping::give(const work_desk::whole_order& order) const {
  const auto& sheet = order.sheet;
  const auto to = seat_.local.trainers[sheet.replica];
  if (sheet.evaluates)
    return seat_.self->send(to,
                            evaluation_order{caf::actor_cast<reports_actor>(seat_.self), sheet.term,
                                             sheet.first_step, order.parameters, sheet.chunks});
  seat_.self->send(to, trainer_order{sheet.task, caf::actor_cast<keeper_actor>(seat_.self),
                                     sheet.trainer, order.ticket, sheet.member, sheet.first_step,
                                     sheet.step_count, order.parameters, order.state, sheet.chunks,
                                     sheet.attempt});
}

void keeping::on_result(const trainer_result& news) {
  if (seat_.takes_part())
    send(work_.finish(news, seat_.exchange.id_of(keeper_process()), seat_.now()));
}

void keeping::send(const std::optional<result_sheet>& sheet) const {
  if (sheet && seat_.takes_part())
    seat_.tell(keeper_process(), *sheet);
}

bool keeping::spare(size_t replica) {
  if (seat_.lost_replicas.size() == seat_.local.trainers.size())
    return false;
  for (const auto& sheet : work_.lose(replica))
    send(sheet);
  return true;
}

void keeping::tick(moment now) {
  for (const auto& [to, sheet] : orders_.due(now))
    seat_.tell(to, sheet);
}

std::vector<awaited> keeping::waits(moment now, std::optional<uint64_t>) const {
  return orders_.waits(now);
}

} // namespace troupe
