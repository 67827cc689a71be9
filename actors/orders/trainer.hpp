// Trainer: the replica of the modes where a keeper owns all parameters. It computes what it is
// ordered to: the gradient of a whole step, the local steps of a member, its share of an
// evaluation. What it answers follows from the order and the job alone.
//
//   keeper --trainer_order--> trainer --trainer_result--> keeper
//   keeper --evaluation_order--> trainer --evaluation--> director
//
// The keeper decides what may begin: of views, horizons and requests to hold a trainer hears nothing.

#pragma once

#include "troupe/actors/base/guard.hpp"
#include "troupe/actors/base/test_hooks.hpp"
#include "troupe/actors/base/work_gauge.hpp"
#include "troupe/actors/protocol/trainer_messages.hpp"
#include "troupe/coordinators/step/timeline.hpp"
#include "troupe/data/training_rows/batch_reader.hpp"
#include "troupe/data/training_rows/epoch_order.hpp"
#include "troupe/data/training_rows/prepare.hpp"
#include "troupe/models/math/reduction.hpp"
#include "troupe/models/network/model.hpp"
#include "troupe/models/training/regularization.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <memory>

namespace troupe {

/// What all trainers of a process share.
struct trainer_options {
  std::shared_ptr<const model> network;
  std::shared_ptr<const prepared_data> data;
  std::shared_ptr<const epoch_order> order;
  std::shared_ptr<buffer_pool> pool; ///< buffers of the model's size
  timeline plan;
  std::shared_ptr<const optimizer> rule; ///< of local steps
  regularization changes;                ///< of the mean gradient of local steps
  test_hooks hooks;
  uint64_t seed = 0; ///< of the job
  /// Members from this one on hand in their update reversed and `flip_factor` times as long.
  uint64_t first_flipped_member = ~uint64_t{0};
  double flip_factor = 1;
  std::shared_ptr<work_gauge> gauge = {}; ///< each one's own; null: nobody judges its work
};

class trainer_state {
public:
  explicit trainer_state(trainer_actor::pointer self) : self_(self) {}

  trainer_actor::behavior_type make_behavior(const trainer_options& options);

  static inline const char* name = "trainer";

private:
  void on_order(const trainer_order& order);
  void on_evaluation(const evaluation_order& order);

  trainer_result compute(const trainer_order& order);
  /// The sums of a step's slice, its gradient in `out`.
  batch_sums gradient_of(uint64_t step, size_t slice, std::span<const float> parameters,
                         std::span<float> out);
  void take_local_steps(const trainer_order& order, trainer_result& result);
  bool take_step(uint64_t step, const batch_sums& sums, std::span<const float> gradient,
                 const optimizer_state& state, std::span<const float> at, std::span<float> next);
  /// Tells the keeper, later than it could if a test wants this trainer to be slow.
  void answer(const trainer_order& order, trainer_result result);

  trainer_actor::pointer self_;
  trainer_options options_;
  batch_reader reader_;
  reducer reducer_;
  workspace memory_;
  replica_status status_;
};

trainer_actor::behavior_type trainer(self_pointer<trainer_actor, trainer_state> self,
                                     const trainer_options& options);

} // namespace troupe
