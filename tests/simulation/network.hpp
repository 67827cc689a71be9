// The wires between machines, as bad as real ones: every pair of machines that should have a link
// gets one as soon as both run and can hear each other, loses it, and gets a new one.
//
//           both run, no direction is blocked, both ends of the last link are gone
//   none ---------------------------------------------------------------------------> up
//    ^                                                                                 |
//    |      each end has noticed, at its own time              a fault, a machine lost |
//    +------------------------------------------------- lost <-------------------------+
//
// What a link carries arrives in order within a direction, after a delay that is drawn for each
// message, so messages of different pairs overtake each other. With `pieces_apart` pieces of tensors, their
// credit and the questions for it have a way of their own, as shared memory and sockets are, and overtake messages. Unless a fault says otherwise (loss,
// echo) nothing is lost but with its link:
// while a direction is blocked for a time shorter than `lost_after` its messages wait, as TCP makes
// them; a longer one breaks the link. Who has not noticed yet sends into nothing.

#pragma once

#include "tests/simulation/world.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_proxy.hpp>
#include <caf/actor_system.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/make_actor.hpp>
#include <caf/message.hpp>
#include <caf/system_messages.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe::simulation {

// An actor that is a function: whatever is sent to it is handed over at once, in the sender's turn.
//
// With it the world stands where a network would: a wire's end is a listener that looks like the
// actor at the other end. As a network's stand-in for a remote actor it can be monitored, and dies
// when the world says that its link is lost.

class listener final : public caf::actor_proxy {
public:
  using function = std::function<void(const caf::message&)>;

  listener(caf::actor_config& config, function f)
    : caf::actor_proxy(config), function_(std::move(f)) {}

  using caf::abstract_actor::enqueue;

  void enqueue(caf::mailbox_element_ptr what, caf::execution_unit*) override {
    const auto content = what->move_content_to_message();
    // What actors tell each other about their lives is not a message to anybody.
    const bool is_notice = content.match_elements<caf::exit_msg>() ||
                           content.match_elements<caf::down_msg>() ||
                           (!content.empty() && content.match_element<caf::sys_atom>(0));
    if (function_ && !is_notice)
      function_(content);
  }

  /// Its monitors are told; messages to it go nowhere.
  void kill_proxy(caf::execution_unit* context, caf::error reason) override {
    function_ = {};
    cleanup(std::move(reason), context);
  }

private:
  function function_;
};

inline caf::strong_actor_ptr make_listener(caf::actor_system& system, listener::function f) {
  caf::actor_config config;
  return caf::make_actor<listener, caf::strong_actor_ptr>(system.next_actor_id(), system.node(),
                                                          &system, config, std::move(f));
}

inline void end_listener(const caf::strong_actor_ptr& x, const caf::error& reason) {
  static_cast<listener*>(caf::actor_cast<caf::abstract_actor*>(x))->kill_proxy(nullptr, reason);
}

/// Where wires have a latency and a bandwidth and processors take their time: each machine has one interface to a
/// switch that never is the bottleneck. What it sends queues on its way out, and what many send to one at once queues
/// on its way in.
///
///   sender's processor -> its way out (bytes / bandwidth) -> latency -> receiver's way in -> its processor
struct interface_options {
  double bytes_per_second = 1.25e9;                     ///< each way
  duration latency = std::chrono::microseconds{50};     ///< from interface to interface
  duration each_message = std::chrono::microseconds{4}; ///< of a processor, at each end
  double seconds_a_byte = 0.2e-9;                       ///< likewise

  duration work_of(size_t bytes) const {
    return each_message + std::chrono::duration_cast<duration>(std::chrono::duration<double>{
                            static_cast<double>(bytes) * seconds_a_byte});
  }
};

class interfaces {
public:
  explicit interfaces(const interface_options& options) : options_(options) {}

  const interface_options& options() const { return options_; }

  /// When the last byte of a message has come that its sender's processor is done with at `ready`. A receiver takes
  /// the first byte as soon as it is there.
  moment carry(size_t from, size_t to, size_t bytes, moment ready) {
    const auto length = std::chrono::duration_cast<duration>(
      std::chrono::duration<double>{static_cast<double>(bytes) / options_.bytes_per_second});
    const auto begin = std::max(ready, out_[from]);
    out_[from] = begin + length;
    in_[to] = std::max(begin + options_.latency, in_[to]) + length;
    return in_[to];
  }

private:
  interface_options options_;
  std::map<size_t, moment> out_; ///< free from then on
  std::map<size_t, moment> in_;
};

struct wire_options {
  duration delay_min = std::chrono::microseconds{100};
  duration delay_max = std::chrono::milliseconds{2};
  duration lost_after = std::chrono::seconds{5}; ///< of silence
  duration heartbeat = std::chrono::seconds{1};  ///< losses are noticed this much later at most
  duration retry_max = std::chrono::milliseconds{500}; ///< between two attempts to connect
  unsigned damage_per_10000 = 0; ///< of messages that arrive with a flipped bit
  unsigned loss_per_10000 = 0;   ///< of messages that do not arrive although their link stays
  unsigned echo_per_10000 = 0;   ///< of messages that arrive again, up to 3 s later
  bool pieces_apart = false;
  unsigned last_words_percent = 0; ///< of crashes: what was sent before still arrives
  std::optional<interface_options> interfaces = {}; ///< in place of delays that are drawn
};

