#include "actors/node/order_work.hpp"

#include <caf/actor_cast.hpp>

#include <algorithm>

namespace troupe {

void order_work::begin_term() {
  begin_orders();
  meet_distant_trainers();
  begin_replicas();
}

void order_work::on_view(const cluster_view& before, size_t me_before) {
  meet_distant_trainers();
  node_work::on_view(before, me_before);
}

// A parameter server begins anew with a term, and so do the numbers of its orders.
void order_work::begin_orders() {
  orders_.begin_term(context_.view.id.term);
  work_.begin_term(context_.view.id.term);
  for (const auto& [who, actor] : context_.distant)
    end(actor);
  context_.distant.clear();
}

void order_work::end(const order_taker_actor& distant) const {
  context_.self->send_exit(distant, caf::exit_reason::user_shutdown);
}

void order_work::meet_distant_trainers() {
  if (spans_.all().empty())
    return;
  std::map<trainer_life, order_taker_actor> here;
  for (const auto& place : context_.view.replicas) {
    const auto who = context_.life_of(place);
    if (context_.is_mine(place) || lost_trainers_.contains(who))
      continue;
    const auto known = context_.distant.find(who);
    here[who] = known != context_.distant.end() ? known->second
                                                : context_.options.stand_in(context_.self, who);
  }
  for (const auto& [who, actor] : context_.distant)
    if (!here.contains(who))
      end(actor);
  context_.distant = std::move(here);
  forget_orders_of_the_lost();
}

void order_work::forget_orders_of_the_lost() {
  orders_.keep_if([this](const trainer_life& who) { return context_.distant.contains(who); });
}

// The trainer's process goes on with its other trainers. The parameter server gets a down message
// as for any trainer.
void order_work::lose_distant_trainer(const trainer_life& who) {
  lost_trainers_.insert(who);
  if (const auto found = context_.distant.find(who); found != context_.distant.end())
    end(found->second);
  context_.distant.erase(who);
  forget_orders_of_the_lost();
}

const std::string& order_work::server_process() const {
  return context_.owner_of(context_.view.shards.front());
}

// The node learns a parameter server's versions only from its reports.
void order_work::on_report(const training_report& news) {
  for (auto& one : spans_.all())
    if (news.term == context_.view.id.term)
      one.version = std::max(one.version, news.version);
}

void order_work::on_distant_order(const distant_order& order) {
  // Else the trainer is lost: the parameter server will get its down message.
  if (context_.distant.contains(order.who))
    context_.tell(order.who.process, orders_.open(order, context_.now()));
}

void order_work::on_header(const order_header& news) {
  const auto& options = context_.options;
  if (context_.takes_part() && news.replica < context_.local.trainers.size() &&
      is_possible(news, {options.plan, options.rows, options.orders.slot_count,
                         options.orders.cohort_max, options.orders.own_start})) {
    send(work_.offer(news, context_.exchange.id_of(server_process()), context_.now()));
    early_.offer(context_.exchange, context_.now(),
                 [this](const tensor_name& name) { return work_.is_over(name); });
    give(work_.begin_whole(news.replica));
  }
}

// Pieces may overtake the header that they belong to.
void order_work::on_early(peer_id from, const tensor_piece& news) {
  if ((news.of.kind == tensor_kind::order || news.of.kind == tensor_kind::model) &&
      !work_.is_over(news.of))
    early_.keep(from, news);
}

void order_work::on_header(const result_header& news) {
  if (const auto who = orders_.lost_by(news))
    return lose_distant_trainer(*who);
  deliver(orders_.offer(news, context_.now()));
}

void order_work::on_accepted(const tensor_name& what) {
  if (what.kind == tensor_kind::result)
    orders_.hear(what.key, context_.now());
}

void order_work::on_arrived(const tensor_arrived& news) {
  if (!news.complete)
    return;
  if (news.of.kind == tensor_kind::result)
    deliver(orders_.finish(news.of.key));
  else
    give(work_.begin(news.of.kind, news.of.key));
}

void order_work::deliver(const std::optional<order_queue::finished_order>& order) const {
  if (order)
    context_.self->send(order->server, order->result);
}

// The trainer answers to this node, which finds the order by its ticket.
void order_work::give(const std::vector<work_queue::whole_order>& orders) const {
  for (const auto& [header, ticket, parameters, state] : orders) {
    const auto to = context_.local.trainers[header.replica];
    if (header.evaluates)
      context_.self->send(to, evaluation_order{caf::actor_cast<reports_actor>(context_.self),
                                               header.term,
                                               header.first_step,
                                               {*header.model, parameters},
                                               header.chunks});
    else
      context_.self->send(
        to, trainer_order{header.task, caf::actor_cast<server_actor>(context_.self), header.trainer,
                          ticket, header.member, header.first_step, header.step_count, parameters,
                          header.model, state, header.chunks, header.attempt});
  }
}

void order_work::on_result(const trainer_result& news) {
  if (context_.takes_part())
    send(work_.finish(news, context_.exchange.id_of(server_process()), context_.now()));
}

void order_work::send(const std::optional<result_header>& header) const {
  if (header && context_.takes_part())
    context_.tell(server_process(), *header);
}

bool order_work::spare(size_t replica) {
  if (context_.lost_replicas.size() == context_.local.trainers.size())
    return false;
  for (const auto& header : work_.lose(replica))
    send(header);
  return true;
}

void order_work::tick(moment now) {
  for (const auto& [to, header] : orders_.due(now))
    context_.tell(to, header);
}

std::vector<awaited> order_work::waits(moment now, std::optional<uint64_t>) const {
  return orders_.waits(now);
}

} // namespace troupe
