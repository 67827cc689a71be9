#include "actors/collective/collective_member.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/exit_reason.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace troupe {

namespace {

caf::error failed(uint64_t round, const std::string& why) {
  return caf::make_error(protocol_error::collective_failed,
                         "round " + std::to_string(round) + ": " + why);
}

} // namespace

collective_member_actor::behavior_type
collective_member_state::make_behavior(const collective_member_options& options) {
  using enum collective_kind;
  options_ = options;
  rule_.emplace(options.rule, options.member);
  departing_.emplace(options.rule.pieces, options.rule.deadline);
  self_->set_down_handler([this](const caf::down_msg& news) { on_down(news); });
  return {
    [this](const collective_group& news) { on_group(news); },
    [this](atom::all_reduce, uint64_t round, const payload& values) {
      return on_call({round, all_reduce, 0, values});
    },
    [this](atom::reduce_scatter, uint64_t round, const payload& values) {
      return on_call({round, reduce_scatter, 0, values});
    },
    [this](atom::all_gather, uint64_t round, const payload& values) {
      return on_call({round, all_gather, 0, values});
    },
    [this](atom::broadcast, uint64_t round, uint64_t root, const payload& values) {
      return on_call({round, broadcast, root, values});
    },
    [this](atom::scatter, uint64_t round, uint64_t root, const payload& values) {
      return on_call({round, scatter, root, values});
    },
    [this](atom::barrier, uint64_t round) {
      return on_call({round, barrier, 0, {}});
    },
    [this](const collective_part& news) { on_part(news); },
    [this](const collective_grant& news) { on_grant(news); },
    [this](const collective_failure& news) { on_failure(news); },
    [this](atom::stop) { return on_stop(); },
    [](caf::ping_atom) { return caf::pong_atom_v; },
    [this](atom::tick) { on_tick(); },
  };
}

void collective_member_state::on_group(const collective_group& news) {
  if (!peers_.empty())
    return;
  if (news.members.size() != options_.rule.member_count)
    throw std::invalid_argument("collective: a group of " + std::to_string(news.members.size()) +
                                " members, not " + std::to_string(options_.rule.member_count));
  for (const auto& one : news.members) {
    peers_.push_back({one.address(), one.node() != self_->node(), false});
    if (one != self_)
      self_->monitor(one);
  }
}

caf::result<payload> collective_member_state::on_call(const collective_call& call) {
  const auto why = peers_.empty() ? "the group is not known yet" : rule_->refusal(call);
  if (!why.empty())
    return failed(call.round, why);
  const auto promise = self_->make_response_promise<payload>();
  calls_.emplace(call.round, promise);
  carry_out(rule_->begin(call, self_->clock().now()));
  watch_time();
  return promise;
}

// ---- Messages of other members ----

bool collective_member_state::speaks_for(uint64_t member) const {
  return member < peers_.size() &&
         (!peers_[member].is_far || self_->current_sender() == peers_[member].address);
}

// Over a wire a member sends at most a piece at once; within a process a part is a pointer.
void collective_member_state::on_part(const collective_part& news) {
  if (!speaks_for(news.from))
    return;
  if (peers_[news.from].is_far && news.values.size() > options_.rule.pieces.elements)
    return carry_out(rule_->on_lost(news.from, "it sends more than a piece at once"));
  carry_out(rule_->on_part(news));
}

void collective_member_state::on_grant(const collective_grant& news) {
  if (speaks_for(news.from))
    send(departing_->on_grant(news, self_->clock().now()));
  confirm_stop();
}

void collective_member_state::on_failure(const collective_failure& news) {
  if (speaks_for(news.from))
    carry_out(rule_->on_failure(news));
}

