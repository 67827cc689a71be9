// Orders of a keeper to trainers of other processes, on both ends of the wire: the keeper's node
// sends orders and puts results together (order_desk.hpp), a trainer's the other way
// (work_desk.hpp).

#include "troupe/actors/node/node.hpp"
#include "troupe/actors/orders/distant_trainer.hpp"

#include <caf/actor_cast.hpp>

namespace troupe {

// The keeper's life begins anew with a term, and so do the numbers of its orders.
void node_state::begin_orders() {
  orders_ = {view_.id.term, options_.parameters};
  work_ = {view_.id.term, options_.parameters};
  for (const auto replica : lost_replicas_)
    work_.lose(replica);
  for (const auto& [who, actor] : distant_)
    self_->send_exit(actor, caf::exit_reason::user_shutdown);
  distant_.clear();
}

void node_state::meet_distant_trainers() {
  if (!keeper_is_here())
    return;
  std::map<trainer_life, trainer_actor> here;
  for (const auto& place : view_.replicas) {
    if (place.member == *me_)
      continue;
    const auto who = life_of(place);
    if (lost_trainers_.contains(who))
      continue;
    const auto known = distant_.find(who);
    here[who] = known != distant_.end()
                  ? known->second
                  : self_->spawn(distant_trainer, who, caf::actor_cast<local_node_actor>(self_));
  }
  for (const auto& [who, actor] : distant_)
    if (!here.contains(who))
      self_->send_exit(actor, caf::exit_reason::user_shutdown);
  distant_ = std::move(here);
  forget_orders_of_the_lost();
}

void node_state::forget_orders_of_the_lost() {
  orders_.keep_if([this](const trainer_life& who) { return distant_.contains(who); });
}

replica_actor node_state::replica_at(const replica_place& place) const {
  if (me_ && place.member == *me_)
    return replicas_[place.index];
  const auto distant = distant_.find(life_of(place));
  return distant == distant_.end() ? replica_actor{}
                                   : caf::actor_cast<replica_actor>(distant->second);
}

trainer_life node_state::life_of(const replica_place& place) const {
  const auto& owner = view_.members[place.member];
  return {owner.name, owner.incarnation, place.index};
}

const std::string& node_state::keeper_process() const {
  return view_.members[view_.shards.front().member].name;
}

void node_state::on_distant_order(const distant_order& order) {
  if (!distant_.contains(order.who))
    return; // lost meanwhile, and the keeper is about to hear of it
  const auto sheet = orders_.open(order, self_->clock().now());
  send_to(order.who.process, sheet);
  post_vectors(order.who.process, {piece_kind::order, sheet.number, {}, 0, 0}, sheet.vector_count,
               {{0, sheet.vector_count * options_.network->layout().size()}}, false);
}

// The elements of `ranges`, which go through all vectors.
void node_state::post_vectors(const std::string& to, piece_name what, uint64_t vector_count,
                              const std::vector<index_range>& ranges, bool again) {
  const auto size = options_.network->layout().size();
  for (what.slot = 0; what.slot < vector_count; ++what.slot)
    for (const auto& range : ranges)
      post(to, what, parcel_gathering::part_in(range, what.slot, size), urgency::training, again);
}

void node_state::on_order_sheet(const order_sheet& news) {
  if (!takes_part() || news.replica >= replicas_.size() ||
      !is_possible(news, {options_.plan, options_.rows, options_.slot_count}))
    return;
  if (const auto result = work_.offer(news, self_->clock().now()))
    send_to(keeper_process(), *result);
}

void node_state::on_parcel_piece(const parcel_piece& news) {
  acknowledge(news.stamp);
  if (!takes_part())
    return;
  const auto now = self_->clock().now();
  if (news.is_result)
    deliver(orders_.offer(news, now));
  else
    for (const auto& order : work_.offer(news, now))
      give(order);
}

void node_state::on_result_sheet(const result_sheet& news) {
  if (const auto who = orders_.lost_by(news))
    return lose_distant_trainer(*who);
  deliver(orders_.offer(news, self_->clock().now()));
}

// Its process goes on with its other trainers. The keeper hears of it as of the end of any trainer.
void node_state::lose_distant_trainer(const trainer_life& who) {
  lost_trainers_.insert(who);
  if (const auto found = distant_.find(who); found != distant_.end())
    self_->send_exit(found->second, caf::exit_reason::user_shutdown);
  distant_.erase(who);
  forget_orders_of_the_lost();
}

void node_state::deliver(const std::optional<order_desk::finished_order>& order) {
  if (order)
    self_->send(order->keeper, order->result);
}

// Its result comes here, and is known by the order's number.
void node_state::give(const work_desk::whole_order& order) {
  const auto& sheet = order.sheet;
  const auto to = caf::actor_cast<trainer_actor>(replicas_[sheet.replica]);
  if (sheet.evaluates)
    return self_->send(to, evaluation_order{caf::actor_cast<reports_actor>(self_), sheet.term,
                                            sheet.first_step, order.parameters, sheet.chunks});
  self_->send(to, trainer_order{sheet.task, caf::actor_cast<keeper_actor>(self_), sheet.trainer,
                                sheet.number, sheet.member, sheet.first_step, sheet.step_count,
                                order.parameters, order.state});
}

void node_state::send_result(const std::optional<result_sheet>& sheet) {
  if (!sheet || !takes_part())
    return;
  send_to(keeper_process(), *sheet);
  post_vectors(keeper_process(), {piece_kind::result, sheet->number, {}, 0, 0}, sheet->vector_count,
               {{0, sheet->vector_count * options_.network->layout().size()}}, false);
}

void node_state::answer_parcels(const want& news) {
  if (news.kind == want_kind::results)
    return post_vectors(news.asker, {piece_kind::result, news.version, {}, 0, 0},
                        work_.vector_count(news.version), news.elements, true);
  const auto order = orders_.address_of(news.version);
  if (order && order->process == news.asker)
    post_vectors(news.asker, {piece_kind::order, news.version, {}, 0, 0}, order->vector_count,
                 news.elements, true);
}

void node_state::ask_for_parcels(moment now) {
  for (const auto& [to, what] : orders_.due(now)) {
    if (const auto* sheet = std::get_if<order_sheet>(&what))
      send_to(to, *sheet);
    else
      ask(to, std::get<want>(what));
  }
  for (const auto& question : work_.due(now))
    ask(keeper_process(), question);
}

std::optional<payload> node_state::kept_vector(const piece_name& what) const {
  return what.kind == piece_kind::order ? orders_.kept(what.version, what.slot)
                                        : work_.kept(what.version, what.slot);
}

} // namespace troupe
