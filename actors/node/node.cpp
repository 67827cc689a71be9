#include "troupe/actors/node/node.hpp"

#include "troupe/actors/base/guard.hpp"
#include "troupe/coordinators/step/placement.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

local_node_actor::behavior_type node_state::make_behavior(const node_options& options,
                                                          std::vector<replica_actor> replicas,
                                                          std::vector<shard_actor> shards) {
  options_ = options;
  replicas_ = std::move(replicas);
  shards_ = std::move(shards);
  statuses_.resize(replicas_.size());
  restarts_.resize(replicas_.size());
  asked_.resize(replicas_.size() + shards_.size());
  for (const auto& replica : replicas_)
    self_->monitor(replica);
  for (const auto& shard : shards_)
    self_->monitor(shard);
  // A type that was damaged on a wire: nobody prints, nobody ends.
  self_->set_default_handler(caf::drop);
  self_->set_down_handler([this](const caf::down_msg& news) { on_down(news); });
  self_->delayed_send(self_, node_tick_interval, atom::tick_v);
  return {
    [this](uint64_t incarnation, const director_link_actor& director) {
      on_director(incarnation, director);
    },
    [this](const std::string& who, uint64_t incarnation, const node_actor& actor) {
      on_peer(who, incarnation, actor);
    },
    [this](const cluster_view& news) { on_cluster_view(news); },
    [this](const course& news) { on_course(news); },
    [this](const hold_request& news) { on_hold_request(news); },
    [this](const gradient_piece& news) { on_gradient_piece(news); },
    [this](const state_piece& news) { on_state_piece(news); },
    [this](const shard_numbers& news) { on_shard_numbers(news); },
    [this](const block_norms& news) { on_block_norms(news); },
    [this](const want& news) { on_want(news); },
    [this](const credit& news) { on_credit(news); },
    [this](const link_stamp& news) { on_link_stamp(news); },
    [this](const order_sheet& news) { on_order_sheet(news); },
    [this](const result_sheet& news) { on_result_sheet(news); },
    [this](const parcel_piece& news) { on_parcel_piece(news); },
    [this](const distant_order& order) { on_distant_order(order); },
    [this](const trainer_result& news) { send_result(work_.finish(news)); },
    [this](const contribution& news) { on_contribution(news); },
    [this](const parameter_span& news) { on_parameter_span(news); },
    [this](atom::held, uint64_t replica, uint64_t round, uint64_t next_step) {
      on_held(replica, round, next_step);
    },
    [this](const shard_copy& news) { on_shard_copy(news); },
    [this](const training_report& news) { on_training_report(news); },
    [this](const evaluation& news) { on_evaluation(news); },
    [this](const not_finite_report& news) { on_not_finite(news); },
    [this](atom::tick) { on_tick(); },
  };
}

void node_state::on_director(uint64_t incarnation, const director_link_actor& director) {
  director_ = director;
  to_director_ = {incarnation, options_.credit_bytes, options_.piece_elements};
  self_->monitor(director);
  // A view that names this life of the process may have been faster than this message.
  if (std::exchange(options_.self.incarnation, incarnation) != incarnation && view_.id.term > 0)
    adopt(cluster_view{view_});
  report();
}

void node_state::on_peer(const std::string& who, uint64_t incarnation, const node_actor& actor) {
  peers_[who] = {incarnation, actor, {incarnation, options_.credit_bytes, options_.piece_elements}};
  self_->monitor(actor);
  // Else somebody might be taken out for want of a link that is there.
  if (std::ranges::find(unreachable_, who) != unreachable_.end())
    report();
}

