// A world: the state of a small cluster at one moment, as a few numbers. Equal parts are kept once
// (`pool`), so that millions of worlds fit. Its director is a plain value, too: what it does with the pure
// rules, without actors, wires or time. An event goes in, messages go out into an outbox.

#pragma once

#include "coordinators/membership/membership_rule.hpp"
#include "coordinators/run/hold_rule.hpp"
#include "tests/support/walk/cluster_parts.hpp"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <deque>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace troupe::test {

struct director_process {
  membership_rule members;
  hold_rule stop{};
  uint64_t stop_version = ~uint64_t{0}; ///< once named

  friend bool operator==(const director_process&, const director_process&) = default;

  const cluster_view& view() const { return *members.view(); }

  void on_loss(size_t process, outbox& out) {
    for (const auto& decision : members.on_lost(process_names[process], 1, {}))
      if (const auto* published = std::get_if<publish>(&decision)) {
        for (size_t to = 0; to < process_names.size(); ++to)
          send_view(to, out);
        carry_out(stop.on_view(published->view), out);
      }
  }

  void on_stop_requested(outbox& out) { carry_out(stop.on_stop_requested(), out); }

  void on_held(const message& what, outbox& out) {
    hold_answer answer{process_names[what.from], what.view, 0, {}};
    if (what.from < replica_count)
      answer.next_step = what.version;
    else
      answer.shard_versions = {what.version};
    carry_out(stop.on_held(answer), out);
  }

  void send_view(size_t to, outbox& out) const {
    if (view().find(process_names[to]))
      out.push_back({.kind = message_kind::view, .to = to, .news = view()});
  }

  void send_horizon(size_t to, outbox& out) const {
    out.push_back({.kind = message_kind::horizon, .to = to, .version = stop_version});
  }

  void ask(const std::vector<std::string>& names, outbox& out) const {
    for (size_t to = 0; to < process_names.size(); ++to)
      if (std::ranges::count(names, process_names[to]) > 0)
        out.push_back({.kind = message_kind::hold, .to = to, .view = view().id});
  }

private:
  void carry_out(const hold_decisions& decisions, outbox& out) {
    for (const auto& decision : decisions) {
      if (const auto* asked = std::get_if<ask_to_hold>(&decision)) {
        ask(asked->names, out);
        continue;
      }
      stop_version = std::get<stop_at>(decision).version;
      for (const auto& who : view().members)
        send_horizon(process_of(who.name), out);
    }
  }
};

/// Equal values get one number. `key` must be equal for equal values.
template <class T>
class pool {
public:
  uint16_t number_of(const T& value, uint64_t key) {
    auto& same_key = by_key_[key];
    for (auto number : same_key)
      if (values_[number] == value)
        return number;
    values_.push_back(value);
    same_key.push_back(static_cast<uint16_t>(values_.size() - 1));
    if (values_.size() > 0xFFFF)
      throw std::length_error{"too many different parts"};
    return same_key.back();
  }
  const T& operator[](uint16_t number) const { return values_[number]; }
  size_t size() const { return values_.size(); }

private:
  std::deque<T> values_;
  std::unordered_map<uint64_t, std::vector<uint16_t>> by_key_;
};

/// How often each trouble may still come, in any world.
struct troubles {
  uint8_t crashes = 0;    ///< a replica's process ends
  uint8_t suspicions = 0; ///< 1: the second replica's process is thought to be lost and goes on
  uint8_t duplicates = 0; ///< a message comes twice
  uint8_t losses = 0;     ///< a message does not come
  uint8_t wants = 0;      ///< somebody asks for what it misses before it is due
  uint8_t stops = 0;      ///< an interrupt

  friend bool operator==(const troubles&, const troubles&) = default;
};

struct world {
  static constexpr size_t messages_max = 256;

  std::array<uint16_t, replica_count> replicas{};
  std::array<uint16_t, shard_count> shards{};
  uint16_t director = 0;
  troubles left{};
  std::bitset<messages_max> messages; ///< under way, by number

  friend bool operator==(const world&, const world&) = default;
};

struct hash_of_world {
  size_t operator()(const world& w) const {
    const auto& left = w.left;
    return derive({w.replicas[0], w.replicas[1], w.shards[0], w.shards[1], w.director, left.crashes,
                   left.suspicions, left.duplicates, left.losses, left.wants, left.stops,
                   std::hash<std::bitset<world::messages_max>>{}(w.messages)})
      .id;
  }
};

} // namespace troupe::test
