// Trainer: the replica of the modes where a parameter server owns all parameters. It carries out tasks: the gradient
// of a whole step, the local steps of a member, clients of a federated round, a share of an evaluation. Its answer
// follows from the task and the job alone.
//
//   parameter server --trainer_task--> trainer --trainer_result--> parameter server
//   parameter server --evaluation_task--> trainer --evaluation--> director
//
// The parameter server decides what may begin: a trainer gets no views, horizons or requests to hold.

#pragma once

#include "actors/base/guard.hpp"
#include "actors/base/job_rows.hpp"
#include "actors/base/test_hooks.hpp"
#include "actors/base/work_gauge.hpp"
#include "actors/protocol/task_messages.hpp"
#include "actors/tasks/client_steps.hpp"
#include "actors/tasks/federation.hpp"
#include "coordinators/step/timeline.hpp"
#include "data/records/run_recorder.hpp"
#include "data/training_rows/row_source.hpp"
#include "models/network/model.hpp"
#include "models/training/local_training.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

// Client work: the clients of a task, trained one after the other on their own rows from the same
// model, their updates added into one ring sum. A plain object of a trainer.
//
//   begin(round, positions) --advance--> .. --advance: all are done--> take
//
// A client's update follows from the job, the round and its number, or name, alone (client_steps.hpp).
//
// In private rounds updates are clipped before they are added. All clients then have the same figures, and an update
// that is not finite adds nothing.

struct client_work_options {
  std::shared_ptr<const federation> clients;
  std::shared_ptr<const row_source> rows; ///< of all
  local_training_options training;        ///< with the federation's proximal term
  std::shared_ptr<buffer_pool> pool;      ///< buffers of the model's size
};

class client_work {
public:
  explicit client_work(const client_work_options& options);

  /// The clients at these positions of the cohort of the round's attempt, each from `parameters` (P).
  /// Throws std::invalid_argument for positions it does not have.
  void begin(uint64_t round, uint64_t attempt, const index_range& positions,
             const const_buffer& parameters);

  /// Trains the next few clients; false when all are done.
  bool advance();

  /// The result for all clients.
  struct done {
    buffer low; ///< halves of the words
    buffer high;
    batch_sums sums; ///< of clients that count; losses are in the figures alone
    uint64_t step_count = 0;
    std::vector<client_figure> figures;
  };
  done take();

private:
  void train(size_t position);
  void ask_ahead() const;
  void add_clipped(std::span<const float> start, std::span<const float> values);

  client_work_options options_;
  client_steps steps_;
  std::shared_ptr<const cohort> cohort_;
  index_range positions_; ///< not done yet
  const_buffer parameters_;
  local_training_memory memory_;
  ring_sum sum_;
  done done_;
};

/// The options that all trainers of a process share.
struct trainer_options {
  std::shared_ptr<const job_rows> rows;
  std::shared_ptr<buffer_pool> pool; ///< buffers of the model's size
  timeline plan;
  local_training_options training;                ///< the model, and how it takes steps of its own
  std::shared_ptr<const federation> clients = {}; ///< of a federated run
  test_hooks hooks;
  row_namer names = {};
  /// Members from this one on reverse their update and scale it by `flip_factor`: a simulated attack.
  uint64_t first_flipped_member = ~uint64_t{0};
  double flip_factor = 1;
  std::shared_ptr<work_gauge> gauge = {}; ///< one for each trainer; null: its work is not watched
  std::shared_ptr<trace_ring> trace = {}; ///< likewise; null: no timeline is wanted
};

class trainer_state {
public:
  explicit trainer_state(trainer_actor::pointer self) : self_(self) {}

  trainer_actor::behavior_type make_behavior(const trainer_options& options);

  /// What the trainer computes now, in words; empty: nothing.
  std::string work_in_hand() const;

  static inline const char* name = "trainer";

private:
  void on_task(const trainer_task& task);
  void on_evaluation(const evaluation_task& task);

  trainer_result compute(const trainer_task& task);
  /// The rows of a step's slice, noted as the work in hand; valid until the next call.
  batch rows_of(uint64_t step, size_t slice);
  void take_local_steps(const trainer_task& task, trainer_result& result);
  void train_clients(const trainer_task& task, trainer_result& result);
  /// Clients that dial in compute: answers once their round is over.
  void gather(const trainer_task& task) const;
  /// Sends the result to the parameter server; later, if a test makes this trainer slow.
  void answer(const trainer_task& task, trainer_result result);

  trainer_actor::pointer self_;
  trainer_options options_;
  batch_reader reader_;
  std::optional<local_training> training_;
  std::optional<client_work> clients_;
  workspace memory_;
  replica_status status_;
  std::optional<std::pair<uint64_t, size_t>> in_hand_; ///< step and slice
};

trainer_actor::behavior_type trainer(self_pointer<trainer_actor, trainer_state> self,
                                     const trainer_options& options);

} // namespace troupe