// A lost link changes nothing by itself: what was lost with it is asked for when it matters, and
// who is out is the director's to say. A lost actor of its own ends this process's part, but for a
// keeper's trainers, as long as one is left.
void node_state::on_down(const caf::down_msg& news) {
  const auto is_it = [&](const auto& actor) { return actor.address() == news.source; };
  if (const auto found = std::ranges::find_if(replicas_, is_it); found != replicas_.end()) {
    const auto index = found - replicas_.begin();
    if (!can_spare(static_cast<size_t>(index)))
      lose("replica", index, news.reason);
    return;
  }
  if (const auto found = std::ranges::find_if(shards_, is_it); found != shards_.end())
    return lose("shard", found - shards_.begin(), news.reason);
  if (director_ && director_.address() == news.source)
    director_ = nullptr;
  std::erase_if(peers_,
                [&](const auto& entry) { return entry.second.actor.address() == news.source; });
}

bool node_state::can_spare(size_t replica) {
  lost_replicas_.insert(replica);
  if (!options_.kept || lost_replicas_.size() == replicas_.size())
    return false;
  for (const auto& sheet : work_.lose(replica))
    send_result(sheet);
  return true;
}

void node_state::lose(const std::string& what, std::ptrdiff_t index, const caf::error& reason) {
  self_->quit(caf::make_error(caf::sec::runtime_error,
                              what + " " + std::to_string(index) + " was lost" +
                                (lost_replicas_.size() > 1 ? ", the last that was left: " : ": ") +
                                reason_text(self_->system(), reason)));
}

void node_state::on_tick() {
  self_->delayed_send(self_, node_tick_interval, atom::tick_v);
  const auto now = self_->clock().now();
  if (marches() && takes_part()) {
    ask_for_parameters(now);
    ask_for_gradients(now);
    ask_for_norms(now);
  }
  if (options_.kept && takes_part())
    ask_for_parcels(now);
  ask_for_state(now);
  flow_everywhere();
  if (results_clock_.due(now))
    repeat_results();
  if (report_is_due_) // who computes is not waited for
    report();
  else if (now - last_report_ >=
           (unreachable_.empty() ? node_report_interval : broken_link_interval))
    report_soon();
}

void node_state::on_gradient_piece(const gradient_piece& news) {
  acknowledge(news.stamp);
  if (!takes_part() || news.term != view_.id.term || !news.values.intact())
    return;
  for (auto& desk : desks_) {
    if (!desk.span().contains(news.first_element))
      continue;
    const auto verdict = desk.offer(news);
    if (verdict.verdict == shard_desk::piece_verdict::conflict) {
      not_finite_report conflict;
      conflict.term = view_.id.term;
      conflict.step = news.step;
      conflict.what = "two different gradients of slice " + std::to_string(news.node.begin);
      conflict.problem = step_problem::conflict;
      conflict.has_slice = true;
      conflict.slice = news.node.begin;
      conflict.replica = news.replica;
      return on_not_finite(conflict);
    }
    if (verdict.verdict == shard_desk::piece_verdict::accepted)
      desk.gradients_clock.restart(self_->clock().now());
    if (verdict.whole)
      self_->send(shards_[desk.local], *verdict.whole);
  }
}

// A local shard owns a version: others want it, and so do the replicas here.
void node_state::on_parameter_span(const parameter_span& news) {
  if (!takes_part() || news.term != view_.id.term)
    return;
  const auto desk = std::ranges::find(desks_, news.shard, &shard_desk::shard);
  if (desk == desks_.end())
    return;
  const bool is_new = !desk->versions.contains(news.version);
  desk->advance(news.version, news.values);
  const auto now = self_->clock().now();
  desk->gradients_clock.restart(now);
  desk->norms_clock.restart(now);
  if (is_new)
    for (size_t i = 0; i < view_.members.size(); ++i)
      if (i != *me_ && view_.computes(i))
        post(view_.members[i].name, {piece_kind::state, news.version, {}, 0, desk->span().begin},
             desk->span(), urgency::training, false);
  if (computes() && gathering_.offer(news.version, desk->span()) == gather_verdict::accepted) {
    auto& here = gathered_[news.version];
    if (!here)
      here = versions_->of(news.version);
    if (!here.same_storage(news.values.storage()))
      std::ranges::copy(news.values.values(),
                        here.values().begin() + static_cast<std::ptrdiff_t>(desk->span().begin));
    parameters_clock_.restart(now);
    tell_whole_version();
  }
}

