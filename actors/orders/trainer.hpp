// Trainer: the replica of the modes where a parameter server owns all parameters. It computes what it is
// ordered to: the gradient of a whole step, the local steps of a member, clients of a federated
// round, its share of an evaluation. What it answers follows from the order and the job alone.
//
//   parameter server --trainer_order--> trainer --trainer_result--> parameter server
//   parameter server --evaluation_order--> trainer --evaluation--> director
//
// The parameter server decides what may begin: of views, horizons and requests to hold a trainer hears nothing.

#pragma once

#include "actors/base/guard.hpp"
#include "actors/base/job_rows.hpp"
#include "actors/base/test_hooks.hpp"
#include "actors/base/work_gauge.hpp"
#include "actors/orders/client_work.hpp"
#include "actors/protocol/order_messages.hpp"
#include "coordinators/step/timeline.hpp"
#include "data/records/run_recorder.hpp"
#include "models/network/model.hpp"
#include "models/training/local_training.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace troupe {

/// What all trainers of a process share.
struct trainer_options {
  std::shared_ptr<const job_rows> rows;
  std::shared_ptr<buffer_pool> pool; ///< buffers of the model's size
  timeline plan;
  local_training_options training;                ///< the model, and how it takes steps of its own
  std::shared_ptr<const federation> clients = {}; ///< of a federated run
  test_hooks hooks;
  row_namer names = {};
  /// Members from this one on hand in their update reversed and `flip_factor` times as long.
  uint64_t first_flipped_member = ~uint64_t{0};
  double flip_factor = 1;
  std::shared_ptr<work_gauge> gauge = {}; ///< each one's own; null: nobody judges its work
  std::shared_ptr<trace_ring> trace = {}; ///< likewise; null: no timeline is wanted
};

class trainer_state {
public:
  explicit trainer_state(trainer_actor::pointer self) : self_(self) {}

  trainer_actor::behavior_type make_behavior(const trainer_options& options);

  /// What it computes at this moment, in words; empty: nothing.
  std::string work_in_hand() const;

  static inline const char* name = "trainer";

private:
  void on_order(const trainer_order& order);
  void on_evaluation(const evaluation_order& order);

  trainer_result compute(const trainer_order& order);
  /// The rows of a step's slice, which are in hand from here on; good until the next call.
  batch rows_of(uint64_t step, size_t slice);
  void take_local_steps(const trainer_order& order, trainer_result& result);
  void train_clients(const trainer_order& order, trainer_result& result);
  /// Tells the parameter server, later than it could if a test wants this trainer to be slow.
  void answer(const trainer_order& order, trainer_result result);

  trainer_actor::pointer self_;
  trainer_options options_;
  batch_reader reader_;
  std::optional<local_training> training_;
  std::optional<client_work> clients_;
  workspace memory_;
  replica_status status_;
  std::optional<std::pair<uint64_t, size_t>> in_hand_; ///< step and slice
};

trainer_actor::behavior_type trainer(self_pointer<trainer_actor, trainer_state> self,
                                     const trainer_options& options);

} // namespace troupe
