// A node between neighbours that a test plays: a director, another process, a replica and a shard
// of its own. Everything they hear is written down; time is virtual.
//
// Two processes share a run of 6,000 parameters, four slices, two steps an epoch, the second one
// with rows for slices 1 and 3 only: "here" owns slices 0 and 1 and the first block, "there" the
// rest.

#pragma once

#include "actors/node/node.hpp"
#include "actors/run/train.hpp"
#include "coordinators/step/placement.hpp"
#include "models/network/neural_network.hpp"
#include "tests/support/heard.hpp"
#include "tests/support/payloads.hpp"
#include "tests/support/testing_system.hpp"

#include <caf/actor_cast.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <bit>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe::test {

class played_node : public testing_system {
public:
  static constexpr size_t parameter_count = 6000;
  static constexpr size_t here_count = block_size; ///< elements of the shard here
  static constexpr size_t piece_elements = 1500;   ///< three pieces here, two there

  explicit played_node(size_t slot_count = 0, size_t credit_bytes = link_credit_bytes,
                       size_t replica_count = 1) {
    neural_network_options line;
    line.features = parameter_count - 1;
    line.outputs = 1;
    line.loss = loss_kind::squared;
    node_options options;
    options.self = {"here", 7, 1, 1};
    options.network = std::make_shared<neural_network>(line);
    options.parameters = std::make_shared<buffer_pool>(parameter_count);
    options.plan = {
      .row_count = 6, .batch_size = 4, .slice_count = 4, .epoch_count = 4, .step_limit = {}};
    options.slot_count = slot_count;
    options.block_numbers = 1;
    options.exchange = {credit_bytes, piece_elements};
    options.records.gauges = {gauge};
    options.listeners.on_left = [this](bool is_let_go) { left.push_back(is_let_go); };
    options.listeners.on_standing = [this](const view_number&, uint64_t, const std::string& work) {
      standings.push_back(work);
    };
    replica_actor_ = system_->spawn(played_replica, &replica);
    shard_actor_ = system_->spawn(played_shard, &shard);
    director_actor_ = system_->spawn(played_director, &director);
    there_actor_ = system_->spawn(played_peer, &there);
    stranger_actor_ = system_->spawn(played_peer, &stranger);
    local_company local;
    for (size_t i = 0; i < replica_count; ++i)
      local.add(replica_actor_);
    local.add(shard_actor_);
    node_ = system_->spawn(troupe::node, options, local);
    link_there(9);
    caf::anon_send(node_, std::string{"stranger"}, uint64_t{11}, stranger_actor_);
    caf::anon_send(node_, uint64_t{7}, director_actor_);
    run();
  }

  ~played_node() {
    const auto end = [](const auto& actor) {
      caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
    };
    end(node_);
    end(replica_actor_);
    end(shard_actor_);
    end(director_actor_);
    end(there_actor_);
    end(stranger_actor_);
    run();
  }

  template <class... Ts>
  void tell(const Ts&... message) {
    caf::anon_send(node_, message...);
    run();
  }

  void lose_director() {
    caf::anon_send_exit(director_actor_, caf::exit_reason::user_shutdown);
    run();
  }

  /// A link with the neighbour, which has this number.
  void link_there(uint64_t number) { tell(std::string{"there"}, number, there_actor_); }

  /// The neighbour says that all pieces have come that were sent there so far.
  void acknowledge_there() {
    link_position seen{9, 0};
    for (const auto& piece : there.pieces)
      seen.bytes = std::max(seen.bytes, piece.what.stamp.bytes);
    tell(sent_credit{{from_there(), seen}});
  }

  /// Time passes, tick by tick.
  void wait(milliseconds time) {
    for (milliseconds passed{0}; passed < time; passed += node_tick_interval) {
      scheduler_->advance_time(node_tick_interval);
      run();
    }
  }

  /// Nothing runs for so long, as when the machine sleeps; then this message is the first one.
  template <class... Ts>
  void sleep_before(milliseconds time, const Ts&... message) {
    caf::anon_send(node_, message...);
    scheduler_->advance_time(time);
    run();
  }

  /// A view of both processes, and a directive to version 8.
  void begin(uint64_t term = 1, uint64_t start_version = 0) {
    tell(both(term, 1, start_version));
    tell(directive{term, 1, {8, true}, 0, 0});
  }

  static cluster_view both(uint64_t term, uint64_t number, uint64_t start_version = 0) {
    return {{term, number},
            start_version,
            {{"here", 7, 1, 1}, {"there", 9, 1, 1}},
            {{0, 0, {0, 2}}, {1, 0, {2, 4}}},
            {{0, 0, {0, 1}}, {1, 0, {1, 2}}}};
  }

