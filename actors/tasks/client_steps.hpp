// Client steps: what a client of a federated round does with its rows: local steps from the round's model, with an
// optimizer that begins anew. A simulated client and one that dials in compute the same bits.
//
// The model follows from the rows, the start, the round and the client's key alone. Rows that take more than one step are
// shuffled anew for each visit of a round.

#pragma once

#include "coordinators/modes/cohort.hpp"
#include "data/training_rows/batch_reader.hpp"
#include "data/training_rows/row_source.hpp"
#include "models/training/local_training.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace troupe {

struct client_steps_options {
  std::shared_ptr<const row_source> rows; ///< of one client, or of all
  local_training_options training;
  client_schedule schedule;
  uint64_t seed = 0; ///< of the job
};

/// Not thread-safe: one for each thread.
class client_steps {
public:
  explicit client_steps(const client_steps_options& options);

  /// The next clients start from `start`, which stays as it is until `let_go`. The memory is theirs.
  void begin(uint64_t round, std::span<const float> start, const local_training_memory& memory);
  /// Trains on these rows. `key`: of the client. False: a value is not finite. `stop_requested`, asked between steps,
  /// ends it early, and then nothing of the model is of any use.
  bool train(std::span<const uint32_t> rows, uint32_t key,
             const std::function<bool()>& stop_requested = {});
  void let_go() { training_.let_go(); }

  const buffer& parameters() const { return training_.parameters(); }
  /// Of all rows that it trained on, each as often as it did.
  const batch_sums& sums() const { return training_.sums(); }

private:
  std::span<const uint32_t> order_of(uint32_t key, std::span<const uint32_t> rows, uint64_t visit);

  client_steps_options options_;
  local_training training_;
  batch_reader reader_;
  optimizer_state state_;
  std::vector<uint32_t> order_;
  uint64_t round_ = 0;
  uint64_t shuffle_seed_ = 0; ///< of the round
};

/// The key of a client that has a name: the same everywhere.
uint64_t client_key_of(const std::string& name);

} // namespace troupe