void collective_member_state::on_down(const caf::down_msg& news) {
  const auto place = std::ranges::find(peers_, news.source, &peer_place::address);
  const auto member = static_cast<size_t>(place - peers_.begin());
  // When a process ends, either may come first: the end of its members, or of its connection.
  const bool is_gone = place != peers_.end() && place->is_far &&
                       (news.reason == caf::exit_reason::remote_link_unreachable ||
                        news.reason == caf::exit_reason::user_shutdown);
  if (place != peers_.end())
    place->is_lost = true;
  departing_->drop_member(member);
  carry_out(rule_->on_lost(member, is_gone ? "its process is gone"
                                           : reason_text(self_->system(), news.reason)));
  on_pong(member);
  confirm_stop();
}

// ---- The end ----

caf::result<atom::stop> collective_member_state::on_stop() {
  stop_ = self_->make_response_promise<atom::stop>();
  const auto promise = stop_;
  confirm_stop();
  return promise;
}

// A pong proves that the other member has all that was sent before the ping.
void collective_member_state::confirm_stop() {
  if (!stop_.pending() || !departing_->empty() || !pongs_awaited_.empty())
    return;
  for (size_t k = 0; k < peers_.size(); ++k)
    if (const auto to =
          peers_[k].is_far && !peers_[k].is_lost ? peer(k) : collective_member_actor{}) {
      pongs_awaited_.insert(k);
      self_->request(to, collective_farewell_deadline, caf::ping_atom_v)
        .then([=, this](caf::pong_atom) { on_pong(k); },
              [=, this](const caf::error&) { on_pong(k); });
    }
  if (pongs_awaited_.empty())
    stop_.deliver(atom::stop_v);
}

// Called for a pong, and for a member that is lost or does not answer.
void collective_member_state::on_pong(size_t member) {
  if (pongs_awaited_.erase(member) > 0 && pongs_awaited_.empty() && stop_.pending())
    stop_.deliver(atom::stop_v);
}

// ---- Time ----

void collective_member_state::on_tick() {
  const auto now = self_->clock().now();
  watches_time_ = false;
  departing_->on_time(now);
  carry_out(rule_->on_time(now));
  confirm_stop();
  watch_time();
}

void collective_member_state::watch_time() {
  if (watches_time_ || (!rule_->has_open_rounds() && departing_->empty()))
    return;
  watches_time_ = true;
  self_->delayed_send(self_, collective_tick_interval, atom::tick_v);
}

void collective_member_state::carry_out(collective_outcome outcome) {
  for (auto& one : outcome.parts)
    if (peers_[one.to].is_far)
      send(departing_->add(one.to, one.part, self_->clock().now()));
    else
      self_->send(peer(one.to), std::move(one.part));
  for (const auto& one : outcome.grants)
    self_->send(peer(one.to), one.grant);
  for (const auto& failure : outcome.failures)
    for (size_t to = 0; to < peers_.size(); ++to)
      if (to != failure.from)
        self_->send(peer(to), failure);
  for (auto& news : outcome.ends) {
    if (!news.problem.empty())
      departing_->drop_round(news.round);
    auto promise = calls_.extract(news.round).mapped();
    if (news.problem.empty())
      promise.deliver(payload{std::move(news.values)});
    else
      promise.deliver(failed(news.round, news.problem));
  }
}

void collective_member_state::send(departing_parts::pieces pieces) {
  for (auto& one : pieces)
    if (options_.carry && one.piece.values.size() > 0)
      options_.carry(one.to, std::move(one.piece));
    else
      self_->send(peer(one.to), std::move(one.piece));
  watch_time();
}

collective_member_actor collective_member_state::peer(size_t member) const {
  return caf::actor_cast<collective_member_actor>(peers_[member].address);
}

collective_member_actor::behavior_type
collective_member(self_pointer<collective_member_actor, collective_member_state> self,
                  const collective_member_options& options) {
  guard(self);
  return self->state.make_behavior(options);
}

std::vector<collective_member_actor> spawn_collective(caf::actor_system& system,
                                                      const collective_options& options) {
  collective_group group;
  for (size_t k = 0; k < options.member_count; ++k)
    group.members.push_back(system.spawn(collective_member, collective_member_options{options, k}));
  for (const auto& one : group.members)
    caf::anon_send(one, group);
  return group.members;
}

} // namespace troupe
