// The messages between a parameter server and its trainers, the replicas of the modes where one actor owns
// all parameters (coordinators/job/training_modes.hpp). They stay in their process.

#pragma once

#include "actors/protocol/cluster_messages.hpp"
#include "coordinators/modes/federated_rounds.hpp"
#include "models/base/buffer.hpp"
#include "models/optimizers/optimizer.hpp"

#include <caf/allowed_unsafe_message_type.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

enum class trainer_task : uint8_t {
  gradient,    ///< the gradient of step `first_step`, at `parameters`
  local_steps, ///< `step_count` steps of a member on its own, from `parameters`
  clients      ///< the clients at `positions` of a round's cohort, each from `parameters`
};

/// parameter server -> trainer. Answered with one `trainer_result`; a trainer has one order at a time. The
/// answer counts only while the parameter server thinks that this trainer has this piece of work.
struct trainer_order {
  trainer_task task = trainer_task::gradient;
  server_actor server;     ///< whom to answer
  uint64_t trainer = 0;    ///< the trainer's index, returned
  uint64_t ticket = 0;     ///< of this order, no other has it; returned
  uint64_t member = 0;     ///< the slice of each step to train on; of clients the piece's number
  uint64_t first_step = 0; ///< of the job; of clients the round
  uint64_t step_count = 1; ///< >= 1
  const_buffer parameters; ///< P
  optimizer_state state;   ///< the member's, which is only read. Else unused
  index_range positions;   ///< of clients: in the round's cohort
  uint64_t attempt = 0;    ///< of clients: at the round (coordinators/modes/federated_rounds.hpp)
};

/// trainer -> parameter server: what came of an order. It follows from the order and the job alone, so what a
/// lost trainer had can be ordered again from another.
struct trainer_result {
  uint64_t trainer = 0;
  uint64_t ticket = 0;
  uint64_t member = 0;
  uint64_t first_step = 0;
  /// P: the gradient's sum, or the member's model. Of clients the lower halves of their ring sum's
  /// words (models/merging/ring_sum.hpp), and in the state's one slot the upper ones.
  const_buffer values;
  optimizer_state state;                ///< the member's after its steps; none for a gradient
  batch_sums sums;                      ///< of the rows it was computed on
  bool finite = true;                   ///< false: a step led to a value that is not finite
  std::vector<client_figure> clients;   ///< what each did, in order of positions
  std::chrono::nanoseconds computed{0}; ///< time it took
};

/// parameter server -> trainer. Evaluate these chunks of the test and validation rows; the sums go to
/// `director`.
struct evaluation_order {
  reports_actor director;
  uint64_t term = 0;
  uint64_t version = 0;
  const_buffer parameters; ///< P
  index_range chunks;      ///< not none
};

} // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::trainer_order)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::trainer_result)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::evaluation_order)
