// All that can happen to a small cluster: two replicas and two shards, each in a process of its
// own, a director, messages in any order, and a few troubles.

#pragma once

#include "coordinators/membership/membership_rule.hpp"
#include "coordinators/run/hold_rule.hpp"
#include "tests/support/walk/cluster_parts.hpp"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace troupe::test {

// A world: the state of a small cluster at one moment, as a few numbers. Equal parts are kept once
// (`pool`), so that millions of worlds fit. Its director is a plain value, too: what it does with the pure
// rules, without actors, wires or time. An event goes in, messages go out into an outbox.

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

class small_cluster {
public:
  small_cluster(const cluster_plan& known, const troubles& allowed)
    : known_(known), allowed_(allowed) {}

  /// Everybody is there and has the first view; the shards have announced version 0.
  world start() {
    world result;
    result.left = allowed_;
    outbox out;
    director_process director{membership_rule{options(), {}}};
    for (size_t i = 0; i < process_names.size(); ++i)
      director.members.on_joined(
        {process_names[i], 1, i < replica_count ? 1u : 0u, i < replica_count ? 0u : 1u}, {});
    director.members.on_term_persisted(1);
    director.stop.on_view(director.view());
    for (size_t i = 0; i < replica_count; ++i) {
      replica_process replica{known_, i};
      replica.view = director.view();
      put(result, replica);
    }
    for (size_t k = 0; k < shard_count; ++k) {
      shard_process shard{known_, k, director.view()};
      shard.announce(known_, out);
      put(result, shard);
    }
    put(result, director);
    // Under way from the start, it may come at any time.
    if (result.left.suspicions > 0)
      suspect(result, 1);
    send(result, out);
    return result;
  }

  /// The worlds one event away.
  std::vector<world> successors(const world& w) {
    std::vector<world> result;
    for (size_t number = 0; number < messages_.size(); ++number)
      if (w.messages[number]) {
        auto next = w;
        next.messages.reset(number);
        auto& delivered = result.emplace_back(next);
        deliver(delivered, messages_[static_cast<uint16_t>(number)]);
        if (w.left.losses > 0) {
          --next.left.losses;
          if (messages_[static_cast<uint16_t>(number)].kind != message_kind::loss)
            result.push_back(next);
        }
        if (w.left.duplicates > 0) {
          auto& twice = result.emplace_back(w);
          --twice.left.duplicates;
          deliver(twice, messages_[static_cast<uint16_t>(number)]);
        }
      }
    add_troubles(w, result);
    if (w.messages.none()) {
      result.push_back(w);
      repair(result.back());
    }
    if (known_.drops_outdated)
      for (auto& next : result)
        drop_outdated(next);
    return result;
  }

  /// The last version is reached, or the one that a stop named, and nothing is under way.
  bool is_finished(const world& w) const {
    const auto& director = directors_[w.director];
    const auto version = goal(w);
    if (w.messages.any() || director.stop.state() == hold_rule::phase::holding)
      return false;
    for (auto number : w.shards)
      if (shards_[number].rule.version() < version)
        return false;
    for (auto number : w.replicas) {
      const auto& replica = replicas_[number];
      if (director.view().find(process_names[replica.id]) && replica.rule.version() < version)
        return false;
    }
    return true;
  }

  /// What is wrong in this world; empty: nothing.
  std::string problem_in(const world& w) const {
    std::array<uint64_t, shard_count> versions{};
    for (size_t k = 0; k < shard_count; ++k) {
      const auto& shard = shards_[w.shards[k]];
      const auto version = versions[k] = shard.rule.version();
      // The name of a version says which gradients were applied, how often, and in which order.
      if (shard.value() != reference(version, k) ||
          (version > 0 && shard.values[(version - 1) % 2] != reference(version - 1, k)))
        return "a version is not what an undisturbed run has";
      if (version > known_.plan.last_version())
        return "a shard went beyond the last version";
      if (const auto stop = directors_[w.director].stop_version;
          stop != none && version > stop && !shard.keeps(stop))
        return "a shard no longer keeps the version that was named";
    }
    const auto [low, high] = std::minmax(versions[0], versions[1]);
    if (high > low + 1)
      return "no version is whole anywhere";
    for (auto number : w.replicas)
      if (const auto held = replicas_[number].held)
        for (size_t k = 0; k < shard_count; ++k)
          if (replicas_[number].values[*held % versions_max][k] != reference(*held, k))
            return "a replica holds what an undisturbed run has not";
    return "";
  }

