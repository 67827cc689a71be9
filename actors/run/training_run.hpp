// A run beside an application's actors: `start_training` returns at once, with an actor that is the run.
//
//   auto run = troupe::start_training(system, job, me);      // `me` hears of it
//   anon_send(run, troupe::atom::stop_v);                    // from any thread or actor
//
//   observer <-- training_progress .., training_end -- run <-- stop, status -- anybody
//
// The run has a thread of its own, on which `train` waits. It goes on when its observer has ended, and ends like a stop
// when it gets an exit message; the actor system's destructor waits for it.

#pragma once

#include "actors/protocol/atoms.hpp"
#include "actors/protocol/training_progress.hpp"
#include "actors/run/configure.hpp"
#include "actors/run/train.hpp"
#include "data/text/failure.hpp"

#include <caf/actor.hpp>
#include <caf/allowed_unsafe_message_type.hpp>

#include <memory>
#include <optional>

namespace troupe {

/// The last message of a run to its observer. Never crosses a wire.
struct training_end {
  std::shared_ptr<const training_result> result; ///< null after a failure
  std::optional<failure> problem;                ///< what `train` throws
};

/// Trains `x` as `train` does, on data in memory where `data` is not null. The observer gets `training_progress` and,
/// once, `training_end`; it may be null. `options` are those of `train`; their callbacks come on the run's thread.
///
/// The run answers `atom::status` with its newest `training_status`, after a second at the latest. It hears `atom::stop`
/// within a tenth of a second; its end comes when all replicas have reached one version. A job that cannot be trained
/// ends with a `problem`, and does not throw here.
caf::actor start_training(caf::actor_system& system, const job& x, const caf::actor& observer,
                          std::shared_ptr<const prepared_data> data = {},
                          const train_options& options = {});

} // namespace troupe

CAF_BEGIN_TYPE_ID_BLOCK(troupe_runs, troupe::first_free_type_id - 16)
CAF_ADD_TYPE_ID(troupe_runs, (troupe::training_end))
CAF_END_TYPE_ID_BLOCK(troupe_runs)

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::training_end)
