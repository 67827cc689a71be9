// Parameter server's policy: what distinguishes the modes in which one parameter server owns all parameters. A plain
// object: the parameter server (parameter_server.hpp) calls it for each event, and it writes into the records.
//
//   gradients_policy   each trainer computes steps of its own, whose gradients move one model
//   rounds_policy      members train alone for some steps, then their models are merged
//   federated_policy   clients of a cohort train on their own rows, their updates are added
//
// A policy's state between versions goes into checkpoints: the policy saves it, and begins with it
// (models/base/saved_state.hpp). The parameter server does all the rest. A version for a checkpoint is a horizon: when
// it is reached all earlier orders are finished, and no later one has begun.

#pragma once

#include "actors/protocol/messages.hpp"
#include "actors/protocol/order_messages.hpp"
#include "coordinators/modes/main_model.hpp"
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

/// The outcome of a result that counts.
struct used_result {
  uint64_t staleness = 0;      ///< of a gradient: updates by other trainers since its order
  bool is_discarded = false;   ///< it came too late
  bool completes_step = false; ///< of several gradients
  std::string not_finite{};    ///< the part that is not finite, in words; empty: none
  step_problem problem = step_problem::not_finite; ///< what `not_finite` describes
};

class server_policy {
public:
  server_policy() = default;
  virtual ~server_policy() = default;
  server_policy(const server_policy&) = delete;
  server_policy& operator=(const server_policy&) = delete;

  /// Begins training from the model, with the trainers on the roster. `saved`: the state of `save` at this version;
  /// null at version 0. Throws std::invalid_argument for another job's state.
  virtual void begin(server_records& records, state_loader* saved) = 0;
  /// Saves what `begin` needs beside the model; called when no order is open. Its shape is always that of
  /// server_state_of (coordinators/job/training_modes.hpp).
  virtual void save(state_saver& out) const = 0;
  /// A trainer has joined at this place, or is lost. `on_lost` returns the part of the model that is not finite after
  /// the loss; empty: none.
  virtual void on_joined(size_t) {}
  virtual std::string on_lost(size_t, server_records&, moment) { return {}; }
  /// For people: what the number of remaining trainers means.
  virtual std::string remark() const { return {}; }

  /// Passes the next piece of the timeline if it has no work, and returns the outcome.
  virtual std::optional<used_result> pass_over(server_records&, moment) { return std::nullopt; }
  /// Pieces below this number may begin now.
  virtual uint64_t piece_limit(server_records& records) = 0;
  /// An order for the free trainer at this place; nothing: it must wait.
  virtual std::optional<trainer_order> order_for(size_t place, server_records& records,
                                                 moment now) = 0;
  virtual used_result on_result(const trainer_result& news, server_records& records,
                                moment now) = 0;

  /// Leaves a piece of work out. Returns why training cannot go on without it; empty: it can.
  virtual std::string on_left_out(uint64_t piece, server_records& records, moment now) = 0;
  /// The piece in words, and its rows.
  virtual std::string in_words(uint64_t piece) const = 0;
  virtual piece_rows rows_of(uint64_t piece) const = 0;

  /// The first step that has not begun.
  virtual uint64_t next_step(const server_records& records) const = 0;
  /// The piece of work of an order or result, and the current round.
  virtual uint64_t piece_of(uint64_t member, uint64_t step) const = 0;
  virtual uint64_t round() const { return 0; }
  /// True if figures of each trainer's work would reveal something secret.
  virtual bool hides_work() const { return false; }
};

} // namespace troupe
