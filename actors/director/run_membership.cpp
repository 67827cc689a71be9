#include "actors/director/run_membership.hpp"

#include "actors/base/guard.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace troupe {

namespace {

failure
deadly_failure(const deadly_work& what,
               const std::function<std::string(uint64_t, const std::vector<size_t>&)>& rows) {
  std::string slices, names;
  for (const auto slice : what.slices)
    slices += (slices.empty() ? "" : ", ") + std::to_string(slice);
  for (const auto& name : what.names)
    names += (names.empty() ? "" : ", ") + name;
  return {failure_code::bad_data,
          "step " + std::to_string(what.step) + ", slice " + slices + ": all of the " +
            std::to_string(what.names.size()) +
            " processes that had it were lost, one after the other: " + names,
          rows ? rows(what.step, what.slices) : "",
          "look for what these processes said last; leave such a row out, or set runtime.attempts"};
}

// What a term that begins undoes of the steps that were heard of.
std::string steps_again(const publish& news, uint64_t done) {
  const auto start = news.view.start_version;
  return news.restarts && done > start ? " (" + std::to_string(done - start) + " steps again)" : "";
}

} // namespace

// ---- Events ----

void run_membership::begin(uint64_t checkpoint_version) {
  const auto now = seat_.now();
  auto options = seat_.options.membership;
  options.checkpoint_version = checkpoint_version;
  rule_.emplace(std::move(options), now);
  for (const auto& [who, link] : std::map{seat_.links})
    carry_out(rule_->on_joined(link.who, now));
  carry_out(rule_->on_tick(now));
}

void run_membership::on_member(const member& who, const node_actor& way) {
  seat_.self->monitor(way);
  seat_.links[who.name] = {who, way};
  seat_.exchange.open(seat_.exchange.id_of(who.name), who.incarnation, way, true);
  roster_.on_link(who.name, seat_.now());
  lost_.on_joined(who);
  if (rule_ && !seat_.finished)
    carry_out(rule_->on_joined(who, seat_.now()));
}

void run_membership::on_down(const caf::down_msg& news) {
  const auto found = std::ranges::find_if(
    seat_.links, [&](const auto& entry) { return entry.second.way.address() == news.source; });
  if (found == seat_.links.end())
    return;
  const auto who = found->second.who;
  seat_.links.erase(found);
  seat_.exchange.close(seat_.exchange.id_of(who.name));
  roster_.on_link_lost(who.name, rule_ && !seat_.finished ? replicas_in_view(who) : 0);
  if (seat_.finished)
    return;
  // The only process is this one: nobody will come instead.
  if (seat_.is_alone() && seat_.options.membership.home == who.name)
    return seat_.fail(loss_failure(seat_.self->system(), news.reason));
  if (!rule_)
    return;
  lost_.on_lost(who, seat_.now());
  carry_out(rule_->on_lost(who.name, who.incarnation, seat_.now()));
  to_.on_heard();
}

uint64_t run_membership::replicas_in_view(const member& who) const {
  const auto index = seat_.view.find(who.name);
  const bool is_in = index && seat_.view.members[*index].incarnation == who.incarnation;
  return is_in ? seat_.view.members[*index].replica_count : 0;
}

void run_membership::on_report(const node_report& news) {
  const auto found = seat_.links.find(news.name);
  if (seat_.finished || !rule_ || found == seat_.links.end() ||
      found->second.who.incarnation != news.incarnation)
    return;
  if (news.view.term > seat_.term())
    return carry_out(rule_->on_term_seen(news.view.term));
  const auto now = seat_.now();
  const auto change = roster_.on_report(news, now);
  watch_.on_report(change, news.work, now);
  roster_.sample_pace(seat_.view, seat_.options.membership.split, now);
  if (seat_.options.on_clock && news.clock.course_sent > 0)
    seat_.options.on_clock(news.name, news.clock, nanoseconds_of(now));
  lost_.on_report(news.name, news.view, news.left, news.version());
  rule_->on_fitness(news.name, watch_.hangs(news.work));
  for (const auto& peer : news.unreachable)
    carry_out(rule_->on_unreachable(news.name, peer, now));
  for (const auto& peer : change.reachable)
    carry_out(rule_->on_reachable(news.name, peer, now));
  if (news.view < seat_.view.id && seat_.view.find(news.name))
    seat_.self->send(found->second.way, seat_.view);
  to_.on_heard();
}

