// A cluster view: which processes take part in a run, and what each owns, by name.
//
// The director publishes views; no process answers them, and the higher (term, number) wins. Within
// a term spans never move and the optimizer's state lives with them, so losing a node without spans
// costs a new number only: its slices go to others, and what it had sent stays good. Losing a span,
// or the director, starts a new term: all go back to `start_version`, the newest version of which the
// living ones hold copies (cut_rule.hpp), else that of the last complete checkpoint (0: the initial
// parameters, a function of the job).
//
// A view names processes, never actors: each process finds the way to the others by itself.

#pragma once

#include "coordinators/membership/holders.hpp"
#include "coordinators/parallel/grid.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// A process that takes part: its name, which of its lives this is, and what it can do.
struct member {
  std::string name;
  uint64_t incarnation = 0; ///< random, drawn for each link to the director
  size_t replica_count = 0;
  size_t shard_count = 0;
  uint64_t life = 0; ///< of the process, whichever its incarnation; 0: unknown

  bool works() const { return replica_count + shard_count > 0; }
  friend bool operator==(const member&, const member&) = default;
};

/// A replica, for people: its process and its index there.
struct replica_name {
  std::string process;
  uint64_t index = 0;

  friend bool operator==(const replica_name&, const replica_name&) = default;
};

/// A replica and its slices; none: a spare. Where a model is split, those with the same slices are a
/// group.
struct replica_place {
  size_t member = 0; ///< index in the view
  size_t index = 0;  ///< among the member's replicas
  index_range slices;
  index_range segments = {}; ///< of the model that it carries, with `parts`; none: all of it
  index_range parts = {};

  partition work() const { return {slices, segments, parts}; }
  void take(const partition& work) {
    slices = work.slices;
    segments = work.segments;
    parts = work.parts;
  }

  friend bool operator==(const replica_place&, const replica_place&) = default;
};

/// A shard and its blocks. Shards beyond the blocks own none and are not named.
struct shard_place {
  size_t member = 0;
  size_t index = 0; ///< among the member's shards
  index_range blocks;

  friend bool operator==(const shard_place&, const shard_place&) = default;
};

/// Blocks of the state that a term begins with, and who has them.
struct span_holder {
  size_t member = 0; ///< index in the view
  index_range blocks;

  friend bool operator==(const span_holder&, const span_holder&) = default;
};

/// Orders views: the higher one wins.
struct view_number {
  uint64_t term = 0;   ///< counts roll-backs and directors
  uint64_t number = 0; ///< counts views within the term, from 1

  friend auto operator<=>(const view_number&, const view_number&) = default;
};

struct cluster_view {
  view_number id;
  uint64_t start_version = 0; ///< of the term
  std::vector<member> members;
  std::vector<replica_place> replicas; ///< every replica of every member
  std::vector<shard_place> shards;     ///< fixed for the term; the order gives each its index
  bool is_careful = false; ///< after a loss: replicas begin a little later (lost_work.hpp)
  std::vector<span_holder>
    holders{};             ///< of the start version, each block once; none: the director has it
  size_t deputies = 0;     ///< with copies of each span (cut_rule.hpp)
  uint64_t copy_every = 0; ///< steps from one copy to the next; 0: there are none

  /// Index of the member of this name.
  std::optional<size_t> find(std::string_view name) const;
  /// True when a replica of this member owns slices.
  bool computes(size_t member_index) const;
  /// True when this member has replicas: each new version is sent to it, whether they have slices or not.
  bool follows(size_t member_index) const;
  /// True when a shard of this member owns blocks.
  bool holds_spans(size_t member_index) const;
  /// What a member does, for people: "computes slices 2 to 4, and keeps parameters; from step 1200 on".
  std::string work_text(size_t member_index) const;

  friend bool operator==(const cluster_view&, const cluster_view&) = default;
};

// View check: whether a cluster view that came over a wire can be followed here.
//
// A view names replicas, shards, slices and blocks by index. Two processes that were started with
// different cluster files agree on names and mean different things by them; so a process uses nothing
// of a view before it knows that the view fits it. Where a view splits the model, each group must be
// whole: its replicas, those with the same slices, carry every part of every segment once.
/// What a process has, and what the job allows.
struct view_limits {
  std::string self;
  size_t replica_count = 0;
  size_t shard_count = 0;
  /// Of the job; 0: a parameter server's, whose views give each replica a part.
  size_t slice_count = 0;
  size_t parameter_count = 0;
  uint64_t last_version = 0;
  size_t segment_count = 0; ///< of the model; 0: replicas here carry whole models only
  size_t part_count = 0;
  row_holders holders = {};
};

/// Why the view cannot be followed, in words; empty: it can.
std::string misfit_of(const cluster_view& x, const view_limits& here);

} // namespace troupe
