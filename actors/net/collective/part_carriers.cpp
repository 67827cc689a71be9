#include "actors/net/collective/part_carriers.hpp"

#include <caf/actor_cast.hpp>
#include <caf/exit_reason.hpp>
#include <caf/send.hpp>

#include <optional>
#include <utility>

namespace troupe {

namespace {

/// What a piece of a part looks like to a carrier. Which kind of tensor it is called says nothing here.
tensor_piece piece_of(size_t to, const collective_part& x) {
  tensor_piece result;
  result.of = {tensor_kind::result, x.from, x.round, {to, to + 1}, static_cast<uint64_t>(x.stage)};
  result.first_element = x.first;
  result.note.facts = {x.count, x.rest, x.root, static_cast<uint64_t>(x.kind)};
  result.values = x.values;
  return result;
}

/// Nothing when it says what no part can.
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
    if (!is_heard) // the other side may have given up the way, or not have it yet: ask
      ways_->carry(there.process, position_word::stamp, {});
    if (!is_heard || !ways_->carry(there.process, piece_of(to, piece)))
      caf::send_as(caf::actor_cast<caf::actor>(members_.at(from).actor), there.actor,
                   std::move(piece));
  });
}

// It speaks for its own members alone, and to members of this process.
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
    return; // nothing was given to it
  for (const auto& lost : members_)
    for (const auto& own : members_)
      if (lost.process == peer && own.process == own_name_)
        caf::anon_send(
          caf::actor_cast<caf::actor>(own.actor),
          caf::down_msg{lost.actor.address(), caf::exit_reason::remote_link_unreachable});
}

// What was given before a question has come when it is answered.
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
