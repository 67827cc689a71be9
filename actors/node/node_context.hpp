// A node's context, shared by all its parts: the actors of its process, its place in the view, and the links to others.
// Only the node itself writes to it (node.hpp); its parts read it and send.

#pragma once

#include "actors/base/exchange_port.hpp"
#include "actors/base/work_gauge.hpp"
#include "actors/protocol/cluster_messages.hpp"
#include "actors/protocol/interfaces.hpp"
#include "actors/protocol/task_messages.hpp"
#include "coordinators/membership/cluster_view.hpp"
#include "coordinators/step/placement.hpp"
#include "models/network/model.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace troupe {

/// Sizes of a parameter server's tasks.
struct task_sizes {
  size_t slot_count = 0;     ///< of the optimizer state that goes with one
  size_t cohort_max = 0;     ///< clients of a federated round; 0: there are none
  bool own_start = false;    ///< members begin with models of their own
  size_t result_vectors = 1; ///< of an update: its values and its state
};

/// Records of a process's work.
struct node_records {
  std::vector<std::shared_ptr<work_gauge>> gauges; ///< of replicas; none: work is not watched
  std::shared_ptr<run_recorder> trace;             ///< of links; null: nothing is recorded
};

/// What parameters begin with.
struct parameter_start {
  uint64_t seed = 0;     ///< of the job
  const_buffer values{}; ///< in working order; none: by the seed
};

struct node_options {
  member self;
  bool wired = true; ///< the run has other processes
  bool kept = false; ///< the shard is a parameter server, and replicas are trainers
  std::shared_ptr<const model> network;
  std::shared_ptr<buffer_pool> parameters; ///< buffers of the model's size
  timeline plan;
  std::vector<index_range> tiles; ///< elements that replicas contribute together; empty: all
  bool sharded = false;           ///< replicas fetch what shards elsewhere own, segment by segment
  evaluation_rows rows;
  row_holders holders; ///< who may compute what
  parameter_start first;
  size_t slot_count = 0; ///< of the owner's state beside the parameters
  task_sizes tasks;
  size_t block_numbers = 0; ///< that shards send each other for a block in a step
  bool has_point = false;   ///< gradients are taken elsewhere than at the parameters
  exchange_options exchange;
  node_listeners listeners = {};
  node_records records;
  std::shared_ptr<piece_carrier> carrier; ///< between processes; null: pieces are messages
  /// Makes a distant trainer, which stands for a trainer of another process.
  std::function<task_taker_actor(local_node_actor::pointer, const trainer_life&)> stand_in;
};

/// How often a node looks for missing data: a quarter of the shortest patience.
inline constexpr milliseconds node_tick_interval{50};

/// Elements that stand for a double.
inline constexpr uint64_t elements_of_double = 2;

struct node_context {
  local_node_actor::pointer self = nullptr;
  node_options options;
  local_company local;
  std::set<size_t> lost_replicas; ///< lost trainers; the others go on
  /// Distant trainers, in a parameter server's process.
  std::map<trainer_life, task_taker_actor> distant;

  director_link_actor director;
  std::map<std::string, node_actor> peers; ///< those with a link
  exchange_port exchange;
  std::function<void()> settle; ///< call it after a response: see exchange_port

  cluster_view view;
  std::optional<size_t> me; ///< index in the view

  moment now() const { return self->clock().now(); }
  bool takes_part() const { return me.has_value(); }
  /// The view's parameter server is in this process.
  bool has_server() const {
    return local.server && me && std::ranges::any_of(view.shards, [this](const auto& place) {
             return is_mine(place) && !place.blocks.empty();
           });
  }
  /// Whether a member gets each new version. Of split models its replicas need no more than their slices' parts.
  bool gets_versions(size_t member) const {
    return splits_model() ? view.computes(member) : view.follows(member);
  }
  /// Whether replicas have buffers of a part of the model.
  bool splits_model() const;
  size_t element_count() const { return options.network->layout().size(); }
  /// The elements of a version's point: behind the parameters, in the same tensor. Empty: there is none.
  index_range point_elements() const {
    const auto count = element_count();
    return {count, options.has_point ? 2 * count : count};
  }
  index_range point_of(const index_range& elements) const {
    return options.has_point
             ? index_range{element_count() + elements.begin, element_count() + elements.end}
             : index_range{};
  }
  /// The elements of these blocks' numbers in the tensor of a step's sums.
  index_range elements_of_sums(const index_range& blocks) const {
    const auto of_block = options.block_numbers * elements_of_double;
    return {blocks.begin * of_block, blocks.end * of_block};
  }
  uint64_t block_of_sums(uint64_t element) const {
    return element / (options.block_numbers * elements_of_double);
  }
  index_range span_of(const shard_place& place) const {
    return elements_of_blocks(place.blocks, element_count());
  }
  /// The parameters that a member's buffers hold: those that its replicas compute with and do not fetch, its spans, and
  /// the first element of each other span. That element shows that the span's version exists. Null: all.
  std::shared_ptr<const element_window> window_of(size_t member) const;
  template <class Place>
  bool is_mine(const Place& place) const {
    return me && place.member == *me;
  }
  /// The actor of this list at a place of the view; null if the place is in another process, or the list is empty.
  template <class Place, class Handle>
  Handle at(const Place& place, const std::vector<Handle>& those) const {
    return is_mine(place) && place.index < those.size() ? those[place.index] : Handle{};
  }
  const std::string& owner_of(const shard_place& place) const {
    return view.members[place.member].name;
  }
  /// The trainer at a place takes tasks of a parameter server beside it, without this node: that has all parameters.
  bool takes_tasks_directly(const replica_place& place) const {
    return is_mine(place) && owner_count() == 1;
  }
  /// Spans of the parameters that an actor owns.
  size_t owner_count() const;
  /// The trainer at a place, or its distant trainer here; null: there is neither.
  task_taker_actor trainer_at(const replica_place& place) const;
  trainer_life life_of(const replica_place& place) const;

  template <class T>
  void tell_director(const T& news) const {
    if (director)
      self->send(director, news);
  }
  template <class T>
  void tell(const std::string& process, const T& news) const {
    if (const auto found = peers.find(process); found != peers.end())
      self->send(found->second, news);
  }
};

} // namespace troupe
