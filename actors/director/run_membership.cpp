#include "actors/director/run_membership.hpp"

#include "actors/base/guard.hpp"
#include "actors/director/director_context.hpp"

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

// The number of reported steps that a new term undoes.
uint64_t steps_again(const publish& news, uint64_t done) {
  return news.restarts ? done - std::min(done, news.view.start_version) : 0;
}

/// Members that the view before did not name, in this life.
uint64_t newcomers_of(const cluster_view& view, const cluster_view& before) {
  return static_cast<uint64_t>(std::ranges::count_if(view.members, [&](const member& who) {
    const auto place = before.find(who.name);
    return !place || before.members[*place].incarnation != who.incarnation;
  }));
}

} // namespace

// ---- Events ----

void run_membership::begin(uint64_t checkpoint_version) {
  const auto now = context_.now();
  auto options = context_.options.membership;
  options.checkpoint_version = checkpoint_version;
  begun_at_ = checkpoint_version + recovery_.steps_again;
  rule_.emplace(std::move(options), now);
  for (const auto& [who, link] : std::map{context_.links}) {
    carry_out(rule_->on_joined(link.who, now));
    carry_out(rule_->on_fitness(who, {.linked = link.linked}, now));
  }
  carry_out(rule_->on_tick(now));
}

void run_membership::on_member(const member& who, const node_actor& way) {
  context_.self->monitor(way);
  context_.links[who.name] = {who, way};
  context_.exchange.open(context_.exchange.id_of(who.name), who.incarnation, way, true);
  roster_.on_link(who.name, context_.now());
  lost_.on_joined(who);
  if (rule_ && !context_.finished)
    carry_out(rule_->on_joined(who, context_.now()));
}

void run_membership::on_down(const caf::down_msg& news) {
  const auto found = std::ranges::find_if(
    context_.links, [&](const auto& entry) { return entry.second.way.address() == news.source; });
  if (found == context_.links.end())
    return;
  const auto who = found->second.who;
  context_.links.erase(found);
  context_.exchange.close(context_.exchange.id_of(who.name));
  roster_.on_link_lost(who.name, rule_ && !context_.finished ? replicas_in_view(who) : 0);
  if (context_.finished)
    return;
  // This is the only process: no other can replace it.
  if (context_.is_alone() && context_.options.membership.home == who.name)
    return context_.fail(loss_failure(context_.self->system(), news.reason));
  if (!rule_)
    return;
  lost_.on_lost(who, context_.now());
  carry_out(rule_->on_lost(who.name, who.incarnation, context_.now()));
  to_.on_heard();
}

uint64_t run_membership::replicas_in_view(const member& who) const {
  const auto index = context_.view.find(who.name);
  const bool is_in = index && context_.view.members[*index].incarnation == who.incarnation;
  return is_in ? context_.view.members[*index].replica_count : 0;
}

void run_membership::on_report(const node_report& news) {
  const auto found = context_.links.find(news.name);
  if (context_.finished || found == context_.links.end() ||
      found->second.who.incarnation != news.incarnation)
    return;
  found->second.linked = news.linked;
  if (!rule_)
    return;
  const auto now = context_.now();
  const auto& last = rule_->view(); // it may not be published yet
  const fitness how{.hangs = watch_.hangs(news.work),
                    .linked = news.linked,
                    .has_version = last && news.view.term == last->id.term && news.held,
                    .copies = news.copies,
                    .leaves = news.leaves && !watch_.is_stopping()};
  if (news.view.term > context_.term()) { // of an earlier director, as a rule
    carry_out(rule_->on_term_seen(news.view.term));
    return carry_out(rule_->on_fitness(news.name, how, now));
  }
  const auto change = roster_.on_report(news, now);
  watch_.on_report(change, news.work, now);
  roster_.sample_pace(context_.view, context_.options.membership.split, now);
  if (context_.options.on_clock && news.clock.directive_sent > 0)
    context_.options.on_clock(news.name, news.clock, nanoseconds_of(now));
  if (first_term_)
    recovery_.seconds_still += still_.add(news.gaps, *first_term_, context_.seconds_since_begin());
  const auto place = context_.view.find(news.name);
  if (place && context_.view.members[*place].incarnation == news.incarnation &&
      news.view.term == context_.term()) {
    std::vector<computed_slices> computed;
    for (const auto& one : news.replicas)
      computed.push_back(one.computed);
    computed.resize(std::min(computed.size(), context_.view.members[*place].replica_count));
    speeds_.on_report(found->second.who, computed, news.version().value_or(0), now);
  }
  lost_.on_report(news.name, news.view, news.left, news.version());
  carry_out(rule_->on_fitness(news.name, how, now));
  for (const auto& peer : news.unreachable)
    carry_out(rule_->on_unreachable(news.name, peer, now));
  for (const auto& peer : change.reachable)
    carry_out(rule_->on_reachable(news.name, peer, now));
  if (news.view < context_.view.id && context_.view.find(news.name))
    context_.self->send(found->second.way, context_.view);
  to_.on_heard();
}

