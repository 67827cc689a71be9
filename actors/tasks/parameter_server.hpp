// Parameter server: decides, in the asynchronous and merged modes, which trainer computes what next, and what counts. It
// owns all parameters, or the span of its process: others follow its decisions (span_owner.hpp). To director and node it
// is a shard, and its trainers are the replicas.
//
//   node --view, start, horizon, hold--> parameter server --training_report--> director
//                                          |   |    ^
//           trainer_task, evaluation_task|   |    |trainer_result
//                                          v   |    |
//                                           trainers --evaluation--> director
//                                              +--sequence_news--> node ==> owners of other spans
//
// A mode's policy makes its decisions (server_policy.hpp). The roster knows which trainer has which work
// (coordinators/modes/trainer_roster.hpp), the main model the versions (coordinators/modes/main_model.hpp). A span model
// has the vectors, and follows the sequence of decisions (coordinators/modes/span_model.hpp). This shell turns messages
// into calls and tasks into messages.
//
// Like a shard, a parameter server begins a term with the state in `shard_start`: a checkpoint's, or the initial one.
// It copies its state at each version for a checkpoint, as soon as it reaches it. At that moment no task is open, so
// the copy has exactly the results of all earlier tasks.

#pragma once

#include "actors/base/guard.hpp"
#include "actors/base/job_rows.hpp"
#include "actors/base/test_hooks.hpp"
#include "actors/base/version_buffers.hpp"
#include "actors/protocol/cluster_messages.hpp"
#include "actors/spans/span_start.hpp"
#include "actors/tasks/decision_record.hpp"
#include "actors/tasks/server_policy.hpp"
#include "data/records/run_recorder.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace troupe {

struct server_options {
  timeline plan; ///< of as many slices as there are members; of one where there are none
  evaluation_rows rows;
  std::shared_ptr<server_policy> policy; ///< used by this actor alone
  size_t parameter_count = 0;            ///< of the whole model
  span_maker make_span;
  test_hooks hooks;
  state_shape saved{};           ///< what the policy saves
  uint64_t checkpoint_every = 0; ///< steps between checkpoints (checkpoint_rule.hpp); 0: none
  roster_options roster = {};
  row_namer rows_of = {};                 ///< null: rows are not named
  std::string record = {};                ///< file that gets the decisions; empty: none does
  std::shared_ptr<trace_ring> trace = {}; ///< null: no timeline is wanted
};

class server_state {
public:
  explicit server_state(server_actor::pointer self) : self_(self) {}

  server_actor::behavior_type make_behavior(const server_options& options);

  static inline const char* name = "server";

private:
  void on_view(const view& news);
  void forget_all();
  void start();
  size_t place(const trainer_entry& who);
  void join(const trainer_entry& who);
  void lose(size_t place);
  void on_down(const caf::down_msg& news);
  void on_horizon(const horizon& news);
  void on_hold(uint64_t replica, uint64_t round);
  caf::result<parameter_span> on_pull(uint64_t version);
  trainer_figures on_figures() const;
  void on_result(const trainer_result& news);

  /// Gives a task to each free trainer that may have one, and the other owners the decisions so far.
  void hand_out();
  void give_tasks();
  void send_evaluations();
  /// Has the version evaluated, and reports it, if due.
  void publish();
  /// Sends the node the state of a version for a checkpoint, once.
  void copy_if_due();
  void report(const main_model::report_mark& mark, const std::string& notice);
  /// Reports for people that a trainer is lost, or has joined.
  void say_who_is_left(const std::string& what);
  /// A lost trainer's task is over.
  void drop(uint64_t ticket);
  /// The span follows the decisions, which lead to this version, the current one if it is none. False: a value of its model would not be finite.
  bool follow(std::optional<uint64_t> version = {});
  /// The span follows the policy's decisions; then acts on the outcome. False: training ends here.
  bool use(server_outcome outcome);
  void stop_here(const std::string& what, step_problem problem = step_problem::not_finite);
  void tell_director(const std::string& what, step_problem problem);
  /// Takes back overdue tasks, and leaves out pieces that ended every trainer that had them.
  void see_to_time();
  bool leave_out(uint64_t piece);
  void take_up(size_t place);
  void note(const trainer_event& news) const;
  moment now() const { return self_->clock().now(); }

  struct waiting_pull {
    uint64_t version = 0;
    caf::typed_response_promise<parameter_span> promise;
  };

  server_actor::pointer self_;
  server_options options_;
  server_records records_{main_model{{}}};
  std::optional<sequence_follower> span_;  ///< since the term began
  std::vector<sequence_entry> for_others_; ///< decisions that other owners do not have yet
  std::set<uint64_t> evaluated_;           ///< versions whose model is kept for evaluations
  decision_record record_;
  std::optional<shard_start> start_; ///< of the term it names; nothing to begin from was here yet
  uint64_t copied_version_ = 0;
  std::vector<waiting_pull> waiting_; ///< until it begins; the caller's deadline bounds the wait
  view view_;
  uint64_t last_ticket_ = 0;            ///< of all terms
  uint64_t tickets_before_ = 0;         ///< this term: the policy's begin anew with it
  bool ticks_ = false;                  ///< a tick is on its way
  std::vector<std::string> left_out_;   ///< of this term
  std::vector<trainer_entry> trainers_; ///< by place: the current trainer, or the last one
};

server_actor::behavior_type parameter_server(self_pointer<server_actor, server_state> self,
                                             const server_options& options);

} // namespace troupe