void run_membership::take_out(const hung_process& one) {
  carry_out(rule_->on_hung(one.who, one.why, seat_.now()));
}

void run_membership::on_standstill(const std::string& why) {
  carry_out(rule_->on_standstill(why, seat_.now()));
}

view_number run_membership::view_for_people() const {
  auto result = seat_.view.id;
  result.term -= first_term_ ? *first_term_ - 1 : 0;
  return result;
}

// ---- Decisions ----

void run_membership::carry_out(const membership_decisions& decisions) {
  for (const auto& decision : decisions)
    if (!seat_.finished)
      std::visit([this](const auto& x) { carry_out(x); }, decision);
}

void run_membership::carry_out(const persist_term& decision) {
  writes_.write_term(decision.term, [this, term = decision.term](const write_outcome& outcome) {
    if (outcome.problem)
      seat_.fail(*outcome.problem);
    else if (!seat_.finished)
      carry_out(rule_->on_term_persisted(term));
  });
}

void run_membership::carry_out(const publish& decision) {
  if (lost_.in_doubt(seat_.now())) {
    const bool restarts = decision.restarts || (held_back_ && held_back_->restarts);
    held_back_ = publish{decision.view, restarts, decision.reason};
    waiting_ =
      wait_for{{}, seat_.now(), "waiting for those who were lost at one step: " + decision.reason};
    return;
  }
  seat_.view = decision.view;
  seat_.view.is_careful = lost_.is_careful();
  lost_.on_view(seat_.view);
  roster_.on_view(seat_.view);
  watch_.on_view(seat_.now());
  waiting_.reset();
  ++view_count_;
  if (decision.restarts) {
    roll_back_count_ += first_term_ ? 1 : 0;
    first_term_ = first_term_.value_or(seat_.term());
  }
  announcer_.send_view();
  tell_turned_away();
  if (!seat_.is_alone())
    seat_.tell(decision.reason + steps_again(decision, seat_.last_progress.version));
  to_.on_view(decision);
}

void run_membership::tick(moment now) {
  carry_out(rule_->on_tick(now));
  if (!seat_.finished)
    settle_doubt(now);
}

void run_membership::settle_doubt(moment now) {
  if (const auto found = lost_.verdict(now))
    return seat_.fail(deadly_failure(*found, seat_.options.rows));
  if (held_back_ && !lost_.in_doubt(now))
    carry_out(*std::exchange(held_back_, std::nullopt));
}

// It finds out by itself: a view comes that does not name it. That view may be yet to be published.
void run_membership::carry_out(const turn_away& decision) {
  turned_away_[decision.name] = decision.incarnation;
  tell_turned_away();
}

void run_membership::tell_turned_away() {
  for (const auto& [who, incarnation] : std::map{turned_away_}) {
    const auto way = seat_.links.find(who);
    const bool is_here = way != seat_.links.end() && way->second.who.incarnation == incarnation;
    const auto place = seat_.view.find(who);
    if (is_here && place && seat_.view.members[*place].incarnation == incarnation)
      continue;
    if (is_here)
      seat_.self->send(way->second.way, seat_.view);
    turned_away_.erase(who);
  }
}

void run_membership::carry_out(const give_up& decision) {
  seat_.fail(
    {failure_code::unavailable, decision.reason, {}, "start the processes that are missing"});
}

void run_membership::carry_out(const stand_down& decision) {
  seat_.fail({failure_code::mismatch, decision.reason, {}, "end one of the two runs"});
}

} // namespace troupe
