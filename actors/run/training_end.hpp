// The end of a run: from the director's last word to the result an application is handed; and the watch
// until then. Shared by `train`, where all is in one process, and by the director's process of a cluster.

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

/// What was learned, with its figures. `resolved` counts all replicas of the run.
training_result result_of(const job& resolved, std::shared_ptr<const prepared_data> data,
                          const model& network, const stored_tensor& parameters,
                          training_finished&& finished);

// Status watch: somebody looks on while a run is waited for. The director is asked once a second how training goes.
class status_watch {
public:
  static constexpr milliseconds interval{1'000};
  /// For an answer, which comes within milliseconds: whoever waits hears nothing else meanwhile.
  static constexpr milliseconds answer_time_max{1'000};

  /// `tell` is called on the thread that waits, and may be empty.
  status_watch(caf::scoped_actor& self, director_actor director,
               std::function<void(const training_status&)> tell);

  /// Asks when it is time to.
  void tick();
  /// Asks now: the last time, when a run has ended.
  void ask();

private:
  caf::scoped_actor& self_;
  director_actor director_;
  std::function<void(const training_status&)> tell_;
  moment next_{};
};

} // namespace troupe
