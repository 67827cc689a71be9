// Replica: computes the gradients of the slices it owns and evaluates its share of the
// test and validation rows.
//
// When to do what is decided by `replica_rule`; this shell keeps the parameters of the versions it
// was told of, and does the work: gather rows, compute, send each gradient to every shard.
// What it may add of them it adds before it sends: the sums below nodes of the canonical tree. Where a
// model is split over several replicas, it does its partition of each (partition_member.hpp).

#pragma once

#include "actors/base/guard.hpp"
#include "actors/protocol/cluster_messages.hpp"
#include "actors/step/partition_member.hpp"
#include "actors/step/replica_options.hpp"
#include "coordinators/base/span_set.hpp"
#include "coordinators/step/replica_rule.hpp"
#include "coordinators/step/timeline.hpp"
#include "data/training_rows/batch_reader.hpp"
#include "models/math/reduction.hpp"
#include "models/network/model.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace troupe {

class replica_state {
public:
  explicit replica_state(replica_actor::pointer self) : self_(self) {}

  replica_actor::behavior_type make_behavior(const replica_options& options);

  /// What it computes at this moment, in words; empty: nothing.
  std::string work_in_hand() const;

  static inline const char* name = "replica";

private:
  /// A sum over some of its slices that no shard has been told of yet.
  struct partial_sum {
    tree_node node;
    buffer values;
    batch_sums sums;
  };

  struct owned_version {
    const_buffer parameters;
    payload point; ///< where gradients are taken; empty: at the parameters
  };
  /// What the time that a step takes is told from.
  struct step_times {
    std::optional<uint64_t> step;      ///< in which a slice was computed last
    moment begin{};                    ///< of the step under way, less what evaluating took
    moment::duration evaluated_for{0}; ///< since the step before
    moment not_before{};               ///< nothing is computed earlier: of a careful view
    bool waits = false;                ///< for that moment
    std::optional<size_t> slice;       ///< that is being computed
  };

  void on_view(const view& news);
  void on_parameter_span(const parameter_span& news);
  void on_horizon(const horizon& news);
  void on_hold(uint64_t round);

  void rest();
  /// A new life: at the start version, with nothing computed.
  void restart(const view& news);
  /// Computes slices that came with a view in the middle of a step, and evaluates likewise.
  void catch_up();
  /// Does what can be done now, until there is nothing but to wait.
  void advance();
  void evaluate(uint64_t version);
  /// Those slices of `step` that it owns and has not computed yet.
  void compute(uint64_t step);
  /// Computes a slice and adds it to the parts that it completes.
  void add_slice(uint64_t step, size_t slice);
  batch_sums compute_slice(uint64_t step, size_t slice, buffer& gradient,
                           const gradient_listener* listener);
  /// Adds these elements of `part` to those of the parts before it, as far as the tree has them
  /// added; returns the sum, which lies in the storage of the leftmost part.
  partial_sum sum_with_parts(const partial_sum& part, const index_range& elements) const;
  /// Where the gradients of a step are taken.
  std::span<const float> point_of(uint64_t step) const;
  /// Of the whole model; where it is split, of the window that is here.
  std::span<const float> parameters_of(uint64_t version) const;
  std::chrono::nanoseconds computed_for() const;
  /// True when the shard that owns it is in another process.
  bool goes_over_wires(size_t element) const;
  /// True when its node is told of a gradient piece by piece.
  bool sends_early(uint64_t step, size_t slice) const;
  void send_begun(uint64_t step, const partial_sum& part, const index_range& elements);
  void poison_if_asked(uint64_t step, size_t slice, buffer& gradient) const;
  void send(uint64_t step, const partial_sum& part);
  /// True when its slices are to be added before they are sent; but for tests always.
  bool adds_here() const;
  void on_summation(const summation& news);

  void on_boundary(const boundary& news);
  void on_segment_parameters(const segment_parameters& news);
  /// Of a model that is shared: computes a tile, and goes on with the next one after whatever came.
  void work_on();
  bool compute_tile();
  bool is_busy();

  replica_actor::pointer self_;
  size_t index_ = 0;
  replica_options options_;
  replica_rules rule_;
  bool has_view_ = false;
  view view_;
  index_range slices_;
  index_range evaluation_share_;               ///< its chunks of an evaluation
  std::vector<index_range> elements_;          ///< by shard
  std::map<uint64_t, owned_version> versions_; ///< from the one in work
  std::unique_ptr<partition_member> member_;   ///< where several share a model
  bool goes_on_ = false;                       ///< it has told itself to
  batch_reader reader_;
  workspace memory_;
  reducer reducer_;
  replica_status status_;
  std::vector<partial_sum> parts_; ///< of the step under way, while it is computed
  step_times times_;
  span_set computed_;       ///< slices of the step that was begun last
  span_set reported_early_; ///< elements of its last part, which went out while it was computed
};

replica_actor::behavior_type replica(self_pointer<replica_actor, replica_state> self,
                                     const replica_options& options);

} // namespace troupe
