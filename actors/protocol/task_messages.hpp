// Tasks of a parameter server to its trainers, and their results: fields, meaning, units.
//
// To trainers of other processes the task and its result go as headers. Their vectors travel beside them in pieces, as
// far as there is credit: by the task's number a gradient, a member's model and state; by its own number the model that
// tasks begin with, once to each process. Headers and pieces may be lost, come late, come twice, or overtake each other.
// A task's number is unique in its term; a process that misses a part of a task asks for it.
//
// Other processes may own spans of the parameters. They follow the sequence of the parameter server's decisions, and
// exchange their spans' vectors with the trainers' processes by the number of the task, which the sequence names.

#pragma once

#include "actors/protocol/cluster_messages.hpp"
#include "coordinators/modes/federated_rounds.hpp"
#include "coordinators/modes/span_model.hpp"
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

enum class task_kind : uint8_t {
  gradient,    ///< the gradient of step `first_step`, at `parameters`
  local_steps, ///< `step_count` steps of a member on its own, from `parameters`
  clients      ///< the clients at `positions` of a round's cohort, each from `parameters`
};

/// parameter server -> trainer. Answered with one `trainer_result`; a trainer has one task at a time. The
/// answer counts only while the parameter server thinks that this trainer has this piece of work.
struct trainer_task {
  task_kind kind = task_kind::gradient;
  server_actor server;     ///< takes the answer
  uint64_t trainer = 0;    ///< the trainer's index, returned
  uint64_t ticket = 0;     ///< of this task alone; returned
  uint64_t number = 0;     ///< of the task, in the sequence of decisions
  uint64_t member = 0;     ///< the slice of each step to train on; of clients the piece's number
  uint64_t first_step = 0; ///< of the job; of clients the round
  uint64_t step_count = 1; ///< >= 1
  const_buffer
    parameters; ///< P; to a trainer's stand-in: those of the parameter server's span, as all vectors
  std::optional<uint64_t>
    model;               ///< the parameters' number as a model; nothing: they are the member's own
  optimizer_state state; ///< the member's, read-only; unused for other tasks
  index_range positions; ///< of clients: in the round's cohort
  uint64_t attempt = 0;  ///< of clients: at the round (coordinators/modes/federated_rounds.hpp)
};

/// trainer -> parameter server: a task's result. It follows from the task and the job alone, so the parameter server
/// can give a lost trainer's task to another.
struct trainer_result {
  uint64_t trainer = 0;
  uint64_t ticket = 0;
  uint64_t member = 0;
  uint64_t first_step = 0;
  /// P: the gradient's sum, or the member's model. For clients: the lower halves of their ring sum's words
  /// (models/merging/ring_sum.hpp); the state's one slot has the upper halves.
  const_buffer values;
  optimizer_state state; ///< the member's after its steps; none for a gradient
  batch_sums sums;       ///< of the rows it was computed on
  bool finite = true;    ///< false: a value of the gradient is not finite, or a step led to one
  std::vector<client_figure> clients;   ///< what each did, in order of positions
  std::chrono::nanoseconds computed{0}; ///< time it took
};

/// parameter server -> trainer. Evaluate these chunks of the test and validation rows; the sums go to
/// `director`.
struct evaluation_task {
  reports_actor director;
  uint64_t term = 0;
  uint64_t version = 0;
  numbered_model model;
  index_range chunks; ///< not none
};

/// A trainer of another process, in one of that process's lives; or of this one, if other processes own spans.
struct trainer_life {
  std::string process;
  uint64_t incarnation = 0;
  uint64_t replica = 0; ///< among those of the process

  friend auto operator<=>(const trainer_life&, const trainer_life&) = default;
};

