// Replica with rows of its own, as a member of a coordinator (coordinator.hpp): it joins by its name, asks for work, computes
// on its rows, which never leave it, and hands in what came of it. So on until the coordinator says that it is over.
//
//   auto rows = rows_of(prepare_data(job, std::move(mine))).train;
//   system.spawn(replicate, replica_of_rows{.coordinator = main, .name = "garden 1", .network = network, .rows = rows});
//
// What it sends is the coordinator's choice: the sum of the gradient of one batch, or parameters after `local_steps`
// batches. Each epoch visits its rows in an order of its own, by `seed` and its name.
//
// A coordinator that does not answer is asked again, after 0.1 s to 2 s, for as long as its handle lives. The replica ends
// with the reason when the handle's actor has ended, when the coordinator refuses it, and when it refuses five updates in a
// row. A name is one living replica's: another of the name waits until that has ended.

#pragma once

#include "actors/base/guard.hpp"
#include "actors/protocol/coordinator_messages.hpp"
#include "coordinators/job/job.hpp"
#include "coordinators/modes/gradients_coordinator.hpp"
#include "data/training_rows/row_source.hpp"
#include "models/network/model.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct replica_of_rows {
  coordinator_actor coordinator{};
  std::string name{}; ///< of one living member at a time
  std::shared_ptr<const model> network{};
  std::shared_ptr<const row_source> rows{}; ///< at least one
  size_t batch_size = 32;                   ///< 0: all rows
  uint64_t seed = 0;
  size_t local_steps = 1;        ///< models: batches from the main model on, >= 1
  optimizer_options optimizer{}; ///< models: begins anew from each main model
  milliseconds timeout{10'000};  ///< of a question; longer than the coordinator's `wait_max`
};

/// A member that trains as a resolved job says: batches, seed, local steps, optimizer. See coordinator_of_job.
replica_of_rows replica_of_job(const job& resolved, const coordinator_actor& main,
                               const std::string& name, std::shared_ptr<const model> network,
                               std::shared_ptr<const row_source> rows);

using member_replica_actor = caf::typed_actor<caf::reacts_to<atom::tick>>;

class member_replica_state {
public:
  explicit member_replica_state(member_replica_actor::pointer self) : self_(self) {}

  member_replica_actor::behavior_type make_behavior(const replica_of_rows& options);

  static inline const char* name = "member-replica";

private:
  void on_tick();
  /// Asks the next question.
  void go_on();
  void ask_again_later();
  void on_work(const member_work& work);
  void send(const member_update& update);
  void on_report(const update_report& report);
  /// The values to hand in, and of how many samples.
  member_update update_of(const member_work& work);
  batch next_batch();

  member_replica_actor::pointer self_;
  replica_of_rows options_;
  std::optional<epoch_order> order_;
  std::optional<membership> place_; ///< nothing: it has to join
  uint64_t step_ = 0;               ///< batches so far
  milliseconds delay_{0};           ///< before the next question, after one without an answer
  uint64_t refused_in_row_ = 0;
  batch_reader reader_;
  workspace memory_;
};

/// Options that do not fit each other end the actor with the reason.
member_replica_actor::behavior_type
replicate(self_pointer<member_replica_actor, member_replica_state> self,
          const replica_of_rows& options);

} // namespace troupe
