// Checkpoint writer: writes a director's checkpoints and terms, and reads checkpoints for it, on a thread of its own.
//
//   director == ranges, checkpoint, term ==> writer == write, sync, rename, sync ==> disk
//            <== done, or why not ==================== read <=======================
//
// It carries out one order after the other and answers each. It decides nothing: the director decides which writes
// count and what a failure means. It ends with the director, which links itself to it, but finishes its current write
// first.

#pragma once

#include "actors/base/guard.hpp"
#include "actors/protocol/write_messages.hpp"
#include "data/records/run_recorder.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <memory>

namespace troupe {

struct checkpoint_writer_options {
  /// Only this actor may write to it. Null: the director orders no checkpoints, and terms are not stored.
  std::shared_ptr<checkpoint_store> store;
  std::shared_ptr<trace_ring> trace = {}; ///< null: nothing is recorded
};

struct checkpoint_writer_state {
  static inline const char* name = "checkpoint-writer";
};

checkpoint_writer_actor::behavior_type
checkpoint_writer(self_pointer<checkpoint_writer_actor, checkpoint_writer_state> self,
                  const checkpoint_writer_options& options);

} // namespace troupe
