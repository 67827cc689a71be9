#include "troupe/actors/collective/collective_member.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
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
  rule_.emplace(options.rule, options.member);
  member_count_ = options.rule.member_count;
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
    [this](const collective_part& news) { carry_out(rule_->on_part(news)); },
    [this](const collective_failure& news) { carry_out(rule_->on_failure(news)); },
    [this](atom::tick) { on_tick(); },
  };
}

void collective_member_state::on_group(const collective_group& news) {
  if (!peers_.empty())
    return;
  if (news.members.size() != member_count_)
    throw std::invalid_argument("collective: a group of " + std::to_string(news.members.size()) +
                                " members, not " + std::to_string(member_count_));
  for (const auto& one : news.members) {
    peers_.push_back(one.address());
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

void collective_member_state::on_down(const caf::down_msg& news) {
  const auto place = std::ranges::find(peers_, news.source);
  const auto why = reason_text(self_->system(), news.reason);
  carry_out(rule_->on_lost(static_cast<size_t>(place - peers_.begin()), why));
}

void collective_member_state::on_tick() {
  watches_time_ = false;
  carry_out(rule_->on_time(self_->clock().now()));
  watch_time();
}

void collective_member_state::watch_time() {
  if (watches_time_ || !rule_->has_open_rounds())
    return;
  watches_time_ = true;
  self_->delayed_send(self_, collective_tick_interval, atom::tick_v);
}

void collective_member_state::carry_out(collective_outcome outcome) {
  for (auto& one : outcome.parts)
    self_->send(peer(one.to), std::move(one.part));
  for (const auto& failure : outcome.failures)
    for (size_t to = 0; to < peers_.size(); ++to)
      if (to != failure.from)
        self_->send(peer(to), failure);
  for (auto& news : outcome.ends) {
    auto promise = calls_.extract(news.round).mapped();
    if (news.problem.empty())
      promise.deliver(payload{std::move(news.values)});
    else
      promise.deliver(failed(news.round, news.problem));
  }
}

collective_member_actor collective_member_state::peer(size_t member) const {
  return caf::actor_cast<collective_member_actor>(peers_[member]);
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