/// The parameter server's process -> a trainer's process, and again while its result is missing.
struct task_header {
  uint64_t term = 0;
  uint64_t number = 0;  ///< of the task: counts all tasks of the term
  uint64_t replica = 0; ///< among those of the process
  bool evaluates = false;
  // A trainer_task.
  uint64_t task = 0; ///< its number: the key of its vectors, and of its result's
  task_kind kind = task_kind::gradient;
  uint64_t trainer = 0; ///< the index by which the parameter server knows it
  uint64_t member = 0;
  uint64_t first_step = 0; ///< of an evaluation its version
  uint64_t step_count = 1;
  // An evaluation_task; of a trainer_task for clients their positions.
  index_range chunks;
  std::optional<uint64_t>
    model;                   ///< that it begins with; nothing: its first vector takes that place
  uint64_t vector_count = 0; ///< that travel beside it: a member's own start, and its state
  /// Tasks to this process whose results are missing, this one included. The process may forget all others up to
  /// `last`.
  std::vector<uint64_t> open;
  uint64_t last = 0;    ///< the newest task of this process
  uint64_t attempt = 0; ///< of a trainer_task for clients
  bool is_dropped =
    false; ///< nothing comes of it, and its vectors may be gone: answer without, unless it has begun

  friend bool operator==(const task_header&, const task_header&) = default;
};

template <>
inline constexpr task_kind last_of<task_kind> = task_kind::clients;

TROUPE_INSPECTED(task_header);

/// Number of vectors that a finite result has: its values and a member's state; for clients two, the halves of their
/// words.
inline uint64_t result_vector_count(const task_header& x) {
  if (x.evaluates)
    return 0;
  return x.kind == task_kind::clients ? 2 : x.vector_count + (x.model ? 1 : 0);
}

/// A trainer's process -> the parameter server's process. An evaluation's sums go to the director instead, without
/// vectors.
struct result_header {
  uint64_t term = 0;
  uint64_t number = 0; ///< of the task
  batch_sums sums;
  bool finite = true;
  uint64_t computed_ns = 0;  ///< time it took
  uint64_t vector_count = 0; ///< that travel beside it: the result's values, the member's state
  bool is_lost = false;      ///< the trainer has ended: its tasks get no results
  std::vector<client_figure> clients{}; ///< of a task for clients: what each did

  friend bool operator==(const result_header&, const result_header&) = default;
};

TROUPE_INSPECTED(client_figure);
TROUPE_INSPECTED(result_header);

// ---- Owners of spans in other processes (actors/spans/span_owner.hpp) ----

/// The parameter server -> its node -> the nodes of other owners -> these: decisions, in the order of their positions.
/// Sent again until the owner's process has them.
struct sequence_news {
  uint64_t term = 0;
  std::vector<sequence_entry> entries;

  friend bool operator==(const sequence_news&, const sequence_news&) = default;
};

template <>
inline constexpr entry_kind last_of<entry_kind> = entry_kind::mark;

TROUPE_INSPECTED(sequence_entry);
TROUPE_INSPECTED(sequence_news);

/// An owner's process -> the parameter server's process, when it changes, and again.
struct span_progress {
  uint64_t term = 0;
  uint64_t shard = 0;          ///< index of the owner in the view
  uint64_t position = 0;       ///< up to which the decisions have come
  std::vector<uint64_t> whole; ///< tasks whose updates are here, and not decided

  friend bool operator==(const span_progress&, const span_progress&) = default;
};

TROUPE_INSPECTED(span_progress);

/// An owner -> its node: what a task begins with. Never crosses a wire.
struct given_vectors {
  uint64_t term = 0;
  sequence_entry task;
  span_vectors vectors;
  uint64_t model = 0; ///< the number of the vectors' values, if they are a model's
};

/// A node -> its owner: a task's update, of the owner's span. Never crosses a wire.
struct span_update {
  uint64_t term = 0;
  uint64_t number = 0; ///< of the task
  span_vectors vectors;
};

/// A distant trainer -> its node: the parameter server's task for the trainer that it stands for. Never crosses a
/// wire.
struct distant_task {
  trainer_life who;
  // Exactly one of the two is set.
  std::optional<trainer_task> work;
  std::optional<evaluation_task> evaluation;
};

} // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::distant_task)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::given_vectors)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::span_update)

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::trainer_task)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::trainer_result)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::evaluation_task)
