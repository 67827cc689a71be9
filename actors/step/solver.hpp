// Solver: trains a small regression by itself, with methods that need all rows at once.
//
// To the director it is one replica and one shard, so a run has the same history, evaluation, stop
// rules and result as any other. It holds the one slice and all blocks, exchanges nothing, and each
// version is one solution:
//   closed-form    version 1 is the least-squares solution (models/solvers/least_squares.hpp)
//   gauss-newton   each version is one step of Gauss-Newton (models/solvers/least_squares.hpp)
// Rows of the history show the loss of their own version. Between two steps the solver handles
// other messages; during a step only the director answers.

#pragma once

#include "actors/base/guard.hpp"
#include "actors/protocol/cluster_messages.hpp"
#include "coordinators/step/replica_rule.hpp"
#include "data/training_rows/row_source.hpp"
#include "models/metrics/metric_set.hpp"
#include "models/network/model.hpp"
#include "models/optimizers/optimizer_options.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// A member that goes from step to step, and the owner of all parameters.
using solver_actor = step_member_actor::extend<
  // To itself: the next step may begin.
  caf::reacts_to<atom::begin>,
  // As an owner: holds the parameters of the start version.
  caf::reacts_to<shard_start>,
  // As an owner: the parameters of the current or the previous version.
  caf::replies_to<atom::pull, uint64_t>::with<parameter_span>,
  // As an owner: empty figures, for no replica waits.
  caf::replies_to<atom::figures>::with<trainer_figures>>;

struct solver_options {
  std::shared_ptr<const model> network;
  row_parts rows;
  timeline plan;               ///< full batches of one slice
  optimizer_options optimizer; ///< of a solver kind, resolved
  std::vector<std::string> feature_names;
  metric_set metrics{};
};

class solver_state {
public:
  explicit solver_state(solver_actor::pointer self) : self_(self) {}

  solver_actor::behavior_type make_behavior(const solver_options& options);

  static inline const char* name = "solver";

private:
  void on_start(const shard_start& news);
  void on_view(const view& news);
  void on_horizon(const horizon& news);
  void on_hold(uint64_t round);
  caf::result<parameter_span> on_pull(uint64_t version) const;

  /// Evaluates, and begins one step if it may.
  void advance();
  void evaluate();
  /// Adds sums over fixed chunks of rows to `out`.
  void evaluate_chunks(const row_source& rows, const metric_set& metrics, evaluation& out);
  void step();
  /// Writes the parameters of the next version. Throws std::invalid_argument when there is no
  /// single solution.
  void solve(std::span<float> next);
  void adopt(const const_buffer& next);
  void stop_here(const std::string& what, bool unsolvable);

  solver_actor::pointer self_;
  solver_options options_;
  std::optional<replica_rule> rule_; ///< since the first view
  view view_;
  std::shared_ptr<version_buffers> versions_;
  const_buffer current_;
  const_buffer previous_;
  batch_reader reader_;
  workspace memory_;
  replica_status status_;
  bool failed_ = false;
  std::chrono::steady_clock::time_point begin_;
};

solver_actor::behavior_type solver(self_pointer<solver_actor, solver_state> self,
                                   const solver_options& options);

} // namespace troupe
