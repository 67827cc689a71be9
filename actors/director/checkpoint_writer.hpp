// Checkpoint writer: writes a director's checkpoints and terms, and reads what it hands out of them, on
// a thread of its own.
//
//   director == ranges, checkpoint, term ==> writer == write, sync, rename, sync ==> disk
//            <== done, or why not ==================== read <=======================
//
// It does one after the other, in the order they come, and answers each. It decides nothing: what
// counts when it is written, and what a failure means, is the director's to say. It lives as long as
// the director, which links itself to it; a write at hand is brought to its end before.

#pragma once

#include "actors/base/guard.hpp"
#include "actors/protocol/write_messages.hpp"
#include "data/records/run_recorder.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <memory>

namespace troupe {

struct checkpoint_writer_options {
  /// Written by nobody else as long as the actor lives. Null: no checkpoints are ordered, and terms need
  /// not be remembered.
  std::shared_ptr<checkpoint_store> store;
  std::shared_ptr<trace_ring> trace = {}; ///< null: it is not recorded
};

struct checkpoint_writer_state {
  static inline const char* name = "checkpoint-writer";
};

checkpoint_writer_actor::behavior_type
checkpoint_writer(self_pointer<checkpoint_writer_actor, checkpoint_writer_state> self,
                  const checkpoint_writer_options& options);

} // namespace troupe