  /// The neighbour speaks.
  static speaker from_there() { return {"there", false}; }

  /// Elements [first, first + size) of a tensor: each value is its element's number.
  static tensor_piece piece_of(const tensor_name& name, size_t first, size_t size) {
    return {name, first, counting_from(static_cast<float>(first), size), {}, {}};
  }
  /// Parameters of any version, from the neighbour.
  static sent_piece piece_there(uint64_t version, size_t first, size_t size, uint64_t term = 1) {
    return {{from_there(), piece_of({tensor_kind::parameters, term, version}, first, size)}};
  }
  /// A checkpoint's state, from the director.
  static sent_piece state_piece(const tensor_name& name, size_t first, size_t size) {
    return {{speaking_director(), piece_of(name, first, size)}};
  }
  static parameter_span span_here(uint64_t version, uint64_t term = 1) {
    return {term, version, 0, counting_from(0, here_count)};
  }
  /// Everything of a version, from the shard here and from there.
  void give_version(uint64_t version) {
    tell(span_here(version));
    tell(piece_there(version, here_count, parameter_count - here_count));
  }

  /// What travels with each piece of a gradient.
  static tensor_note note_of(const batch_sums& sums, uint64_t replica) {
    return {{std::bit_cast<uint64_t>(sums.loss_sum), sums.sample_count, sums.correct_count,
             std::bit_cast<uint64_t>(sums.squared_error_sum)},
            {replica, 0}};
  }
  /// Elements [first, first + size) of what slices 2 and 3 of a step add up to.
  static sent_piece gradient_there(uint64_t step, size_t first, size_t size) {
    auto result = piece_of({tensor_kind::gradient, 1, step, {2, 4}}, first, size);
    result.note = note_of({0.5, 2, 1, 0}, 1);
    return {{from_there(), result}};
  }

  void kill_shard() {
    caf::anon_send_exit(shard_actor_, caf::exit_reason::kill);
    run();
  }

  moment now() const { return scheduler_->clock().now(); }
  const local_node_actor& node() const { return node_; }
  /// Somebody for a name of the test's own.
  const node_actor& third() const { return stranger_actor_; }

  heard director, there, stranger, replica, shard;
  std::vector<bool> left;             ///< it may end, and whether the director lets it go
  std::vector<std::string> standings; ///< its work, or nothing
  const std::shared_ptr<work_gauge> gauge = std::make_shared<work_gauge>(); ///< of the replica

private:
  replica_actor replica_actor_;
  shard_actor shard_actor_;
  director_link_actor director_actor_;
  node_actor there_actor_, stranger_actor_;
  local_node_actor node_;
};

/// One that has a view of both processes.
struct begun_node : played_node {
  explicit begun_node(size_t slot_count = 0, size_t credit_bytes = link_credit_bytes)
    : played_node(slot_count, credit_bytes) {
    begin();
  }
};

/// And all of version 0.
struct node_at_start : begun_node {
  node_at_start() { give_version(0); }
};

/// What is at elements [first, first + size): their numbers.
inline std::vector<float> counted(size_t first, size_t size) {
  return values_of(counting_from(static_cast<float>(first), size));
}

inline std::vector<tensor_piece> pieces_of(const heard& who, tensor_kind kind) {
  std::vector<tensor_piece> result;
  for (const auto& one : who.pieces)
    if (one.what.of.kind == kind)
      result.push_back(one.what);
  return result;
}

inline std::vector<tensor_want> wants_of(const heard& who, tensor_kind kind) {
  std::vector<tensor_want> result;
  for (const auto& one : who.wants)
    if (one.what.of.kind == kind)
      result.push_back(one.what);
  return result;
}

/// What pieces hold, in the order of their elements.
inline std::vector<float> joined(std::vector<tensor_piece> pieces) {
  std::ranges::sort(pieces, {}, &tensor_piece::first_element);
  std::vector<float> result;
  for (const auto& piece : pieces)
    result.insert(result.end(), piece.values.values().begin(), piece.values.values().end());
  return result;
}

/// All elements, of all slices when it is a gradient.
inline sent_want asking(const speaker& asker, tensor_kind kind, uint64_t key, uint64_t term = 1) {
  const auto node = kind == tensor_kind::gradient ? tree_node{0, 4} : only_leaf;
  return {{asker, {{kind, term, key, node}, {{0, played_node::parameter_count}}, false}}};
}

} // namespace troupe::test
