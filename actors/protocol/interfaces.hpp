// The four actors of synchronous training, as each sees the others: the whole protocol on one page.
//
//   observer <--progress, finished-- director --view, horizon, hold--> replicas, shards
//                                      ^  ^
//                evaluation, held -----+  +----- report, not finite
//                                      |              |
//                                   replica <====> shard
//                                        contribution
//                                       parameter span
//
// Every message is idempotent: it says what is, not what changed (messages.hpp has the fields). The
// node actor of networked runs will stand behind these same interfaces: to local replicas it looks
// like the remote shards, to local shards like the remote replicas.

#pragma once

#include "troupe/actors/protocol/atoms.hpp"
#include "troupe/actors/protocol/fwd.hpp"

#include <caf/replies_to.hpp>
#include <caf/typed_actor.hpp>

namespace troupe {

/// Computes slices of steps, and chunks of evaluations.
using replica_actor = caf::typed_actor<
  // Who takes part, and which slices are this replica's. The higher (term, number) wins.
  caf::reacts_to<view>,
  // A shard owns a version of its span. The replica goes on when it knows every span.
  caf::reacts_to<parameter_span>,
  // How far it may go.
  caf::reacts_to<horizon>,
  // Start no further step until the next horizon; answered to the director with `held`.
  caf::reacts_to<atom::hold>,
  // What it has done so far.
  caf::replies_to<atom::status>::with<replica_status>>;

/// Owns a span of the parameters: adds gradients, applies the optimizer.
using shard_actor = caf::typed_actor<
  // Who takes part: the replicas to announce versions to.
  caf::reacts_to<view>,
  // A sum of slice gradients of the step on this shard's span.
  caf::reacts_to<contribution>,
  // Another shard's share of the gradient's norm; only when it is clipped by norm.
  caf::reacts_to<block_norms>,
  // How far training goes: the version to report at although no epoch ends there.
  caf::reacts_to<horizon>,
  // This span's parameters of a version: the current or the previous one at once, a later one when
  // it is there; version_not_held when it is gone or will not come.
  caf::replies_to<atom::pull, uint64_t>::with<parameter_span>>;

/// Whoever wants to know how training goes. Subscribes with `watch`.
using observer_actor = caf::typed_actor<
  // A few times a second and at each row of the history.
  caf::reacts_to<training_progress>,
  // Once, at the end; also to those who subscribe after it.
  caf::reacts_to<training_finished>>;

/// The director as the outside world sees it.
using control_actor = caf::typed_actor<
  // How training goes, at once, also while all cores compute.
  caf::replies_to<atom::status>::with<training_status>,
  // Subscribes an observer.
  caf::reacts_to<atom::watch, observer_actor>,
  // Stop at the first version that every replica can reach. Any number of times.
  caf::reacts_to<atom::stop>>;

/// One for each job: decides how far training goes and when it ends.
using director_actor = control_actor::extend<
  // Everybody is there: start.
  caf::reacts_to<atom::begin>,
  // Sums over the steps since the last row, from the shard that keeps the book.
  caf::reacts_to<training_report>,
  // Sums over chunks of the test and validation rows, from a replica.
  caf::reacts_to<evaluation>,
  // A replica on hold: its index, and the first step it has not started.
  caf::reacts_to<atom::held, uint64_t, uint64_t>,
  // A shard met a value that is not finite and did not apply it.
  caf::reacts_to<not_finite_report>,
  // The final parameters, once training has finished, else not_finished.
  caf::replies_to<atom::pull>::with<parameter_span>>;

/// Goes on learning from batches as they come (actors/online.hpp).
using online_actor = caf::typed_actor<
  // Rows to learn from: learned in the order they arrive, and answered once they are. Not
  // idempotent: what comes twice is learned twice.
  caf::replies_to<online_batch>::with<online_report>,
  // The parameters in use; its version counts the updates that were applied.
  caf::replies_to<atom::pull>::with<parameter_span>>;

} // namespace troupe

CAF_BEGIN_TYPE_ID_BLOCK(troupe_handles, caf::id_block::troupe_atoms::end)

CAF_ADD_TYPE_ID(troupe_handles, (troupe::replica_actor))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::shard_actor))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::observer_actor))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::control_actor))
CAF_ADD_TYPE_ID(troupe_handles, (troupe::director_actor))

CAF_END_TYPE_ID_BLOCK(troupe_handles)

// A block of its own, so that no id above moved when it came.
CAF_BEGIN_TYPE_ID_BLOCK(troupe_online, caf::id_block::troupe_handles::end)

CAF_ADD_TYPE_ID(troupe_online, (troupe::online_batch))
CAF_ADD_TYPE_ID(troupe_online, (troupe::online_report))
CAF_ADD_TYPE_ID(troupe_online, (troupe::online_actor))

CAF_END_TYPE_ID_BLOCK(troupe_online)

namespace troupe {

/// An application's own type ids start here: CAF_BEGIN_TYPE_ID_BLOCK(mine,
/// troupe::first_free_type_id).
inline constexpr caf::type_id_t first_free_type_id = caf::id_block::troupe_online::end;

} // namespace troupe
