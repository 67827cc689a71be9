// Span owner: owns a span of the parameters in a process that has no parameter server, in the asynchronous and merged
// modes. It follows the parameter server's decisions, in order, and so comes to the model that one owner of all elements
// would have (coordinators/modes/span_model.hpp). To director and node it is a shard.
//
//   parameter server ==== decisions ===> node --sequence_news--> span owner
//   worker's process ==== update ======> node --span_update----> |
//   worker's process <=== vectors ====== node <--given_vectors---+   of each task that is given
//
// Where a decision says so it reports the hash of a row's version, or copies its state for a checkpoint: both at exactly
// that version. A model that would not be finite ends the run, as there.

#pragma once

#include "actors/base/guard.hpp"
#include "actors/protocol/task_messages.hpp"
#include "actors/spans/span_start.hpp"
#include "coordinators/modes/main_model.hpp"
#include "data/records/run_recorder.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct span_owner_options {
  timeline plan;
  size_t parameter_count = 0; ///< of the whole model
  span_maker make_span;
  state_shape saved{};                    ///< of the job's state
  size_t numbers_before = 0;              ///< in that, of the policy
  std::shared_ptr<trace_ring> trace = {}; ///< null: no timeline is wanted
};

class span_owner_state {
public:
  explicit span_owner_state(span_owner_actor::pointer self) : self_(self) {}

  span_owner_actor::behavior_type make_behavior(const span_owner_options& options);

  static inline const char* name = "span owner";

private:
  void on_view(const view& news);
  void start();
  void on_sequence(const sequence_news& news);
  void apply(const sequence_entry& entry);
  void give(const sequence_entry& task);
  void mark(const sequence_entry& what);
  caf::result<parameter_span> on_pull(uint64_t version);
  parameter_span span_of(uint64_t version, const const_buffer& parameters) const;
  void answer_waiting();
  void stop_here(const std::string& what, step_problem problem);

  struct waiting_pull {
    uint64_t version = 0;
    caf::typed_response_promise<parameter_span> promise;
  };

  span_owner_actor::pointer self_;
  span_owner_options options_;
  std::optional<shard_start> start_; ///< of the term it names
  view view_;
  std::optional<sequence_follower> span_; ///< since the term began
  main_model versions_{{}};
  std::vector<waiting_pull> waiting_; ///< of later versions; the caller's deadline bounds the wait
};

span_owner_actor::behavior_type span_owner(self_pointer<span_owner_actor, span_owner_state> self,
                                           const span_owner_options& options);

} // namespace troupe
