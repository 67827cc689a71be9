// Client work: the clients of an order, trained one after the other on their own rows from the same
// model, their updates added into one ring sum. A plain object of a trainer.
//
//   begin(round, positions) --advance--> .. --advance: all are done--> take
//
// What a client does follows from the job, the round and its number alone. Its optimizer begins anew
// at each visit: nothing is kept of a client. Where its rows take more than one step they are
// shuffled anew for each visit of a round.
//
// In private rounds updates are clipped before they are added, and nothing else is said of anybody: the
// figures of all are alike, and one whose update is not finite adds nothing.

#pragma once

#include "actors/orders/federation.hpp"
#include "data/training_rows/row_source.hpp"
#include "models/training/local_training.hpp"

#include <memory>
#include <span>
#include <vector>

namespace troupe {

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

  /// Trains the next clients, for a moment; false when all are done.
  bool advance();

  /// What came of them.
  struct done {
    buffer low; ///< halves of the words
    buffer high;
    batch_sums sums; ///< of those who count; their losses are in the figures alone
    uint64_t step_count = 0;
    std::vector<client_figure> figures;
  };
  done take();

private:
  void train(uint32_t client);
  void ask_ahead() const;
  void add_clipped(std::span<const float> start, std::span<const float> values);
  bool take_steps(uint32_t client, std::span<const uint32_t> rows);
  std::span<const uint32_t> order_of(uint32_t client, std::span<const uint32_t> rows,
                                     uint64_t visit);

  client_work_options options_;
  local_training training_;
  batch_reader reader_;
  optimizer_state state_;
  std::vector<uint32_t> order_;

  uint64_t round_ = 0;
  uint64_t shuffle_seed_ = 0; ///< of the round
  std::shared_ptr<const cohort> cohort_;
  index_range positions_; ///< not done yet
  const_buffer parameters_;
  local_training_memory memory_;
  ring_sum sum_;
  done done_;
};

} // namespace troupe