void node_state::on_state_piece(const state_piece& news) {
  acknowledge(news.stamp);
  const auto values = news.values.values();
  const auto count = options_.network->layout().size();
  if (!takes_part() || news.term != view_.id.term || !news.values.intact() || values.empty() ||
      news.first_element >= count || values.size() > count - news.first_element)
    return;
  const auto now = self_->clock().now();
  if (restoring_) {
    auto parameters = versions_->of(restoring_->version());
    if (restoring_->offer(news, parameters))
      restoring_clock_.restart(now);
    if (restoring_->is_whole())
      start_shards();
  }
  const index_range elements{news.first_element, news.first_element + values.size()};
  const bool is_local = std::ranges::any_of(
    desks_, [&](const shard_desk& desk) { return !common_part(desk.span(), elements).empty(); });
  if (news.slot != 0 || is_local || !computes() ||
      gathering_.offer(news.version, elements) != gather_verdict::accepted)
    return;
  auto& here = gathered_[news.version];
  if (!here)
    here = versions_->of(news.version);
  std::ranges::copy(values, here.values().begin() + static_cast<std::ptrdiff_t>(elements.begin));
  parameters_clock_.restart(now);
  tell_whole_version();
}

void node_state::on_shard_numbers(const shard_numbers& news) {
  if (!restoring_)
    return;
  restoring_->offer(news);
  if (restoring_->is_whole())
    start_shards();
}

// A local shard's share goes out, another's comes in: the blocks tell which.
void node_state::on_block_norms(const block_norms& news) {
  if (!takes_part())
    return;
  const auto element = news.first_block * block_size;
  const bool is_local = std::ranges::any_of(
    desks_, [&](const shard_desk& desk) { return desk.span().contains(element); });
  if (!is_local) {
    for (const auto& desk : desks_)
      self_->send(shards_[desk.local], news);
    return;
  }
  auto& shares = norms_[news.step];
  if (std::ranges::find(shares, news) == shares.end())
    shares.push_back(news);
  while (norms_.size() > 2)
    norms_.erase(norms_.begin());
  for (auto& desk : desks_)
    desk.norms_clock.restart(self_->clock().now());
  for (size_t i = 0; i < view_.members.size(); ++i)
    if (i != *me_ && view_.holds_spans(i))
      send_to(view_.members[i].name, news);
}

void node_state::on_shard_copy(const shard_copy& news) {
  const auto desk = std::ranges::find(desks_, news.shard, &shard_desk::shard);
  if (desk == desks_.end() || news.numbers.first_element != desk->span().begin ||
      news.parameters.values().size() != desk->span().size())
    return; // of an earlier term
  desk->keep_copy(news);
  want all;
  all.kind = want_kind::checkpoint;
  all.version = news.version;
  all.elements = {desk->span()};
  answer_checkpoint(all);
}

// Results are kept until the director's course says that they arrived.
void node_state::on_training_report(const training_report& news) {
  kept_version_ = options_.kept ? news.version : 0;
  if (news.is_row)
    rows_[news.version] = news;
  else if (news.is_mark)
    marks_[news.version] = news;
  results_clock_.restart(self_->clock().now());
  if (director_)
    self_->send(director_, news);
}

void node_state::on_evaluation(const evaluation& news) {
  evaluations_[{news.version, news.first_chunk}] = news;
  results_clock_.restart(self_->clock().now());
  if (director_)
    self_->send(director_, news);
  send_result(work_.finish(news));
}

void node_state::on_not_finite(const not_finite_report& news) {
  not_finite_ = news;
  results_clock_.restart(self_->clock().now());
  if (director_)
    self_->send(director_, news);
}

local_node_actor::behavior_type node(self_pointer<local_node_actor, node_state> self,
                                     const node_options& options,
                                     const std::vector<replica_actor>& replicas,
                                     const std::vector<shard_actor>& shards) {
  guard(self);
  return self->state.make_behavior(options, replicas, shards);
}

} // namespace troupe
