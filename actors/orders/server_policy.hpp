// Parameter server's policy: what distinguishes the modes in which one parameter server owns all parameters. A plain
// object; the parameter server (parameter_server.hpp) asks it whenever something happened, and it writes into the records.
//
//   gradients_policy   each trainer computes steps of its own, whose gradients move one model
//   rounds_policy      members train alone for some steps, then their models are merged
//   federated_policy   clients of a cohort train on their own rows, their updates are added
//
// What a policy remembers from one version to the next goes into checkpoints: it saves it, and begins
// with it (models/base/saved_state.hpp). The parameter server does all the rest. A version that is to be
// checkpointed is a horizon: when it is reached everything that was begun is done, and nothing new has
// been begun.

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

/// All that a parameter server knows, whatever its mode.
struct server_records {
  main_model model;
  trainer_roster roster{};
  std::vector<std::string> notices{}; ///< for people, not told yet
  std::vector<round_record> rounds{}; ///< since the last row of the history
  client_totals clients{};            ///< of all rounds
};

/// What a piece of work trains on.
struct piece_rows {
  uint64_t first_step = 0;
  uint64_t step_count = 1;
  uint64_t slice = 0;
};

/// What became of a result that counts.
struct used_result {
  uint64_t staleness = 0;      ///< of a gradient: updates of others since its order
  bool is_discarded = false;   ///< it came too late
  bool completes_step = false; ///< of several gradients
  std::string not_finite{};    ///< what of it or after it is; empty: nothing
  step_problem problem = step_problem::not_finite; ///< or another one, in `not_finite`
};

class server_policy {
public:
  server_policy() = default;
  virtual ~server_policy() = default;
  server_policy(const server_policy&) = delete;
  server_policy& operator=(const server_policy&) = delete;

  /// Training begins from the model, with those on the roster, and with what was saved at its version:
  /// null at version 0. Throws std::invalid_argument for what another job's policy saved.
  virtual void begin(server_records& records, state_loader* saved) = 0;
  /// What `begin` needs beside the model, at a version with nothing in work. Always of the shape that
  /// server_state_of tells (coordinators/job/training_modes.hpp).
  virtual void save(state_saver& out) const = 0;
  /// Somebody sits there, or does not any more. What of the model after a loss is not finite; empty:
  /// nothing.
  virtual void on_joined(size_t) {}
  virtual std::string on_lost(size_t, server_records&, moment) { return {}; }
  /// What it means that so many are left, for people.
  virtual std::string remark() const { return {}; }

  /// The next piece of the timeline, when it has no work for anybody: the model went past it.
  virtual std::optional<used_result> pass_over(server_records&, moment) { return std::nullopt; }
  /// Pieces below it may be begun now.
  virtual uint64_t piece_limit(server_records& records) = 0;
  /// Work for somebody who is free; nothing: it is to wait.
  virtual std::optional<trainer_order> order_for(size_t place, server_records& records,
                                                 moment now) = 0;
  virtual used_result on_result(const trainer_result& news, server_records& records,
                                moment now) = 0;

  /// Nobody does this piece of work any more. Why training cannot go on without it; empty: it does.
  virtual std::string on_left_out(uint64_t piece, server_records& records, moment now) = 0;
  /// In words, and its rows.
  virtual std::string in_words(uint64_t piece) const = 0;
  virtual piece_rows rows_of(uint64_t piece) const = 0;

  /// The first step that has not begun.
  virtual uint64_t next_step(const server_records& records) const = 0;
  /// What an order or result is about: its piece of work, and the round.
  virtual uint64_t piece_of(uint64_t member, uint64_t step) const = 0;
  virtual uint64_t round() const { return 0; }
  /// Who did how much would tell of what nobody is to know.
  virtual bool hides_work() const { return false; }
};

} // namespace troupe