class network {
public:
  /// A machine has a new link. No two links have the same number.
  struct link_news {
    machine_id self = 0;
    machine_id peer = 0;
    uint64_t number = 0;
    const caf::strong_actor_ptr& way; ///< from self to peer
  };
  using link_handler = std::function<void(const link_news&)>;

  network(world& here, wire_options options, link_handler on_link);
  ~network();
  network(const network&) = delete;
  network& operator=(const network&) = delete;

  /// Who gets what is sent to a machine: set before its first link and after each boot.
  void set_address(machine_id x, caf::strong_actor_ptr address);

  /// These two should always have a link.
  void join(machine_id a, machine_id b);

  /// The machine is gone: its sockets close, and the others notice soon.
  void machine_crashed(machine_id x);
  /// The machine is gone without a word: the others notice the silence.
  void machine_vanished(machine_id x);
  /// The machine does nothing for so long.
  void machine_freezes(machine_id x, duration length);

  /// Nothing from `from` reaches `to` for so long.
  void block(machine_id from, machine_id to, duration length);
  /// A reset: both ends notice soon.
  void reset_link(machine_id a, machine_id b);

  /// From now on so many messages of 10,000 arrive damaged.
  void set_damage(unsigned per_10000) { options_.damage_per_10000 = per_10000; }

  /// From now on so many messages of 10,000 do not arrive.
  void set_loss(unsigned per_10000) { options_.loss_per_10000 = per_10000; }
  /// From now on so many messages of 10,000 arrive again later.
  void set_echo(unsigned per_10000) { options_.echo_per_10000 = per_10000; }

  /// Called with each message that arrives: from, to, content.
  std::function<void(machine_id, machine_id, const caf::message&)> on_arrival;

  bool is_linked(machine_id a, machine_id b) const;
  /// Of pieces, in one direction of a link, at any time.
  size_t most_bytes_under_way() const { return most_bytes_under_way_; }
  size_t carried_count() const { return carried_count_; }
  /// Where interfaces are modelled: bytes of pieces, and of all else.
  size_t bytes_of_pieces() const { return bytes_of_pieces_; }
  size_t bytes_of_others() const { return bytes_of_others_; }
  size_t lost_count() const { return lost_count_; }
  size_t damaged_count() const { return damaged_count_; }
  size_t dropped_count() const { return dropped_count_; } ///< lost without their link
  size_t echoed_count() const { return echoed_count_; }

  /// No link is made any more.
  void close() { closed_ = true; }

private:
  struct direction {
    caf::strong_actor_ptr way; ///< the sender's end; null when it knows that there is no link
    bool carries = false;
    bool drains = false;        ///< carries nothing new, but what is under way arrives
    size_t bytes_under_way = 0; ///< of pieces
    moment last_arrivals[2]{};  ///< of messages, and of pieces that have a way of their own
    moment held_until{};
  };

  /// Two directions: 0 from a to b, 1 from b to a.
  struct link {
    machine_id a = 0;
    machine_id b = 0;
    uint64_t generation = 0; ///< the number of its current link
    direction ways[2];
    machine_id sender(size_t side) const { return side == 0 ? a : b; }
    machine_id receiver(size_t side) const { return side == 0 ? b : a; }
  };

  link& link_of(machine_id a, machine_id b);
  void try_connect(size_t index);
  void connect(size_t index);
  void on_sent(size_t index, size_t side, uint64_t generation, const caf::message& content);
  void arrive(size_t index, size_t side, uint64_t generation, const caf::message& content);
  void lose(link& x);
  /// The sender of `side` is gone; its last words may arrive until the other end notices.
  void lose_with_last_words(link& x, size_t side);
  void notice(link& x, size_t side, duration wait);
  void end_way(size_t index, size_t side, uint64_t generation);
  bool falls_under(unsigned per_10000) {
    return per_10000 > 0 && world_.random().below(10'000) < per_10000;
  }
  bool can_connect(const link& x) const;
  bool is_of_director(const link& x) const;
  /// When a message that is sent now arrives.
  moment arrival_of(const link& x, size_t side, const caf::message& content);
  duration soon();
  duration silence();
  std::string arrow(const link& x, size_t side) const;

  world& world_;
  wire_options options_;
  std::optional<interfaces> interfaces_;
  link_handler on_link_;
  uint64_t last_number_ = 0;
  std::vector<std::unique_ptr<link>> links_;
  std::vector<caf::strong_actor_ptr> addresses_;
  std::vector<std::vector<moment>> blocked_until_; ///< by from and to
  bool closed_ = false;
  size_t most_bytes_under_way_ = 0;
  size_t carried_count_ = 0;
  size_t bytes_of_pieces_ = 0;
  size_t bytes_of_others_ = 0;
  size_t lost_count_ = 0;
  size_t damaged_count_ = 0;
  size_t dropped_count_ = 0;
  size_t echoed_count_ = 0;
};

} // namespace troupe::simulation
