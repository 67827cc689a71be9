// The end of a run: turns the director's `training_finished` into the application's result. And the status watch during
// the run. `train` uses both, and so does the director's process of a cluster.

#pragma once

#include "actors/protocol/interfaces.hpp"
#include "actors/protocol/messages.hpp"
#include "actors/run/training_result.hpp"
#include "coordinators/base/moment.hpp"
#include "coordinators/job/job.hpp"
#include "data/training_rows/prepare.hpp"
#include "models/network/model.hpp"

#include <caf/fwd.hpp>
#include <caf/scoped_actor.hpp>

#include <functional>
#include <memory>

namespace troupe {

/// Throws the failure that ended a run, if one did.
void throw_if_failed(const training_finished& finished);

/// The final parameters, once the run is finished. Throws failure(internal) when they do not come.
stored_tensor pull_parameters(caf::scoped_actor& self, const director_actor& director);

/// The trained model with the run's figures. `resolved` counts all replicas of the run.
training_result result_of(const job& resolved, std::shared_ptr<const prepared_data> data,
                          const model& network, const stored_tensor& parameters,
                          training_finished&& finished);

// Status watch: asks the director for the status once a second while the calling thread waits for a run.
class status_watch {
public:
  static constexpr milliseconds interval{1'000};
  /// Deadline of an answer, which normally comes within milliseconds. Meanwhile the waiting thread handles no other
  /// message.
  static constexpr milliseconds answer_time_max{1'000};

  /// Calls `tell` on the thread that waits; may be empty.
  status_watch(caf::scoped_actor& self, director_actor director,
               std::function<void(const training_status&)> tell);

  /// Asks if a second has passed.
  void tick();
  /// Asks now; used once more when a run has ended.
  void ask();

private:
  caf::scoped_actor& self_;
  director_actor director_;
  std::function<void(const training_status&)> tell_;
  moment next_{};
};

} // namespace troupe
