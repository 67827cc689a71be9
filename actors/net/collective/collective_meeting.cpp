#include "actors/net/collective/collective_meeting.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/io/scribe.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

namespace troupe {

namespace {

/// How often a meeting looks whether somebody is overdue.
constexpr milliseconds meeting_tick_interval{100};

} // namespace

local_meeting_actor::behavior_type
collective_meeting_state::make_behavior(const meeting_options& options) {
  options_ = options;
  due_ = self_->clock().now() + options_.plan.timeouts.join;
  self_->set_default_handler(caf::drop); // a type that was damaged on a wire
  self_->set_down_handler([this](const caf::down_msg& news) { on_down(news); });
  self_->delayed_send(self_, meeting_tick_interval, atom::tick_v);
  return {
    [this](const collective_introduction& news) { on_introduction(news); },
    [this](const gate_event& news) { std::visit([this](const auto& x) { take(x); }, news.what); },
    [this](atom::begin) { return on_begin(); },
    [this](atom::tick) { on_tick(); },
  };
}

// ---- Connections ----

// Whoever has lost its connection comes again: until this side has noticed, its name is not free.
void collective_meeting_state::take(const candidate_news& news) {
  const auto& peer = news.peer.node;
  if (news.peer.carrier != 0) {
    const auto found = met_.find(peer);
    const bool is_its = found != met_.end() && found->second.theirs.token == news.peer.carrier;
    return options_.answer(news.ticket, is_its ? verdict{} : name_not_free_yet(peer));
  }
  options_.answer(news.ticket, is_over_              ? name_in_use(peer)
                               : met_.contains(peer) ? name_not_free_yet(peer)
                                                     : verdict{});
}

void collective_meeting_state::take(const opened_news& news) {
  const auto& peer = news.peer.node;
  if (news.carrier != 0) {
    if (options_.carrying)
      options_.carrying->take(peer, news.carrier, news.connection);
    return;
  }
  if (is_over_ || met_.contains(peer))
    return; // it closes as nobody keeps it
  auto& here = met_[peer];
  here.news = news;
  here.hold = connection_hold{*news.connection};
  here.since = self_->clock().now();
  here.mine = options_.carrying ? options_.carrying->offer() : carrier_offer{};
  reasons_.erase(peer);
  if (news.was_dialled)
    return connect_to(news);
  caf::anon_send(protocol_broker(self_->system()), caf::publish_atom_v,
                 make_scribe(self_->system(), std::move(*news.connection)), shown_actor_number,
                 caf::actor_cast<caf::strong_actor_ptr>(self_), std::set<std::string>{});
}

void collective_meeting_state::connect_to(const opened_news& news) {
  const auto peer = news.peer.node;
  self_
    ->request(protocol_broker(self_->system()), options_.introduction_deadline, caf::connect_atom_v,
              make_scribe(self_->system(), std::move(*news.connection)), shown_actor_number)
    .then(
      [=, this](const caf::node_id&, const caf::strong_actor_ptr& shown,
                const std::set<std::string>&) {
        if (shown)
          introduce(caf::actor_cast<collective_meeting_actor>(shown), peer, true);
      },
      [=, this](const caf::error&) { forget(peer); });
}

void collective_meeting_state::take(const refused_news& news) {
  if (news.what.was_dialled && news.what.why.kind == verdict_kind::refused)
    fail(news.what.why.reason);
  else if (options_.plan.find(news.what.peer))
    reasons_[news.what.peer] = news.what.why.reason;
}

void collective_meeting_state::take(const failing_news& news) {
  reasons_[news.name] = news.reason;
}

void collective_meeting_state::forget(const std::string& peer) {
  const auto found = met_.find(peer);
  if (found == met_.end() || is_over_)
    return;
  const bool was_dialled = found->second.news.was_dialled;
  met_.erase(found); // cuts it, so that the other side sees it, too
  reasons_[peer] = "its connection was lost";
  if (was_dialled)
    options_.dial_again(peer);
}

// ---- Introductions ----

void collective_meeting_state::introduce(const collective_meeting_actor& to,
                                         const std::string& peer, bool wants_answer) {
  if (const auto found = met_.find(peer); found != met_.end())
    self_->send(to, collective_introduction{options_.own_name, self_, options_.members,
                                            wants_answer, knows_all_, found->second.mine});
}

void collective_meeting_state::on_introduction(const collective_introduction& news) {
  const auto place = options_.plan.find(news.process);
  const auto found = met_.find(news.process);
  if (!place || found == met_.end() || !news.meeting ||
      self_->current_sender() != caf::actor_cast<caf::strong_actor_ptr>(news.meeting) ||
      news.members.size() != options_.plan.nodes[*place].replica_count ||
      std::ranges::any_of(news.members, [](const auto& one) { return !one; }))
    return;
  auto& peer = found->second;
  if (peer.members.empty()) {
    peer.meeting = news.meeting;
    peer.members = news.members;
    peer.theirs = news.carrier;
    self_->monitor(news.meeting);
    if (options_.carrying)
      options_.carrying->open(news.process, {peer.mine, peer.theirs, peer.news.was_dialled});
  }
  peer.knows_all = peer.knows_all || news.knows_all;
  if (news.wants_answer)
    introduce(news.meeting, news.process, false);
  settle();
}

void collective_meeting_state::settle() {
  const auto others = options_.plan.nodes.size() - 1;
  const auto is_here = [](const auto& entry) { return !entry.second.members.empty(); };
  if (is_over_ || met_.size() != others || !std::ranges::all_of(met_, is_here))
    return;
  if (!std::exchange(knows_all_, true)) {
    collective_group group;
    std::vector<placed_member> placed;
    for (const auto& node : options_.plan.nodes)
      for (const auto& one :
           node.name == options_.own_name ? options_.members : met_.at(node.name).members) {
        group.members.push_back(one);
        placed.push_back({one, node.name});
      }
    if (options_.carrying)
      options_.carrying->set_members(std::move(placed));
    for (const auto& one : options_.members)
      self_->send(one, group);
    for (const auto& [peer, there] : met_)
      introduce(there.meeting, peer, false);
  }
  if (!std::ranges::all_of(met_, [](const auto& entry) { return entry.second.knows_all; }))
    return;
  is_over_ = true;
  if (promise_.pending())
    promise_.deliver(atom::begin_v);
}

// ---- Whoever waits for it ----

caf::result<atom::begin> collective_meeting_state::on_begin() {
  settle();
  if (!problem_.empty())
    return caf::make_error(protocol_error::collective_failed, problem_);
  if (is_over_)
    return atom::begin_v;
  promise_ = self_->make_response_promise<atom::begin>();
  return promise_;
}

// A group that is known to somebody cannot be another one.
void collective_meeting_state::on_down(const caf::down_msg& news) {
  const auto found = std::ranges::find_if(
    met_, [&](const auto& entry) { return entry.second.meeting.address() == news.source; });
  if (found == met_.end() || is_over_)
    return;
  const auto peer = found->first;
  if (knows_all_)
    fail(peer + " was lost before all had met");
  else
    forget(peer);
}

void collective_meeting_state::on_tick() {
  self_->delayed_send(self_, meeting_tick_interval, atom::tick_v);
  if (is_over_)
    return;
  const auto now = self_->clock().now();
  if (now >= due_)
    return fail(missing());
  std::vector<std::string> stalled;
  for (const auto& [peer, there] : met_)
    if (there.members.empty() && now - there.since >= options_.introduction_deadline)
      stalled.push_back(peer);
  for (const auto& peer : stalled)
    forget(peer);
}

std::string collective_meeting_state::missing() const {
  std::string result;
  for (const auto& node : options_.plan.nodes) {
    const auto found = met_.find(node.name);
    if (node.name == options_.own_name || (found != met_.end() && found->second.knows_all))
      continue;
    const auto why = reasons_.find(node.name);
    result += (result.empty() ? "" : "; ") + node.name + " (" + node.address + ")" +
              (found != met_.end()     ? ": waits for others"
               : why != reasons_.end() ? ": " + why->second
                                       : "");
  }
  return "not all have met within " + std::to_string(options_.plan.timeouts.join.count()) +
         " ms: " + result;
}

void collective_meeting_state::fail(const std::string& why) {
  if (std::exchange(is_over_, true))
    return;
  problem_ = why;
  if (promise_.pending())
    promise_.deliver(caf::make_error(protocol_error::collective_failed, why));
}

local_meeting_actor::behavior_type
collective_meeting(self_pointer<local_meeting_actor, collective_meeting_state> self,
                   const meeting_options& options) {
  guard(self);
  return self->state.make_behavior(options);
}

} // namespace troupe
