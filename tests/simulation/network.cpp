#include "tests/simulation/network.hpp"

#include "tests/simulation/wire_message.hpp"

#include <caf/exit_reason.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <stdexcept>

namespace troupe::simulation {

namespace {

caf::error lost_link() {
  return caf::make_error(caf::exit_reason::remote_link_unreachable);
}

} // namespace

network::network(world& here, wire_options options, link_handler on_link)
  : world_(here), options_(options), on_link_(std::move(on_link)) {
  if (options_.interfaces)
    interfaces_.emplace(*options_.interfaces);
}

network::~network() {
  for (const auto& x : links_)
    for (auto& way : x->ways)
      if (way.way)
        end_listener(way.way, lost_link());
}

void network::set_address(machine_id x, caf::strong_actor_ptr address) {
  addresses_.resize(std::max(addresses_.size(), world_.machine_count()));
  addresses_[x] = std::move(address);
}

void network::join(machine_id a, machine_id b) {
  const auto count = world_.machine_count();
  addresses_.resize(count);
  blocked_until_.resize(count);
  for (auto& row : blocked_until_)
    row.resize(count, moment{});
  links_.push_back(std::make_unique<link>());
  links_.back()->a = a;
  links_.back()->b = b;
  try_connect(links_.size() - 1);
}

network::link& network::link_of(machine_id a, machine_id b) {
  for (const auto& x : links_)
    if ((x->a == a && x->b == b) || (x->a == b && x->b == a))
      return *x;
  throw std::logic_error("simulation: no such link");
}

bool network::is_linked(machine_id a, machine_id b) const {
  return std::ranges::any_of(links_, [&](const auto& x) {
    return ((x->a == a && x->b == b) || (x->a == b && x->b == a)) && x->ways[0].carries &&
           x->ways[1].carries;
  });
}

bool network::can_connect(const link& x) const {
  return !x.ways[0].way && !x.ways[1].way && world_.is_running(x.a) && world_.is_running(x.b) &&
         blocked_until_[x.a][x.b] <= world_.now() && blocked_until_[x.b][x.a] <= world_.now() &&
         addresses_[x.a] && addresses_[x.b];
}

void network::try_connect(size_t index) {
  if (closed_)
    return;
  if (can_connect(*links_[index]))
    connect(index);
  world_.after(world_.random().between(options_.retry_max / 2, options_.retry_max),
               [this, index] { try_connect(index); });
}

void network::connect(size_t index) {
  auto& x = *links_[index];
  const auto generation = x.generation = ++last_number_;
  for (size_t side : {0, 1}) {
    x.ways[side] = {};
    x.ways[side].carries = true;
    x.ways[side].way =
      make_listener(world_.system(), [this, index, side, generation](const caf::message& content) {
        on_sent(index, side, generation, content);
      });
  }
  if (world_.traces())
    world_.trace("link " + world_.name_of(x.a) + " -- " + world_.name_of(x.b));
  // The two hear of it one after the other.
  for (size_t side : {0, 1})
    world_.after(soon(), [this, index, side, generation] {
      auto& here = *links_[index];
      if (here.generation == generation && here.ways[side].way)
        on_link_({here.sender(side), here.receiver(side), generation, here.ways[side].way});
    });
}

void network::on_sent(size_t index, size_t side, uint64_t generation, const caf::message& content) {
  auto& x = *links_[index];
  auto& way = x.ways[side];
  if (x.generation != generation || !way.carries || !world_.is_running(x.sender(side))) {
    ++lost_count_;
    if (world_.traces())
      world_.trace(arrow(x, side) + " lost: " + in_words(content));
    return;
  }
  const auto bytes = piece_bytes(content);
  way.bytes_under_way += bytes;
  most_bytes_under_way_ = std::max(most_bytes_under_way_, way.bytes_under_way);
  const auto sent = arrival_of(x, side, content);
  const bool is_apart = options_.pieces_apart && is_carried(content) && !is_of_director(x);
  auto& last = way.last_arrivals[is_apart ? 1 : 0];
  last = std::max({sent, last, way.held_until});
  world_.at(last, [this, index, side, generation, copy = carried(world_.system(), content)] {
    if (links_[index]->generation == generation)
      links_[index]->ways[side].bytes_under_way -= piece_bytes(copy);
    arrive(index, side, generation, copy);
  });
}

// The director's process sends and gets all by messages.
bool network::is_of_director(const link& x) const {
  return world_.name_of(x.a) == "director" || world_.name_of(x.b) == "director";
}

moment network::arrival_of(const link& x, size_t side, const caf::message& content) {
  if (!interfaces_)
    return world_.now() + soon();
  const auto values = piece_bytes(content);
  const auto bytes = wire_bytes(world_.system(), content);
  (values > 0 ? bytes_of_pieces_ : bytes_of_others_) += bytes;
  const auto ready = world_.use_processor(x.sender(side), interfaces_->options().work_of(bytes));
  return interfaces_->carry(x.sender(side), x.receiver(side), bytes, ready);
}

void network::arrive(size_t index, size_t side, uint64_t generation, const caf::message& content) {
  auto& x = *links_[index];
  if (x.generation != generation || !(x.ways[side].carries || x.ways[side].drains)) {
    ++lost_count_;
    if (world_.traces())
      world_.trace(arrow(x, side) + " lost on the way: " + in_words(content));
    return;
  }
  if (falls_under(options_.loss_per_10000)) {
    ++dropped_count_;
    if (world_.traces())
      world_.trace(arrow(x, side) + " dropped: " + in_words(content));
    return;
  }
  if (falls_under(options_.echo_per_10000)) {
    ++echoed_count_;
    world_.after(
      world_.random().between(duration{0}, std::chrono::seconds{3}),
      [this, index, side, generation, content] { arrive(index, side, generation, content); });
  }
  ++carried_count_;
  auto arrived = content;
  const bool hit = world_.random().below(10'000) < options_.damage_per_10000;
  if (hit) {
    ++damaged_count_;
    auto bad = damaged(world_.system(), content, world_.random());
    if (!bad) {
      if (world_.traces())
        world_.trace(arrow(x, side) + " unreadable: " + in_words(content));
      return;
    }
    arrived = std::move(*bad);
  }
  if (world_.traces())
    world_.trace(arrow(x, side) + " " + in_words(arrived) + (hit ? " (damaged)" : ""));
  if (interfaces_)
    world_.use_processor(x.receiver(side),
                         interfaces_->options().work_of(wire_bytes(world_.system(), arrived)));
  if (on_arrival)
    on_arrival(x.sender(side), x.receiver(side), arrived);
  caf::anon_send(caf::actor_cast<caf::actor>(addresses_[x.receiver(side)]), std::move(arrived));
}

void network::lose(link& x) {
  for (auto& way : x.ways)
    way.carries = way.drains = false;
}

void network::lose_with_last_words(link& x, size_t side) {
  const bool may_drain = x.ways[side].carries;
  lose(x);
  x.ways[side].drains = may_drain && falls_under(options_.last_words_percent * 100);
}

void network::notice(link& x, size_t side, duration wait) {
  const auto found = std::ranges::find_if(links_, [&](const auto& y) { return y.get() == &x; });
  const auto index = static_cast<size_t>(found - links_.begin());
  world_.after(
    wait, [this, index, side, generation = x.generation] { end_way(index, side, generation); });
}

// A frozen machine notices when it thaws.
void network::end_way(size_t index, size_t side, uint64_t generation) {
  auto& x = *links_[index];
  if (x.generation != generation || !x.ways[side].way)
    return;
  if (world_.state_of(x.sender(side)) == machine_state::frozen) {
    world_.after(std::chrono::milliseconds{50},
                 [this, index, side, generation] { end_way(index, side, generation); });
    return;
  }
  if (world_.traces())
    world_.trace(world_.name_of(x.sender(side)) + " notices: no link to " +
                 world_.name_of(x.receiver(side)));
  if (!x.ways[side].drains) // else it is the end of who is gone
    lose(x);
  const auto way = std::move(x.ways[side].way);
  x.ways[side].way = nullptr;
  end_listener(way, lost_link());
  // Whoever notices closes the socket, and so the other end notices too, once it can hear of it.
  if (x.ways[1 - side].way) {
    const auto heard = blocked_until_[x.sender(side)][x.receiver(side)];
    notice(x, 1 - side, std::max(duration{0}, heard - world_.now()) + soon());
  }
}

void network::machine_crashed(machine_id x) {
  for (auto& each : links_)
    if (each->a == x || each->b == x) {
      const size_t here = each->a == x ? 0 : 1;
      lose_with_last_words(*each, here);
      notice(*each, here, duration{0});
      notice(*each, 1 - here, soon());
    }
}

void network::machine_vanished(machine_id x) {
  for (auto& each : links_)
    if (each->a == x || each->b == x) {
      const size_t here = each->a == x ? 0 : 1;
      lose_with_last_words(*each, here);
      // Its own end is gone with it, but the other's socket stays open.
      if (const auto way = std::move(each->ways[here].way)) {
        each->ways[here].way = nullptr;
        end_listener(way, lost_link());
      }
      notice(*each, 1 - here, silence());
    }
}

void network::machine_freezes(machine_id x, duration length) {
  if (length < options_.lost_after)
    return;
  for (auto& each : links_)
    if (each->a == x || each->b == x)
      notice(*each, each->a == x ? 1 : 0, silence());
}

void network::block(machine_id from, machine_id to, duration length) {
  auto& until = blocked_until_[from][to];
  until = std::max(until, world_.now() + length);
  auto& x = link_of(from, to);
  const size_t side = x.a == from ? 0 : 1;
  if (!x.ways[side].carries)
    return;
  if (length < options_.lost_after) {
    x.ways[side].held_until = std::max(x.ways[side].held_until, until);
    return;
  }
  x.ways[side].carries = false;
  notice(x, 1 - side, silence());
}

void network::reset_link(machine_id a, machine_id b) {
  auto& x = link_of(a, b);
  lose(x);
  notice(x, 0, soon());
  notice(x, 1, soon());
}

duration network::soon() {
  return world_.random().between(options_.delay_min, options_.delay_max);
}

duration network::silence() {
  return options_.lost_after + world_.random().between(duration{0}, options_.heartbeat);
}

std::string network::arrow(const link& x, size_t side) const {
  return world_.name_of(x.sender(side)) + " -> " + world_.name_of(x.receiver(side)) + ":";
}

} // namespace troupe::simulation
