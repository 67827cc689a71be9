// Coordinator as an actor: it owns the main model, and members in any process move it, with gradients at it or with models
// that they trained from it, on rows of their own. Members come and go at any time; each has a name.
//
//   member --join, name, itself--> coordinator --membership-->     again after each start, and when it is told to
//          --pull, membership----> work: go (a ticket, parameters), wait, join again, over
//          --member_update-------> update_report: applied, held, refused, join again
//   anyone --watch, itself-------> the main model after updates, one at a time, until it ends
//          --save----------------> its version, once it is on the disk
//
// A pull is answered at once or, while the member has to wait for others, after `wait_max` at the latest. Coordinators
// decide as coordinators/members/member_coordinator.hpp says. With a store of checkpoints the actor goes on from the
// newest one that is its own; what came after that is lost, and members join again. A checkpoint is written in a turn of the
// actor, so members wait for the disk. The actor lives until it is told to exit (caf::anon_send_exit), stopped or not.
//
//   auto main = system.spawn(coordinate, coordinator_options{"main", {rule}, initial});
//   system.spawn(replicate, replica_of_rows{main, "garden 1", network, rows});   // member_replica.hpp

#pragma once

#include "actors/base/guard.hpp"
#include "actors/protocol/coordinator_messages.hpp"
#include "actors/run/configure.hpp"
#include "coordinators/job/job.hpp"
#include "coordinators/members/member_coordinator.hpp"
#include "models/network/model.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

class checkpoint_store; // data/checkpoint/checkpoint_store.hpp

/// How often a coordinator looks at the clock: waits end this much late.
inline constexpr milliseconds coordinator_tick_interval{50};

struct coordinator_options {
  std::string name = "main"; ///< checkpoints of another name are none of its
  member_coordinator_options members{};
  const_buffer initial{}; ///< P: the main model to begin with
  /// Where checkpoints are read from at the start and written to; null: none are. One coordinator has it alone.
  std::shared_ptr<checkpoint_store> store{};
  uint64_t checkpoint_every = 0; ///< versions; 0: only `save` and the end by `stop` write one
  uint64_t publish_every = 1;    ///< versions between main models that watchers get, >= 1
  milliseconds wait_max{1'000};  ///< a pull is answered with `wait` after it
  /// A checkpoint that was due could not be written: called in the actor, each time. Null: nobody hears of it.
  std::function<void(const failure&)> on_problem{};
};

/// The coordinator that a resolved job describes: strategy "gradients" with its consistency ("synchronous": each step is
/// of one gradient of each replica), or "parameters" with its merge rule, one model of each member a round. The model
/// begins as the job's seed says. Before as many members as the job has replicas, or members, have joined nobody gets
/// work. Checkpoints come every `checkpoint.every_steps` versions, once the caller adds a store.
///
/// Epochs and steps are not counted: the caller ends it. Throws failure(bad_job) for what it cannot do: federated
/// training, solvers, rules that read results; with "parameters" schedules, averages and elastic averaging.
coordinator_options coordinator_of_job(const job& resolved, const model& network);

class coordinator_state {
public:
  explicit coordinator_state(coordinator_actor::pointer self) : self_(self) {}

  coordinator_actor::behavior_type make_behavior(const coordinator_options& options);

  static inline const char* name = "coordinator";

private:
  struct waiting_pull {
    membership who;
    moment due;
    caf::typed_response_promise<member_work> promise;
  };

  caf::result<membership> on_join(const std::string& name, const caf::actor& who);
  caf::result<member_work> on_pull(const membership& who);
  update_report on_update(const member_update& news);
  void on_watch(const model_listener_actor& watcher);
  caf::result<uint64_t> on_save();
  caf::result<uint64_t> on_stop();
  void on_down(const caf::down_msg& news);
  void on_tick();

  parameter_span main_model() const;
  void publish();
  void publish_to(const model_listener_actor& watcher);
  member_work work_of(member_task&& task) const;
  uint64_t save();
  void save_if_due(uint64_t steps);
  /// After whatever may have changed the model or let members go on.
  void settle();
  /// Answers who has stopped it once all members know, or `due`.
  void end_if_all_know(bool due);
  void restore();
  std::string identity() const;

  coordinator_actor::pointer self_;
  coordinator_options options_;
  std::optional<member_coordinator> rule_;
  std::map<uint64_t, std::pair<membership, caf::actor_addr>>
    members_;                                     ///< by number; those that are here
  std::map<uint64_t, waiting_pull> waiting_;      ///< by member
  std::map<model_listener_actor, bool> watchers_; ///< whether a model is under way to it
  bool is_over_ = false;                          ///< it was stopped
  uint64_t saved_version_ = 0, published_version_ = 0;
  std::vector<caf::typed_response_promise<uint64_t>> stops_; ///< to be answered
  moment stop_due_{};
};

/// Options that do not fit each other, and checkpoints of which none can be used, end the actor with the reason.
coordinator_actor::behavior_type coordinate(self_pointer<coordinator_actor, coordinator_state> self,
                                            const coordinator_options& options);

} // namespace troupe
