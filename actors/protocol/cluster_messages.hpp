// The messages between processes: fields, meaning, units. All may be lost, late, or come twice.
//
// All vectors travel by the exchange (tensor_messages.hpp).

#pragma once

#include "actors/protocol/tensor_messages.hpp"
#include "coordinators/links/link_watch.hpp"
#include "coordinators/membership/cut_rule.hpp"
#include "coordinators/membership/work_watch.hpp"
#include "coordinators/run/hold_rule.hpp"
#include "coordinators/run/still_clock.hpp"
#include "coordinators/run/waits.hpp"

#include <caf/allowed_unsafe_message_type.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

class version_buffers;

/// Called with a process's newest view, the incarnation it joined as, and its work in words; empty: the view does not
/// name that. Then the process was turned away, and may join anew.
using standing_listener =
  std::function<void(const view_number& view, uint64_t incarnation, const std::string& work)>;

/// Called with the reason why this process cannot follow a view: its cluster file differs from the
/// director's.
using misfit_listener = std::function<void(const std::string& why)>;

TROUPE_INSPECTED(member);
TROUPE_INSPECTED(replica_place);
TROUPE_INSPECTED(shard_place);
TROUPE_INSPECTED(span_holder);
TROUPE_INSPECTED(held_copy);
TROUPE_INSPECTED(held_copies);
TROUPE_INSPECTED(view_number);
TROUPE_INSPECTED(cluster_view);

/// director -> all nodes, and again every second. How far training may go, and up to which versions
/// reports and checkpoints are complete.
struct directive {
  uint64_t term = 0;
  uint64_t sequence = 0; ///< of directives and holds within the term; the higher one wins
  horizon_rule rule;
  uint64_t row_version = 0;        ///< rows up to this version are complete: their reports may go
  uint64_t checkpoint_version = 0; ///< of the last complete checkpoint: older copies may go
  uint64_t round = 0; ///< counts the director's requests for replicas' figures; reports carry it
  uint64_t sent = 0;  ///< when, in nanoseconds of the director's clock

  friend bool operator==(const directive&, const directive&) = default;
};

TROUPE_INSPECTED(directive);

/// director -> a node that was taken out, until it joins anew, where no view can tell it: nobody else has its rows, its
/// part of the model, or shards.
struct given_up {
  uint64_t incarnation = 0; ///< of the node

  friend bool operator==(const given_up&, const given_up&) = default;
};

TROUPE_INSPECTED(given_up);

/// director -> all nodes, until all computing nodes have answered. Start no further step.
struct hold_request {
  uint64_t term = 0;
  uint64_t sequence = 0; ///< as in `directive`; also names the round

  friend bool operator==(const hold_request&, const hold_request&) = default;
};

TROUPE_INSPECTED(hold_request);
TROUPE_INSPECTED(hold_answer);

/// director -> all nodes, until they have reported them: which copies of spans does the process hold? A term is to begin.
/// Until then the process forgets none, and its shards stop at their next copy.
struct copies_request {
  uint64_t term = 0; ///< that begins next
  uint64_t last = 0; ///< the one that nodes are in; of another one's director the question is none

  friend bool operator==(const copies_request&, const copies_request&) = default;
};

TROUPE_INSPECTED(copies_request);

/// Between node and director: the few numbers that belong to a shard's state at a version.
struct shard_numbers {
  uint64_t version = 0;
  uint64_t first_element = 0;  ///< of the shard's span
  std::vector<double> numbers; ///< of the optimizer; usually none
  bool keeps_metrics = false;
  batch_sums metrics; ///< since the last finished epoch, from the shard that keeps the metrics

  friend bool operator==(const shard_numbers&, const shard_numbers&) = default;
};

TROUPE_INSPECTED(shard_numbers);
TROUPE_INSPECTED(awaited);
TROUPE_INSPECTED(work_piece);
TROUPE_INSPECTED(work_report);
TROUPE_INSPECTED(link_report);

