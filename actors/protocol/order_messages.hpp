// Orders of a parameter server to trainers of other processes, and what comes of them: fields, meaning,
// units.
//
// Headers say what is ordered and what came of it. The vectors that belong to them (parameters, a
// gradient, a member's state) travel beside them in pieces, as far as there is credit. All may be
// lost, late, or come twice: an order has a number that no other has in its term, and whoever
// misses something of it asks.

#pragma once

#include "actors/protocol/cluster_messages.hpp"
#include "coordinators/modes/federated_rounds.hpp"
#include "models/base/buffer.hpp"
#include "models/optimizers/optimizer.hpp"

#include <caf/allowed_unsafe_message_type.hpp>

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

// ---- Within a process ----
//
// The messages between a parameter server and its trainers, the replicas of the modes where one actor owns
// all parameters (coordinators/job/training_modes.hpp). They stay in their process.

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

/// A trainer of another process, in one of that process's lives.
struct trainer_life {
  std::string process;
  uint64_t incarnation = 0;
  uint64_t replica = 0; ///< among those of the process

  friend auto operator<=>(const trainer_life&, const trainer_life&) = default;
};

/// The parameter server's process -> a trainer's, and again while its result is missing.
struct order_header {
  uint64_t term = 0;
  uint64_t number = 0;  ///< of the order: counts those of the term, to whomever they went
  uint64_t replica = 0; ///< among those of the process
  bool evaluates = false;
  // A trainer_order.
  trainer_task task = trainer_task::gradient;
  uint64_t trainer = 0; ///< the index by which the parameter server knows it
  uint64_t member = 0;
  uint64_t first_step = 0; ///< of an evaluation its version
  uint64_t step_count = 1;
  // An evaluation_order; of a trainer_order for clients their positions.
  index_range chunks;
  uint64_t vector_count = 1; ///< that travel beside it: the parameters, then the member's state
  /// Orders of this process whose results are missing, this one among them: of all others up to
  /// `last` nothing need be kept.
  std::vector<uint64_t> open;
  uint64_t last = 0;    ///< the newest order of this process
  uint64_t attempt = 0; ///< of a trainer_order for clients

  friend bool operator==(const order_header&, const order_header&) = default;
};

template <>
inline constexpr trainer_task last_of<trainer_task> = trainer_task::clients;

TROUPE_INSPECTED(order_header);

/// Vectors that come back when the result is finite: what went out, moved along; the two halves of
/// clients' words.
inline uint64_t result_vector_count(const order_header& x) {
  if (x.evaluates)
    return 0;
  return x.task == trainer_task::clients ? 2 : x.vector_count;
}

/// A trainer's process -> the parameter server's. An evaluation's sums go to the director instead, and no
/// vectors travel.
struct result_header {
  uint64_t term = 0;
  uint64_t number = 0; ///< of the order
  batch_sums sums;
  bool finite = true;
  uint64_t computed_ns = 0;  ///< time it took
  uint64_t vector_count = 0; ///< that travel beside it: the result's values, the member's state
  bool is_lost = false;      ///< the trainer has ended: nothing comes of its orders any more
  std::vector<client_figure> clients{}; ///< of an order for clients: what each did

  friend bool operator==(const result_header&, const result_header&) = default;
};

TROUPE_INSPECTED(client_figure);
TROUPE_INSPECTED(result_header);

/// A distant trainer -> its node: what the parameter server wants of the trainer it stands for. Never crosses
/// a wire.
struct distant_order {
  trainer_life who;
  // One of them.
  std::optional<trainer_order> work;
  std::optional<evaluation_order> evaluation;
};

} // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::distant_order)

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::trainer_order)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::trainer_result)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::evaluation_order)
