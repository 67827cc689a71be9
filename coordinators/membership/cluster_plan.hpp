// The plan of a cluster: its processes and what each is to bring, as the cluster file says it.
//
// The order matters twice: of two processes the later one dials the earlier one, and views keep
// this order. The plan decides placement only, never the trained bits.

#pragma once

#include "coordinators/base/carrier_choice.hpp"
#include "coordinators/base/moment.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

struct cluster_node {
  std::string name;
  std::string address; ///< "host:port" or "[v6]:port", dialled by the others
  std::string listen;  ///< likewise, of this machine; empty: as `address`; port 0: any free one
  bool is_director = false;
  size_t replica_count = 0; ///< with shard_count 0 too: a spare
  size_t shard_count = 0;
  std::optional<uint64_t> memory_bytes = {}; ///< that it may take; absent: as its machine has
  bool holds_rows = false;                   ///< it has rows of its own, which others may not have

  bool is_spare() const { return replica_count + shard_count == 0; }
  friend bool operator==(const cluster_node&, const cluster_node&) = default;
};

struct cluster_timeouts {
  milliseconds heartbeat{1'000};  ///< between signs of life on a quiet link
  milliseconds lost_after{5'000}; ///< a link that is silent for so long is lost
  milliseconds join{60'000};      ///< to wait for others, at the start and whenever they are needed
  milliseconds settle{5'000}; ///< with `min_nodes`: to wait at the start behind the last that came
  milliseconds leave{25'000}; ///< a process that asks to leave goes then at the latest

  friend bool operator==(const cluster_timeouts&, const cluster_timeouts&) = default;
};

/// Copies of spans in the memory of other nodes (cut_rule.hpp), by which synchronous training goes on after a loss.
struct cluster_recovery {
  size_t copies = 1; ///< of each span
  std::optional<uint64_t> copy_every =
    {}; ///< steps; absent: copies are a twentieth of what is sent

  friend bool operator==(const cluster_recovery&, const cluster_recovery&) = default;
};

struct cluster_plan {
  std::vector<cluster_node> nodes; ///< exactly one is the director
  cluster_timeouts timeouts;
  cluster_recovery recovery;
  bool insecure = false; ///< plain connections to other machines are wanted
  /// Nodes to begin with, spares that stand in included; absent: all that are no spares.
  std::optional<size_t> min_nodes;
  carrier_choice carrier = carrier_choice::automatic;

  std::optional<size_t> find(std::string_view name) const {
    const auto found = std::ranges::find(nodes, name, &cluster_node::name);
    return found == nodes.end() ? std::nullopt
                                : std::optional{static_cast<size_t>(found - nodes.begin())};
  }

  /// True when nodes have rows of their own.
  bool has_holders() const { return std::ranges::any_of(nodes, &cluster_node::holds_rows); }

  /// Of all nodes.
  size_t replica_count() const {
    size_t result = 0;
    for (const auto& node : nodes)
      result += node.replica_count;
    return result;
  }

  /// What the process of a node has ready: a spare as much as any other brings, for whichever of
  /// them it is to stand in for.
  size_t replicas_ready(const cluster_node& node) const {
    return node.is_spare() ? most(&cluster_node::replica_count) : node.replica_count;
  }
  size_t shards_ready(const cluster_node& node) const {
    return node.is_spare() ? most(&cluster_node::shard_count) : node.shard_count;
  }

  /// True when the loss of a node that is not the director takes parameters with it.
  bool can_lose_spans() const {
    return std::ranges::any_of(
      nodes, [](const cluster_node& x) { return !x.is_director && x.shard_count > 0; });
  }

  /// The plan of a run where an actor of the director's process, the parameter server, makes all decisions; no run
  /// outlives that process. It owns all parameters, or a span of them: one more has each node with shards, unless the
  /// mode needs one owner.
  cluster_plan with_server(bool has_one_owner) const {
    auto result = *this;
    for (auto& node : result.nodes)
      node.shard_count = node.is_director ? 1
                         : has_one_owner  ? 0
                                          : std::min<size_t>(node.shard_count, 1);
    return result;
  }
  /// The director is the first node: with fewer blocks of parameters than shards it has one still.
  cluster_plan with_director_first() const {
    auto result = *this;
    std::stable_partition(result.nodes.begin(), result.nodes.end(),
                          [](const cluster_node& x) { return x.is_director; });
    return result;
  }

  friend bool operator==(const cluster_plan&, const cluster_plan&) = default;

private:
  size_t most(size_t cluster_node::*count) const {
    size_t result = 0;
    for (const auto& node : nodes)
      result = std::max(result, node.*count);
    return result;
  }
};

/// What the files of all processes must have in common, as lines "key = value": the nodes in their
/// order, what each brings, which is the director, and the timeouts. Addresses may differ: each
/// process sees the others from where it is.
std::string cluster_words(const cluster_plan& plan);

} // namespace troupe