/// Times by which the director compares its clock with the node's, in nanoseconds. Zero: no
/// directive yet.
struct clock_stamps {
  uint64_t directive_sent = 0;  ///< of the last directive, by the director's clock
  uint64_t directive_heard = 0; ///< when that came, by the node's clock
  uint64_t told = 0;            ///< when this report left, by the node's clock

  friend bool operator==(const clock_stamps&, const clock_stamps&) = default;
};

/// node -> director: a process, about itself.
struct node_report {
  std::string name;
  uint64_t incarnation = 0;
  view_number view;                     ///< the newest one it has
  std::optional<uint64_t> left;         ///< its version when that view came; nothing: none
  std::optional<uint64_t> held;         ///< the newest version that is whole here
  std::vector<uint64_t> shard_versions; ///< of local shards with a span
  std::vector<replica_status> replicas; ///< of local replicas
  uint64_t round = 0;                   ///< of the last directive when they were asked
  std::vector<std::string> unreachable; ///< members it has no link to
  std::vector<std::string> linked;      ///< processes that it has links to, while no view names it
  traffic wire;                         ///< with other processes
  std::vector<awaited> waits;           ///< what it waits for; none: it works
  work_report work;                     ///< how it gets on with it
  uint64_t replicas_lost = 0;           ///< of its own, while it went on with the others
  trainer_figures figures;              ///< of all, where they are counted; else none
  clock_stamps clock{};
  std::vector<link_report> links{}; ///< with other processes
  std::vector<still_gap> gaps{};    ///< in which this process saw no new version, the last few
  held_copies copies{};             ///< since the director asked for them
  bool leaves = false;              ///< it asks to (coordinators/membership/leave_rule.hpp)

  /// The newest version that a shard of the process has, or that is whole there.
  std::optional<uint64_t> version() const {
    auto result = held;
    for (const auto one : shard_versions)
      result = std::max(result.value_or(0), one);
    return result;
  }

  friend bool operator==(const node_report&, const node_report&) = default;
};

TROUPE_INSPECTED(still_gap);
TROUPE_INSPECTED(node_report);

/// shard -> its node, within a process: the shard's state at a version.
struct shard_copy {
  uint64_t version = 0;
  uint64_t shard = 0; ///< index in the view
  payload parameters;
  std::vector<payload> slots;
  shard_numbers numbers;
  bool is_saved = true; ///< it goes to a checkpoint
  bool is_kept = false; ///< it goes to deputies (coordinators/membership/cut_rule.hpp)
  bool is_cut = false;  ///< it stays here: a term begins at this version

  friend bool operator==(const shard_copy&, const shard_copy&) = default;
};

TROUPE_INSPECTED(shard_copy);

/// node -> one of its replicas: contributions to add along the tree. Never crosses a wire.
struct summation {
  uint64_t term = 0;
  uint64_t step = 0;
  tree_node node;
  reduction_plan plan;             ///< over `parts`
  std::vector<contribution> parts; ///< of the whole model, in order
};

/// node -> its shards, before the first view of a term: where to write versions, and the state to
/// start from. Never crosses a wire.
struct shard_start {
  uint64_t term = 0;
  std::shared_ptr<version_buffers> versions; ///< holds the span's parameters of the start version
  std::vector<payload> slots;                ///< empty: zeros, the state before any step
  shard_numbers numbers;
  /// The span's parameters; none: take those in `versions`, whose window may have changed since.
  float_view parameters{};
  std::shared_ptr<version_buffers> points{}; ///< where to write points; null: there are none
  bool is_saved = true;                      ///< there is a checkpoint of it
};

/// Called in a turn of the node; each may be empty.
struct node_listeners {
  standing_listener on_standing;
  misfit_listener on_misfit;
  /// The process asked to leave, and may: the director has let it go, or no director knows of it.
  std::function<void(bool is_let_go)> on_left;
};

} // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::shard_start)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::summation)
