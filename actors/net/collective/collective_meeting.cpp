#include "actors/net/collective/collective_meeting.hpp"

#include "actors/net/links/peer_process.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/exit_reason.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <utility>
#include <variant>

namespace troupe {

namespace {

/// How often a meeting looks for overdue processes.
constexpr milliseconds meeting_tick_interval{100};

} // namespace

local_meeting_actor::behavior_type
collective_meeting_state::make_behavior(const meeting_options& options) {
  options_ = options;
  due_ = self_->clock().now() + options_.plan.timeouts.join;
  self_->set_default_handler(caf::drop); // a message with a damaged type
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

// A process that has lost its connection comes again. Its name is not free until this side has
// noticed the loss.
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
    return; // nothing keeps the connection, so it closes
  auto& here = met_[peer];
  here.news = news;
  here.hold = connection_hold{*news.connection};
  here.since = self_->clock().now();
  here.mine = options_.carrying ? options_.carrying->offer() : carrier_offer{};
  reasons_.erase(peer);
  hand_over(
    self_, news, options_.introduction_deadline,
    [this, peer](const caf::strong_actor_ptr& shown) {
      introduce(caf::actor_cast<collective_meeting_actor>(shown), peer, true);
    },
    [this, peer] { forget(peer); });
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
  met_.erase(found); // cuts the connection, so that the other side notices, too
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

// ---- The answer to `join` ----

caf::result<atom::begin> collective_meeting_state::on_begin() {
  settle();
  if (!problem_.empty())
    return caf::make_error(protocol_error::collective_failed, problem_);
  if (is_over_)
    return atom::begin_v;
  promise_ = self_->make_response_promise<atom::begin>();
  return promise_;
}

// A group that a process knows already cannot change, so a loss is a failure.
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

namespace {

/// The form of a part's piece for a carrier. The tensor's kind has no meaning here.
tensor_piece piece_of(size_t to, const collective_part& x) {
  tensor_piece result;
  result.of = {tensor_kind::result, x.from, x.round, {to, to + 1}, static_cast<uint64_t>(x.stage)};
  result.first_element = x.first;
  result.note.facts = {x.count, x.rest, x.root, static_cast<uint64_t>(x.kind)};
  result.values = x.values;
  return result;
}

/// Nothing when it is no possible part.
std::optional<collective_part> part_of(tensor_piece&& x) {
  const auto& [count, rest, root, kind] = x.note.facts;
  if (kind > static_cast<uint64_t>(collective_kind::barrier) ||
      x.of.part > static_cast<uint64_t>(collective_stage::gather))
    return std::nullopt;
  collective_part result;
  result.round = x.of.key;
  result.from = x.of.term;
  result.kind = static_cast<collective_kind>(kind);
  result.root = root;
  result.stage = static_cast<collective_stage>(x.of.part);
  result.count = count;
  result.values = std::move(x.values);
  result.first = x.first_element;
  result.rest = rest;
  return result;
}

} // namespace

part_carriers::part_carriers(caf::actor_system& system, std::string own_name,
                             carrier_options options)
  : own_name_(std::move(own_name)), loop_(std::make_shared<node_loop>(system)) {
  options.on_lost = [this](const std::string& peer) { tell_lost(peer); };
  ways_ = std::make_shared<carriers>(loop_, std::move(options));
}

part_carriers::~part_carriers() {
  loop_->stop();
}

void part_carriers::start() {
  loop_->start();
  ways_->start(
    [this](const std::string& peer, carried_frame&& frame) { take_frame(peer, std::move(frame)); });
}

void part_carriers::set_members(std::vector<placed_member> members) {
  loop_->post([this, members = std::move(members)]() mutable { members_ = std::move(members); });
}

void part_carriers::carry(size_t from, size_t to, collective_part&& piece) {
  loop_->post([this, from, to, piece = std::move(piece)]() mutable {
    const auto& there = members_.at(to);
    const bool is_heard = heard_.contains(there.process);
    if (!is_heard) // the other side may have given up the carrier, or not have it yet: ask
      ways_->carry(there.process, position_word::stamp, {});
    if (!is_heard || !ways_->carry(there.process, piece_of(to, piece)))
      caf::send_as(caf::actor_cast<caf::actor>(members_.at(from).actor), there.actor,
                   std::move(piece));
  });
}

// Accepts pieces only from the peer's own members, and only to members of this process.
void part_carriers::take_frame(const std::string& peer, carried_frame&& frame) {
  heard_.insert(peer);
  if (frame.kind == frame_kind::stamp)
    ways_->carry(peer, position_word::credit, frame.piece.stamp);
  else if (frame.kind == frame_kind::credit)
    on_settled(peer);
  if (!frame.is_piece())
    return;
  const auto to = frame.piece.of.node.begin;
  auto part = part_of(std::move(frame.piece));
  if (part && part->from < members_.size() && members_[part->from].process == peer &&
      to < members_.size() && members_[to].process == own_name_)
    caf::send_as(caf::actor_cast<caf::actor>(members_[part->from].actor), members_[to].actor,
                 std::move(*part));
}

void part_carriers::tell_lost(const std::string& peer) {
  on_settled(peer);
  if (heard_.erase(peer) == 0)
    return; // no piece was given to it
  for (const auto& lost : members_)
    for (const auto& own : members_)
      if (lost.process == peer && own.process == own_name_)
        caf::anon_send(
          caf::actor_cast<caf::actor>(own.actor),
          caf::down_msg{lost.actor.address(), caf::exit_reason::remote_link_unreachable});
}

// Sends each process a question: an answer proves that all earlier pieces have come.
void part_carriers::settle(milliseconds deadline) {
  auto over = settled_.get_future();
  loop_->post([this] {
    for (const auto& one : members_)
      if (heard_.contains(one.process))
        unanswered_.insert(one.process);
    for (const auto& one : std::set{unanswered_})
      ways_->carry(one, position_word::stamp, {});
    if (unanswered_.empty())
      settled_.set_value();
  });
  over.wait_for(deadline);
}

void part_carriers::on_settled(const std::string& peer) {
  if (unanswered_.erase(peer) > 0 && unanswered_.empty())
    settled_.set_value();
}

} // namespace troupe