  /// "a v0 2.1; s v1 {0..1}; ..., messages": for people.
  std::string text_of(const world& w) const {
    const auto range = [](const index_range& r) {
      return "[" + std::to_string(r.begin) + "," + std::to_string(r.end) + ")";
    };
    std::string result;
    for (auto number : w.replicas) {
      const auto& part = replicas_[number];
      result += process_names[part.id] + (part.alive ? "" : " dead") + " view " +
                std::to_string(part.view.id.number) + " version " +
                std::to_string(part.rule.version()) + " next step " +
                std::to_string(part.first_not_started()) + " slices " + range(part.slices()) + "\n";
    }
    for (auto number : w.shards) {
      const auto& part = shards_[number];
      result += process_names[replica_count + part.index] + " view " +
                std::to_string(part.view.id.number) + " version " +
                std::to_string(part.rule.version()) + " holds";
      for (const auto& node : part.rule.held())
        result += " " + range(node);
      result += "\n";
    }
    result += "director view " + std::to_string(directors_[w.director].view().id.number) +
              " stop " + std::to_string(directors_[w.director].stop_version) + "\n";
    for (size_t number = 0; number < messages_.size(); ++number)
      if (w.messages[number]) {
        const auto& what = messages_[static_cast<uint16_t>(number)];
        result += "  kind " + std::to_string(static_cast<int>(what.kind)) + " " +
                  std::to_string(what.from) + " -> " + std::to_string(what.to) + " version " +
                  std::to_string(what.version) + " " + range(what.elements) + " node " +
                  range(what.node) + "\n";
      }
    return result;
  }

private:
  static constexpr uint64_t none = ~uint64_t{0};

  membership_options options() const {
    membership_options result;
    for (size_t i = 0; i < process_names.size(); ++i)
      result.expected.push_back(
        {process_names[i], i < replica_count ? 1u : 0u, i < replica_count ? 0u : 1u});
    result.slice_count = known_.plan.slice_count;
    result.parameter_count = shard_count * block_size;
    return result;
  }

  uint64_t goal(const world& w) const {
    return std::min(directors_[w.director].stop_version, known_.plan.last_version());
  }

  /// The name of a version of a run by one replica and one shard, told step by step.
  content reference(uint64_t version, size_t shard) const {
    auto& known = reference_[shard];
    if (known.empty())
      known.push_back(derive({3, shard}));
    while (known.size() <= version) {
      const auto step = known.size() - 1;
      const auto start = [&](size_t k) { return k == shard ? known[step] : reference(step, k); };
      std::optional<content> sum; // two slices have one order
      for (size_t slice = 0; slice < known_.plan.slice_count; ++slice)
        if (known_.plan.slice_exists(step, slice)) {
          const auto leaf = derive({2, step, slice, shard, start(0).id, start(1).id});
          sum = sum ? *sum + leaf : leaf;
        }
      known.push_back(derive({4, known[step].id, sum.value().id}));
    }
    return known[version];
  }

  void put(world& w, const replica_process& part) {
    const auto key = derive({part.alive, part.view.id.number, part.rule.version(),
                             part.held.value_or(none), part.holds, part.horizon});
    w.replicas[part.id] = replicas_.number_of(part, key.id ^ part.id);
  }
  void put(world& w, const shard_process& part) {
    const auto key = derive({part.index, part.view.id.number, part.rule.version(), part.held.size(),
                             part.held.empty() ? 0 : part.held[0].id});
    w.shards[part.index] = shards_.number_of(part, key.id);
  }
  void put(world& w, const director_process& part) {
    w.director = directors_.number_of(part, derive({part.view().id.number, part.stop_version,
                                                    static_cast<uint64_t>(part.stop.state())})
                                              .id);
  }

  void send(world& w, const outbox& out) {
    for (const auto& what : out) {
      if (what.to < replica_count && !replicas_[w.replicas[what.to]].alive)
        continue;
      const auto number = messages_.number_of(
        what, derive({static_cast<uint64_t>(what.kind), what.to, what.from, what.version}).id);
      if (number >= world::messages_max)
        throw std::length_error{"too many different messages"};
      w.messages.set(number);
    }
  }

  void deliver(world& w, const message& what) {
    if (what.to < replica_count)
      to_replica(w, what);
    else if (what.to < director_process_id)
      to_shard(w, what);
    else
      to_director(w, what);
  }

  void to_replica(world& w, const message& what) {
    auto part = replicas_[w.replicas[what.to]];
    outbox out;
    if (what.kind == message_kind::parameters)
      part.on_parameters(known_, what, out);
    else if (what.kind == message_kind::view)
      part.on_view(known_, what.news, out);
    else if (what.kind == message_kind::want_gradients)
      part.on_want(known_, what, out);
    else if (what.kind == message_kind::hold)
      part.on_hold(what, out);
    else if (what.kind == message_kind::horizon)
      part.on_horizon(known_, what.version, out);
    put(w, part);
    send(w, out);
  }

