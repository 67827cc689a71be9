// Local training: a model that takes steps on its own: a member between two merges, or a client of a
// federated round.
//
//   begin(theta) --step(rows)--> theta' --step(rows)--> ..
//
// A step is the rule's, on the mean gradient of its rows, clipped and with its penalties
// (models/training/regularization.hpp). With `proximal` mu > 0 each step minimises
//   loss + mu/2 |theta' - theta|^2
// instead: mu (theta' - theta) is added to the mean gradient before it is clipped, of all elements,
// biases too (FedProx: Li et al. 2020, "Federated optimization in heterogeneous networks").

#pragma once

#include "models/math/reduction.hpp"
#include "models/network/model.hpp"
#include "models/optimizers/optimizer.hpp"
#include "models/training/regularization.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace troupe {

struct local_training_options {
  std::shared_ptr<const model> network;
  std::shared_ptr<const optimizer> rule;
  regularization changes = {}; ///< of the mean gradient
  double proximal = 0;         ///< mu >= 0
};

/// By which steps a rule counts.
struct local_step_numbers {
  uint64_t rule = 0;     ///< t of its corrections
  uint64_t schedule = 0; ///< t of the learning rate's schedule
};

/// Memory for one model under way: three buffers of its size, no two of them the same.
struct local_training_memory {
  buffer here;
  buffer there;
  buffer gradient;
};

/// Not thread-safe: one for each thread; keeps its scratch.
class local_training {
public:
  explicit local_training(local_training_options options) : options_(std::move(options)) {}

  /// A model begins at `start` (P), which stays as it is until the last step was taken. Throws
  /// std::invalid_argument when sizes differ.
  void begin(std::span<const float> start, const local_training_memory& memory);

  /// Another model begins where the last one did, in the same memory.
  void begin_again();

  /// One step on these rows; `state` is the rule's. False when the loss or a new value is not finite:
  /// then nothing of the model is of any further use.
  bool step(const batch& rows, const local_step_numbers& numbers, const optimizer_state& state);

  /// Other holders of its memory may overwrite it; the next model begins with other memory.
  void let_go() { memory_ = {}; }

  /// The model by now; not to be written while it is under way.
  const buffer& parameters() const { return memory_.here; }
  /// Of all rows since it began.
  const batch_sums& sums() const { return sums_; }

private:
  local_training_options options_;
  std::span<const float> start_;
  local_training_memory memory_;
  batch_sums sums_;
  reducer reducer_;
  workspace scratch_;
};

} // namespace troupe