void run_membership::take_out(const hung_process& one) {
  carry_out(rule_->on_hung(one.who, one.why, context_.now()));
}

void run_membership::on_standstill(const std::string& why) {
  carry_out(rule_->on_standstill(why, context_.now()));
}

recovery_figures run_membership::recovery() const {
  auto result = recovery_;
  result.replicas_lost += roster_.replicas_lost();
  result.seconds_elapsed += context_.seconds_since_begin();
  return result;
}

view_number run_membership::view_for_people() const {
  auto result = context_.view.id;
  result.term -= first_term_ ? *first_term_ - 1 : 0;
  return result;
}

// ---- Decisions ----

void run_membership::carry_out(const membership_decisions& decisions) {
  for (const auto& decision : decisions)
    if (!context_.finished)
      std::visit([this](const auto& x) { carry_out(x); }, decision);
}

void run_membership::carry_out(const persist_term& decision) {
  writes_.write_term(decision.term, [this, term = decision.term](const write_outcome& outcome) {
    if (outcome.problem)
      context_.fail(*outcome.problem);
    else if (!context_.finished)
      carry_out(rule_->on_term_persisted(term));
  });
}

void run_membership::carry_out(const ask_copies& decision) {
  for (const auto& name : decision.names)
    if (const auto found = context_.links.find(name); found != context_.links.end())
      context_.self->send(found->second.way, copies_request{decision.term, context_.term()});
}

void run_membership::carry_out(const publish& decision) {
  if (lost_.in_doubt(context_.now())) {
    const bool restarts = decision.restarts || (held_back_ && held_back_->restarts);
    const bool is_cut = decision.restarts ? decision.is_cut : held_back_ && held_back_->is_cut;
    held_back_ = publish{decision.view, restarts, decision.reason, is_cut};
    waiting_ = wait_for{
      {}, context_.now(), "waiting for those who were lost at one step: " + decision.reason};
    return;
  }
  recovery_.joins += first_term_ ? newcomers_of(decision.view, context_.view) : 0;
  context_.view = decision.view;
  context_.view.is_careful = lost_.is_careful();
  lost_.on_view(context_.view);
  roster_.on_view(context_.view);
  watch_.on_view(context_.now());
  waiting_.reset();
  ++recovery_.views;
  const auto undone = steps_again(decision, context_.last_progress.version);
  const auto made = context_.last_progress.version + recovery_.steps_again - begun_at_;
  recovery_.steps_again += undone;
  if (undone > 0)
    recovery_.seconds_again += std::max(context_.seconds_since_begin() - still_.seconds(), 0.0) *
                               static_cast<double>(undone) /
                               static_cast<double>(std::max(made, undone));
  if (decision.restarts) {
    recovery_.rollbacks += first_term_ && !decision.is_cut ? 1 : 0;
    first_term_ = first_term_.value_or(context_.term());
  }
  announcer_.send_view();
  tell_turned_away();
  if (!context_.is_alone())
    context_.tell(decision.reason +
                  (undone > 0 ? " (" + std::to_string(undone) + " steps again)" : ""));
  if (decision.restarts) // what is undone counts once, whoever is lost next
    context_.last_progress.version = decision.view.start_version;
  to_.on_view(decision);
}

void run_membership::tick(moment now) {
  carry_out(rule_->on_tick(now));
  if (!context_.finished)
    share_by_speed(now);
  if (!context_.finished)
    settle_doubt(now);
  tell_turned_away();
}

// A parameter server shares its work itself; of a split model no replica has a speed of its own.
void run_membership::share_by_speed(moment now) {
  const auto& placement = context_.options.membership;
  if (context_.is_alone() || waiting_ || placement.split.splits() || !placement.decider.empty())
    return;
  const auto wish = speeds_.due(context_.view, now);
  if (!wish)
    return;
  const auto why = wish->tried ? wish->tried->first + " is tried with a slice"
                   : wish->speeds.empty()
                     ? "slices are shared evenly again"
                     : "slices are shared by speed (" + words_of(wish->speeds) + ")";
  carry_out(rule_->on_speeds(*wish, why));
}

void run_membership::settle_doubt(moment now) {
  if (const auto found = lost_.verdict(now))
    return context_.fail(deadly_failure(*found, context_.options.here.rows));
  if (held_back_ && !lost_.in_doubt(now))
    carry_out(*std::exchange(held_back_, std::nullopt));
}

