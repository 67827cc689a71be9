// The director and the processes: who takes part, views and terms, courses and holds.

#include "troupe/actors/director/director.hpp"

#include "troupe/actors/base/guard.hpp"
#include "troupe/data/checkpoint/checkpoint_store.hpp"

#include <algorithm>

namespace troupe {

namespace {

/// Nothing when the row was not evaluated and training losses are not what is watched.
std::optional<double> watched_loss(const history_row& row, const evaluation_rows& rows) {
  return rows.validation > 0 ? row.validation_loss
         : rows.test > 0     ? row.test_loss
                             : std::optional{row.train_loss};
}

} // namespace

template <class T>
void director_state::send_to_members(const T& news) {
  for (const auto& who : view_.members)
    if (const auto found = links_.find(who.name);
        found != links_.end() && found->second.who.incarnation == who.incarnation)
      self_->send(found->second.way, news);
}

template void director_state::send_to_members(const cluster_view&);
template void director_state::send_to_members(const course&);
template void director_state::send_to_members(const hold_request&);

void director_state::on_member(const member& who, const node_actor& way) {
  self_->monitor(way);
  links_[who.name] = {who, way, self_->clock().now()};
  exchange_.open(exchange_.id_of(who.name), who.incarnation, way, true);
  reports_.erase(who.name);
  if (membership_ && !finished_)
    carry_out(membership_->on_joined(who, self_->clock().now()));
}

void director_state::on_down(const caf::down_msg& news) {
  const auto found = std::ranges::find_if(
    links_, [&](const auto& entry) { return entry.second.way.address() == news.source; });
  if (found == links_.end())
    return;
  const auto who = found->second.who;
  const auto known_lost = reports_[who.name].news.replicas_lost;
  links_.erase(found);
  exchange_.close(exchange_.id_of(who.name));
  reports_.erase(who.name);
  if (finished_)
    return;
  // The only process is this one: nobody will come instead.
  if (options_.membership.expected.size() == 1 && options_.membership.home == who.name)
    return fail(failure_code::internal, reason_text(self_->system(), news.reason));
  if (!membership_)
    return;
  const auto index = view_.find(who.name);
  if (index && view_.members[*index].incarnation == who.incarnation)
    result_.replicas_lost += view_.members[*index].replica_count -
                             std::min<uint64_t>(known_lost, view_.members[*index].replica_count);
  carry_out(membership_->on_lost(who.name, who.incarnation, self_->clock().now()));
  finish_when_complete();
}

void director_state::on_node_report(const node_report& news) {
  const auto found = links_.find(news.name);
  if (finished_ || !membership_ || found == links_.end() ||
      found->second.who.incarnation != news.incarnation)
    return;
  const auto now = self_->clock().now();
  if (news.view.term > term())
    return carry_out(membership_->on_term_seen(news.view.term));
  auto& last = reports_[news.name];
  const bool moved = last.news.held != news.held || last.news.shard_versions != news.shard_versions;
  if (moved)
    moved_ = now;
  // What is sent for the first time is on its way to somebody who does not have it.
  if (moved || (last.news.bytes_sent != news.bytes_sent && last.news.resends == news.resends))
    watch_.on_moved(now);
  watch_.on_report(news.work, now);
  membership_->on_fitness(news.name, watch_.hangs(news.work, works_on_stop()));
  last.at = now;
  const auto before = last.news.unreachable;
  result_.replicas_lost +=
    news.replicas_lost - std::min(last.news.replicas_lost, news.replicas_lost);
  last.news = news;
  for (const auto& peer : news.unreachable)
    carry_out(membership_->on_unreachable(news.name, peer, now));
  for (const auto& peer : before)
    if (std::ranges::find(news.unreachable, peer) == news.unreachable.end())
      carry_out(membership_->on_reachable(news.name, peer, now));
  if (news.view < view_.id && view_.find(news.name))
    self_->send(found->second.way, view_);
  finish_when_complete();
}

void director_state::on_hold_answer(const hold_answer& news) {
  const auto last = options_.rule.plan.last_version();
  const bool exists = news.next_step <= last &&
                      std::ranges::all_of(news.shard_versions, [=](auto x) { return x <= last; });
  if (!finished_ && exists)
    carry_out(hold_.on_held(news));
}

void director_state::carry_out(const membership_decisions& decisions) {
  for (const auto& decision : decisions)
    if (!finished_)
      std::visit([this](const auto& x) { carry_out(x); }, decision);
}

void director_state::carry_out(const persist_term& decision) {
  try {
    if (options_.checkpoints)
      options_.checkpoints->write_term(decision.term);
  } catch (const failure& problem) {
    return fail(problem.code(), problem.reason(), problem.where(), problem.hint());
  }
  carry_out(membership_->on_term_persisted(decision.term));
}

void director_state::carry_out(const publish& decision) {
  view_ = decision.view;
  for (const auto& who : view_.members)
    took_part_.insert(who.name);
  waiting_.reset();
  ++result_.views;
  repeated_ = moved_ = self_->clock().now();
  watch_.on_moved(moved_);
  send_to_members(view_);
  tell_turned_away();
  if (options_.membership.expected.size() > 1)
    tell(decision.reason);
  if (decision.restarts)
    begin_term();
  else
    send_to_members(current_course());
  carry_out(hold_.on_view(view_));
}

void director_state::carry_out(const wait_for& decision) {
  waiting_ = decision;
}

// It finds out by itself: a view comes that does not name it. That view may be yet to be published.
void director_state::carry_out(const turn_away& decision) {
  turned_away_[decision.name] = decision.incarnation;
  tell_turned_away();
}

void director_state::tell_turned_away() {
  for (const auto& [who, incarnation] : std::map{turned_away_}) {
    const auto way = links_.find(who);
    const bool is_here = way != links_.end() && way->second.who.incarnation == incarnation;
    const auto place = view_.find(who);
    if (is_here && place && view_.members[*place].incarnation == incarnation)
      continue;
    if (is_here)
      self_->send(way->second.way, view_);
    turned_away_.erase(who);
  }
}

void director_state::carry_out(const give_up& decision) {
  fail(failure_code::unavailable, decision.reason, {}, "start the processes that are missing");
}

void director_state::carry_out(const stand_down& decision) {
  fail(failure_code::mismatch, decision.reason, {}, "end one of the two runs");
}

void director_state::carry_out(const hold_decisions& decisions) {
  for (const auto& decision : decisions)
    std::visit([this](const auto& x) { carry_out(x); }, decision);
}

void director_state::carry_out(const ask_to_hold&) {
  hold_request_ = hold_request{term(), ++sequence_};
  send_to_members(*hold_request_);
}

void director_state::carry_out(const stop_at& decision) {
  hold_request_.reset();
  carry_out(rule_->on_stop_named(decision.version));
}

// Everything since the checkpoint is undone; what is still in flight is of an earlier term, or
// right.
void director_state::begin_term() {
  result_.rollbacks += view_.id.term > first_term_.value_or(view_.id.term) ? 1 : 0;
  first_term_ = first_term_.value_or(view_.id.term);
  ending_ = false;
  parameters_.reset();
  exchange_->begin_term(term());
  drafts_->begin_term(owners());
  hold_request_.reset();
  report_seconds_.clear();
  best_parameters_ = {};
  history_.clear();
  seconds_before_ = row_seconds_ = 0;
  version_ = view_.start_version;
  if (view_.start_version > 0) {
    remember_checkpoint();
    hand_out_checkpoint();
  } else
    rule_.emplace(options_.rule);
  if (stop_asked_) // then the end is here
    carry_out(rule_->on_stop_requested());
  carry_out(rule_->start());
}

void director_state::remember_checkpoint() {
  auto before = *checkpoint_; // a few references and the rows
  keep_rows_of_undisturbed_run(before);
  history_ = std::move(before.history);
  seconds_before_ = row_seconds_ = checkpoint_->seconds;
  rule_.emplace(options_.rule, memory_of(*checkpoint_));
  if (rule_->kept())
    best_parameters_ = checkpoint_->best_parameters;
}

director_memory director_state::memory_of(const checkpoint& x) const {
  director_memory memory;
  memory.version = x.version;
  if (!x.history.empty()) {
    const auto& row = x.history.back();
    memory.last_row = epoch_figures{row.steps, {}, std::nullopt, std::nullopt};
    if (row.steps == x.version && options_.rule.plan.evaluates(row.steps))
      memory.last_loss = watched_loss(row, options_.rule.rows);
  }
  memory.stop = stop_rule{options_.rule.stop, x.stop.best_loss, x.stop.best_version,
                          static_cast<size_t>(x.stop.waited)};
  if (x.best_parameters)
    memory.best = best_version{x.best_version, x.best_loss};
  return memory;
}

course director_state::current_course() const {
  return {term(), sequence_, horizon_, rule_->row_version(), checkpoint_ ? checkpoint_->version : 0,
          round_};
}

void director_state::send_course() {
  ++sequence_;
  send_to_members(current_course());
}

} // namespace troupe