  void to_shard(world& w, const message& what) {
    auto part = shards_[w.shards[what.to - replica_count]];
    outbox out;
    if (what.kind == message_kind::contribution)
      part.on_contribution(known_, what, out);
    else if (what.kind == message_kind::view)
      part.on_view(known_, what.news);
    else if (what.kind == message_kind::want_parameters)
      part.on_want(known_, what, out);
    else if (what.kind == message_kind::hold)
      part.on_hold(what, out);
    else if (what.kind == message_kind::horizon)
      part.horizon = what.version;
    put(w, part);
    send(w, out);
  }

  void to_director(world& w, const message& what) {
    auto part = directors_[w.director];
    outbox out;
    if (what.kind == message_kind::loss)
      part.on_loss(what.from, out);
    else if (what.kind == message_kind::held)
      part.on_held(what, out);
    put(w, part);
    send(w, out);
  }

  /// Everybody asks for what it misses, and the director repeats itself to those behind.
  void repair(world& w) {
    outbox out;
    const auto& director = directors_[w.director];
    const auto tell = [&](size_t id, const cluster_view& its_view, uint64_t its_horizon) {
      if (its_view.id < director.view().id)
        director.send_view(id, out);
      if (its_horizon != director.stop_version)
        director.send_horizon(id, out);
    };
    for (auto number : w.replicas) {
      const auto& replica = replicas_[number];
      if (replica.alive)
        replica.repair(out);
      if (director.view().find(process_names[replica.id]))
        tell(replica.id, replica.view, replica.horizon);
    }
    for (auto number : w.shards) {
      shards_[number].repair(out);
      tell(replica_count + shards_[number].index, shards_[number].view, shards_[number].horizon);
    }
    director.ask(director.stop.missing(), out);
    send(w, out);
  }

  void drop_outdated(world& w) const {
    for (size_t number = 0; number < messages_.size(); ++number)
      if (w.messages[number] && is_outdated(w, messages_[static_cast<uint16_t>(number)]))
        w.messages.reset(number);
  }

  bool is_outdated(const world& w, const message& what) const {
    const auto now = directors_[w.director].view().id;
    switch (what.kind) {
    case message_kind::held:
    case message_kind::hold:
      return what.view < now;
    case message_kind::contribution:
      return what.version < shards_[w.shards[what.to - replica_count]].rule.version();
    case message_kind::parameters:
      return what.version < replicas_[w.replicas[what.to]].parameters.key();
    case message_kind::view:
      return what.news.id <= view_of(w, what.to);
    case message_kind::horizon:
      return what.version == horizon_of(w, what.to);
    case message_kind::want_gradients:
      return what.version < shards_[w.shards[what.from - replica_count]].rule.version();
    case message_kind::want_parameters:
      return what.version < replicas_[w.replicas[what.from]].parameters.key();
    case message_kind::loss:
      return false;
    }
    return false;
  }

  view_number view_of(const world& w, size_t id) const {
    return id < replica_count ? replicas_[w.replicas[id]].view.id
                              : shards_[w.shards[id - replica_count]].view.id;
  }

  uint64_t horizon_of(const world& w, size_t id) const {
    return id < replica_count ? replicas_[w.replicas[id]].horizon
                              : shards_[w.shards[id - replica_count]].horizon;
  }

  void add_troubles(const world& w, std::vector<world>& result) {
    for (size_t i = known_.first_troubled; i < replica_count && w.left.crashes > 0; ++i)
      crash(result.emplace_back(w), i);
    if (w.left.stops > 0) {
      auto& stopped = result.emplace_back(w);
      --stopped.left.stops;
      auto part = directors_[w.director];
      outbox out;
      part.on_stop_requested(out);
      put(stopped, part);
      send(stopped, out);
    }
    if (w.left.wants > 0)
      for (size_t id = 0; id < director_process_id; ++id)
        want(result.emplace_back(w), id);
  }

  void crash(world& w, size_t i) {
    --w.left.crashes;
    auto part = replicas_[w.replicas[i]];
    part.alive = false;
    put(w, part);
    for (size_t number = 0; number < messages_.size(); ++number)
      if (messages_[static_cast<uint16_t>(number)].to == i)
        w.messages.reset(number);
    send(w, {{.kind = message_kind::loss, .to = director_process_id, .from = i}});
  }

  void suspect(world& w, size_t i) {
    --w.left.suspicions;
    send(w, {{.kind = message_kind::loss, .to = director_process_id, .from = i}});
  }

  void want(world& w, size_t id) {
    --w.left.wants;
    outbox out;
    if (id >= replica_count)
      shards_[w.shards[id - replica_count]].repair(out);
    else if (replicas_[w.replicas[id]].alive)
      replicas_[w.replicas[id]].repair(out);
    send(w, out);
  }

  cluster_plan known_;
  troubles allowed_;
  pool<replica_process> replicas_;
  pool<shard_process> shards_;
  pool<director_process> directors_;
  pool<message> messages_;
  mutable std::array<std::vector<content>, shard_count> reference_;
};

} // namespace troupe::test