// The process learns it from a view that does not name it. That view may not be published yet; or it may never be, where
// nobody else has its rows, or its part of the model.
void run_membership::carry_out(const turn_away& decision) {
  turned_away_[decision.name] = decision.incarnation;
  recovery_.leaves += decision.has_left ? 1 : 0;
  tell_turned_away();
}

void run_membership::tell_turned_away() {
  for (const auto& [who, incarnation] : std::map{turned_away_}) {
    const auto way = context_.links.find(who);
    const bool is_here = way != context_.links.end() && way->second.who.incarnation == incarnation;
    const auto place = context_.view.find(who);
    const bool is_named = place && context_.view.members[*place].incarnation == incarnation;
    if (is_here && is_named) {
      if (waiting_)
        context_.self->send(way->second.way, given_up{incarnation});
      continue;
    }
    if (is_here)
      context_.self->send(way->second.way, context_.view);
    turned_away_.erase(who);
  }
}

void run_membership::carry_out(const stays_out& decision) {
  roster_.on_trouble(decision.name, decision.reason, context_.now());
  context_.tell(decision.name + " takes no part: it has " + decision.reason);
}

void run_membership::carry_out(const give_up& decision) {
  std::string hint = "start the processes that are missing";
  if (waiting_)
    for (const auto& name : waiting_->names)
      if (const auto why = roster_.trouble_of(name, context_.now()); !why.empty())
        hint += "; " + name + ": " + why;
  context_.fail({failure_code::unavailable, decision.reason, {}, hint});
}

void run_membership::carry_out(const stand_down& decision) {
  context_.fail({failure_code::mismatch, decision.reason, {}, "end one of the two runs"});
}

namespace {

/// In a run of one process a long wait is only a long step, which is no news.
constexpr milliseconds alone_patience{10'000};

/// Shorter silences say nothing: a process reports each second, one report may be late, and both processes may have
/// stood still for almost `own_pause`.
constexpr milliseconds silence_min = own_pause + 2 * repeat_interval;

/// A run that stands still at one version begins anew this often, then ends.
constexpr size_t standstills_max = 2;

} // namespace

run_watch::run_watch(const membership_options& options)
  : is_alone_(options.is_alone()),
    work_(options.lost_after),
    teller_(is_alone_ ? alone_patience : wait_reporter::patience_default) {}

void run_watch::on_view(moment now) {
  moved_ = now;
  work_.on_moved(now);
}

void run_watch::on_report(const report_change& change, const work_report& work, moment now) {
  if (change.moved)
    moved_ = now;
  if (change.moved || change.sent)
    work_.on_moved(now);
  work_.on_report(work, now);
}

bool run_watch::is_still(moment now) const {
  return now - moved_ >= repeat_interval;
}

std::vector<hung_process> run_watch::look_for_hung(const process_roster& roster,
                                                   const cluster_view& view, moment now) {
  std::vector<hung_process> result;
  if (now - std::exchange(last_look_, now) > own_pause) {
    work_.on_moved(now);
    return result;
  }
  if (is_alone_)
    return result;
  const auto silence_limit = stop_asked() ? silence_min
                             : is_still(now) && work_.stands_still(now)
                               ? std::max(work_.patience() / 2, silence_min)
                               : milliseconds::max();
  for (const auto& who : roster.heard(view, now)) {
    const auto* last = roster.find(who.name);
    if (last && hangs(last->news.work))
      result.push_back(
        {who.name, "its replicas have not answered for " + time_text(last->news.work.busy)});
    else if (who.silence > silence_limit)
      result.push_back({who.name, "nothing was heard of it for " + time_text(who.silence)});
  }
  return result;
}

bool run_watch::stands_still(uint64_t version, moment now) {
  if (is_alone_ || !is_still(now) || !work_.stands_still(now))
    return false;
  work_.on_moved(now);
  standstills_ = version == stood_at_ ? standstills_ + 1 : 1;
  stood_at_ = version;
  return true;
}

bool run_watch::has_stood_too_often() const {
  return standstills_ > standstills_max;
}

bool run_watch::is_stop_due(moment missing_since, moment now) const {
  return stop_asked_at_ &&
         now - std::max(*stop_asked_at_, missing_since) >= work_watch::stop_patience;
}

std::optional<milliseconds> run_watch::wait_over(moment now) {
  return teller_.over(now);
}

bool run_watch::is_long_step(const process_roster& roster) const {
  return roster.any_of([this](const node_report& x) { return work_.works_as_usual(x.work); });
}

bool run_watch::is_wait_due(const std::string& who, moment since, moment now) {
  return teller_.is_due(who, since, now);
}

} // namespace troupe
