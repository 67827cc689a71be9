// Parameter server's policy: what distinguishes the modes in which a parameter server decides who computes what, and
// what counts. A plain object without vectors: the parameter server (parameter_server.hpp) calls it for each event, and
// it writes its decisions into the records, as entries of their sequence (coordinators/modes/span_model.hpp).
//
//   gradients_policy   each trainer computes steps of its own, whose gradients move one model
//   rounds_policy      members train alone for some steps, then their models are merged
//   federated_policy   clients of a cohort train on their own rows, their updates are added
//   replay_policy      the decisions of an earlier run, again
//
// Its state between versions goes into checkpoints with that of the span model: the policy saves both, and begins with
// both (models/base/saved_state.hpp). A version for a checkpoint is a horizon: when it is reached all earlier tasks are
// finished, and no later one has begun.

#pragma once

#include "actors/protocol/messages.hpp"
#include "actors/protocol/task_messages.hpp"
#include "coordinators/modes/main_model.hpp"
#include "coordinators/modes/span_model.hpp"
#include "coordinators/modes/trainer_roster.hpp"
#include "models/base/saved_state.hpp"

#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// The state that all modes of a parameter server share.
struct server_records {
  main_model model;
  trainer_roster roster{};
  sequence decisions{};
  std::vector<std::string> notices{}; ///< for people, not reported yet
  std::vector<round_record> rounds{}; ///< since the last row of the history
  client_totals clients{};            ///< of all rounds
};

/// The rows that a piece of work trains on.
struct piece_rows {
  uint64_t first_step = 0;
  uint64_t step_count = 1;
  uint64_t slice = 0;
};

/// A version that decisions lead to.
struct next_version {
  uint64_t version = 0;
  batch_sums sums; ///< of its steps
};

/// The outcome of an event; the records have the decisions that belong to it.
struct server_outcome {
  uint64_t staleness = 0;      ///< of a gradient: updates by other trainers since its task
  bool is_discarded = false;   ///< it came too late
  bool completes_step = false; ///< of several gradients
  std::optional<next_version> next{};
  std::string
    when_not_finite{}; ///< the part that is not finite, in words, if that is what the decisions lead to
  std::string problem{};                        ///< why training ends here; empty: it goes on
  step_problem kind = step_problem::not_finite; ///< of the problem
};

class server_policy {
public:
  server_policy() = default;
  virtual ~server_policy() = default;
  server_policy(const server_policy&) = delete;
  server_policy& operator=(const server_policy&) = delete;

  /// Begins training from the records' version, with the trainers on the roster and the span model of that version.
  /// `saved`: the state of `save` at this version; null at version 0. Throws std::invalid_argument for another job's
  /// state.
  virtual void begin(server_records& records, span_model& span, state_loader* saved) = 0;
  /// Saves what `begin` needs beside the version's parameters; called when no task is open. Its shape is always that
  /// of server_state_of (coordinators/job/training_modes.hpp).
  virtual void save(state_saver& out, const span_model& span) const = 0;
  /// A trainer has joined at this place, or is lost; the parameter server drops its task.
  virtual void on_joined(size_t) {}
  virtual server_outcome on_lost(size_t, server_records&, moment) { return {}; }
  /// For people: what the number of remaining trainers means.
  virtual std::string remark() const { return {}; }

  /// Passes the next piece of the timeline if it has no work, and returns the outcome.
  virtual std::optional<server_outcome> pass_over(server_records&, moment) { return std::nullopt; }
  /// Pieces below this number may begin now.
  virtual uint64_t piece_limit(server_records& records) = 0;
  /// A task for the free trainer at this place, without its vectors; nothing: it must wait.
  virtual std::optional<trainer_task> task_for(size_t place, server_records& records,
                                               moment now) = 0;
  /// A task's result, whose vectors are here. Takes or drops the task.
  virtual server_outcome on_result(const trainer_result& news, server_records& records,
                                   moment now) = 0;

  /// Leaves a piece of work out. The problem says why training cannot go on without it.
  virtual server_outcome on_left_out(uint64_t piece, server_records& records, moment now) = 0;
  /// The piece in words, and its rows.
  virtual std::string in_words(uint64_t piece) const = 0;
  virtual piece_rows rows_of(uint64_t piece) const = 0;

  /// Training is to end at the first step that has not begun: what waits for others is to end soon.
  virtual void on_hold() {}
  /// The first step that has not begun.
  virtual uint64_t next_step(const server_records& records) const = 0;
  /// The piece of work of a task or result, and the current round.
  virtual uint64_t piece_of(uint64_t member, uint64_t step) const = 0;
  virtual uint64_t round() const { return 0; }
  /// True if figures of each trainer's work would reveal something secret.
  virtual bool hides_work() const { return false; }
  /// True if a lost trainer's task goes to another as it is: under its ticket, from the same parameters.
  virtual bool keeps_tasks() const { return false; }
};

} // namespace troupe
