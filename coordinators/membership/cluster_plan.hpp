// The plan of a cluster: its processes and what each is to bring, as the cluster file says it.
//
// The order matters twice: of two processes the later one dials the earlier one, but the director is dialled by all; and
// views keep this order. The plan decides placement only, never the trained bits.
//
// A cluster may take in nodes that its file does not list ([join]). Such a node adds itself to its own plan, last; the
// plans of all others have the listed ones alone.

#pragma once

#include "coordinators/base/carrier_choice.hpp"
#include "coordinators/base/moment.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace troupe {

/// What a node may be called: it becomes part of file names, of a certificate, and of lines for people.
bool is_node_name(std::string_view text);

struct cluster_node {
  std::string name;
  std::string address; ///< "host:port" or "[v6]:port", dialled by the others
  std::string listen;  ///< likewise, of this machine; empty: as `address`; port 0: any free one
  bool is_director = false;
  size_t replica_count = 0;
  size_t shard_count = 0;
  std::optional<uint64_t> memory_bytes = {}; ///< that it may take; absent: as its machine has
  bool holds_rows = false;                   ///< it has rows of its own, which others may not have
  bool is_listed = true;                     ///< in the cluster file; else it is this process
  std::string device = {}; ///< that its replicas compute on; empty: runtime.device

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
  bool director_pauses =
    false; ///< asked to end it says no farewell: the others wait for its next life

  friend bool operator==(const cluster_recovery&, const cluster_recovery&) = default;
};

/// Nodes that no file lists: what each brings, and what admits it.
struct cluster_join {
  std::string accepts =
    "join";           ///< with TLS: the DNS name in the certificate of a node that may join
  std::string listen; ///< "host:port"; port 0: any free one
  size_t replica_count = 1;
  size_t shard_count = 1;

  friend bool operator==(const cluster_join&, const cluster_join&) = default;
};

struct cluster_plan {
  std::vector<cluster_node> nodes; ///< exactly one is the director
  cluster_timeouts timeouts;
  cluster_recovery recovery;
  bool insecure = false;            ///< plain connections to other machines are wanted
  std::optional<size_t> min_nodes;  ///< to begin with, listed or not; absent: all that are listed
  std::optional<cluster_join> join; ///< absent: the listed nodes alone take part
  std::optional<size_t> max_nodes;  ///< with `join`: listed and unlisted ones together
  carrier_choice carrier = carrier_choice::automatic;

  std::optional<size_t> find(std::string_view name) const {
    const auto found = std::ranges::find(nodes, name, &cluster_node::name);
    return found == nodes.end() ? std::nullopt
                                : std::optional{static_cast<size_t>(found - nodes.begin())};
  }

  /// True when nodes have rows of their own.
  bool has_holders() const { return std::ranges::any_of(nodes, &cluster_node::holds_rows); }

  /// Of the nodes of the file: part of what a job is, in modes whose steps go by them.
  size_t listed_replica_count() const {
    size_t result = 0;
    for (const auto& node : nodes)
      result += node.is_listed ? node.replica_count : 0;
    return result;
  }

  bool lists(std::string_view name) const {
    const auto place = find(name);
    return place && nodes[*place].is_listed;
  }
  size_t listed_count() const {
    return static_cast<size_t>(std::ranges::count(nodes, true, &cluster_node::is_listed));
  }
  /// Nodes that may take part at a time.
  size_t node_count_max() const { return join && max_nodes ? *max_nodes : nodes.size(); }
  /// Of them those that no file lists.
  size_t joiner_count_max() const { return node_count_max() - listed_count(); }

  /// Of two nodes the later one dials: all dial the director, listed ones those before them in the file, and all others
  /// these, and those with earlier names.
  bool is_before(const std::string& a, const std::string& b) const {
    const auto place = [this](const std::string& name) {
      const auto found = lists(name) ? *find(name) : nodes.size();
      const bool is_listed = found < nodes.size();
      return std::tuple{!is_listed || !nodes[found].is_director, found,
                        is_listed ? std::string{} : name};
    };
    return place(a) < place(b);
  }

  /// The DNS name by which a node proves that it may be called so: its own, or the one of all that join.
  const std::string& proof_name(const std::string& name) const {
    return join && !lists(name) ? join->accepts : name;
  }

  /// Of all nodes that may take part at a time.
  size_t replica_count_max() const {
    return listed_replica_count() + (join ? joiner_count_max() * join->replica_count : 0);
  }

  /// True when the loss of a node that is not the director takes parameters with it.
  bool can_lose_spans() const {
    return (join && join->shard_count > 0) || std::ranges::any_of(nodes, [](const cluster_node& x) {
             return !x.is_director && x.shard_count > 0;
           });
  }

  /// The plan of a run where an actor of the director's process, the parameter server, makes all decisions; no run
  /// outlives that process. It owns all parameters, or a span of them: one more has each node with shards, unless the
  /// mode needs one owner.
  cluster_plan with_server(bool has_one_owner) const {
    auto result = *this;
    const size_t most = has_one_owner ? 0 : 1;
    for (auto& node : result.nodes)
      node.shard_count = node.is_director ? 1 : std::min(node.shard_count, most);
    if (result.join)
      result.join->shard_count = std::min(result.join->shard_count, most);
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
};

/// What the files of all processes must have in common, as lines "key = value": the nodes in their
/// order, what each brings, which is the director, who may join, and the timeouts. Addresses may differ: each
/// process sees the others from where it is.
std::string cluster_words(const cluster_plan& plan);

} // namespace troupe
