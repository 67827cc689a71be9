// Replica: computes the gradients of the slices it owns and evaluates its share of the
// test and validation rows.
//
// `replica_rule` decides what to do next. This shell keeps the parameters of announced versions and
// does the work: gather rows, compute, send each gradient to every shard. Before it sends it adds
// gradients of neighbouring slices, as far as the canonical tree allows. Where several replicas
// share a model, it computes its partition of each slice (partition_member.hpp).

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

  /// What the replica computes now, in words; empty: nothing.
  std::string work_in_hand() const;

  static inline const char* name = "replica";

private:
  /// A sum over some of its slices that is not sent yet.
  struct partial_sum {
    tree_node node;
    std::span<float> place; ///< of its values: in `values`, or on a device (model::room_there)
    buffer values;          ///< empty while they are on a device
    batch_sums sums;

    /// Brings the values to the processor's memory, if they are on a device.
    void fetch(buffer_pool& pool);
  };

  struct owned_version {
    const_buffer parameters;
    payload point; ///< where to take gradients; empty: at the parameters
  };
  /// Times and places of the step under way.
  struct step_times {
    std::optional<uint64_t> step;      ///< in which a slice was computed last
    moment begin{};                    ///< of the step under way, moved back by evaluation time
    moment::duration evaluated_for{0}; ///< since the step before
    moment not_before{};               ///< a careful view: compute nothing earlier
    bool waits = false;                ///< for that moment
    bool adds_there = false;           ///< where the model is computed, if it has room there
    std::optional<size_t> slice;       ///< that is being computed
  };

  void on_view(const view& news);
  void on_parameter_span(const parameter_span& news);
  void on_horizon(const horizon& news);
  void on_hold(uint64_t round);

  void rest();
  /// Begins anew at the view's start version, with nothing computed.
  void restart(const view& news);
  /// Computes slices, and evaluates chunks, that a view brought in the middle of a step.
  void catch_up();
  /// Does all that can be done now.
  void advance();
  void evaluate(uint64_t version);
  /// Computes the slices of `step` that it owns and has not computed yet.
  void compute(uint64_t step);
  /// Computes a slice and adds it to the parts that it completes.
  void add_slice(uint64_t step, size_t slice);
  /// With room for values.
  partial_sum new_sum(size_t slice);
  batch_sums compute_slice(uint64_t step, size_t slice, std::span<float> gradient,
                           const gradient_listener* listener);
  /// Adds these elements of `part` to the parts on its left, as far as the tree adds them. Returns
  /// the sum, which lies in the storage of the leftmost part.
  partial_sum sum_with_parts(const partial_sum& part, const index_range& elements) const;
  /// The parameters at which a step's gradients are taken.
  std::span<const float> point_of(uint64_t step) const;
  /// The parameters of the whole model; where it is split, those of this process's window.
  std::span<const float> parameters_of(uint64_t version) const;
  std::chrono::nanoseconds computed_for() const;
  /// True if the element's shard is in another process.
  bool goes_over_wires(size_t element) const;
  /// True if the replica sends its node this gradient piece by piece.
  bool sends_early(uint64_t step, size_t slice) const;
  void send_begun(uint64_t step, const partial_sum& part, const index_range& elements);
  void send(uint64_t step, partial_sum part);
  /// True if the replica adds its slices before it sends them: always, except in tests.
  bool adds_here() const;
  void on_summation(const summation& news);

  void on_boundary(const boundary& news);
  void on_segment_parameters(const segment_parameters& news);
  /// For a shared model: computes a tile, handles the messages that have come, then computes the
  /// next.
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
  std::vector<index_range> evaluation_shares_; ///< its chunks of an evaluation
  std::vector<index_range> elements_;          ///< by shard
  std::map<uint64_t, owned_version> versions_; ///< from the one in work
  std::unique_ptr<partition_member> member_;   ///< where several share a model
  bool goes_on_ = false;                       ///< a tick to itself is on its way
  batch_reader reader_;
  workspace memory_;
  reducer reducer_;
  replica_status status_;
  std::vector<partial_sum> parts_; ///< of the step under way, while it is computed
  step_times times_;
  span_set computed_;       ///< slices of the step that was begun last
  span_set reported_early_; ///< elements of its last part that went out during the computation
};

replica_actor::behavior_type replica(self_pointer<replica_actor, replica_state> self,
                                     const replica_options& options);

} // namespace troupe
