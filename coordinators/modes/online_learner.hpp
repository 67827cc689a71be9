// Online learner: a model that goes on learning while it is used, from batches as they arrive, and
// that one bad batch cannot spoil.
//
//   online_learner learner{network, {.optimizer = ..., .loss_growth_max = 1.5}};
//   learner.set_parameters(trained);
//   learner.set_validation(held_out);
//   learner.enqueue(batch);
//   while (auto report = learner.learn_next())
//     log(report->reason);
//
// Batches are taken first in, first out; each makes one update. The update is tried on a copy. The
// parameters in use and the optimizer's state take it over when it is finite and, with validation
// rows, the loss on them is at most `loss_growth_max` times that before. Losses below `loss_floor`
// count as the floor, so that noise around zero is no growth. Else both stay what they were: the
// roll-back. The comparison is with the loss of the parameters in use, not the best ever seen: what
// is right may drift.

#pragma once

#include "models/math/reduction.hpp"
#include "models/network/model.hpp"
#include "models/optimizers/optimizer.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// Rows with their labels or targets, owned. Shapes: N x F, N, N x C.
struct online_rows {
  std::vector<float> features;
  std::vector<int32_t> labels; ///< of a classification; else empty
  std::vector<float> targets;  ///< of a regression; else empty

  friend bool operator==(const online_rows&, const online_rows&) = default;
};

struct online_learner_options {
  optimizer_options optimizer;
  /// Factor on the validation loss that one update may cost, >= 1. Doubling it lets batches through
  /// that do twice the harm.
  double loss_growth_max = 1.5;
  double loss_floor = 1e-3; ///< >= 0, in units of the loss
  size_t queue_max = 1024;  ///< batches that may wait, >= 1: one more is refused; memory is theirs
};

/// What became of a batch.
enum class online_verdict : uint8_t {
  applied,         ///< the parameters moved
  loss_grew,       ///< rolled back: the validation loss grew too much
  not_finite,      ///< rolled back: a gradient, parameter or loss would not have been finite
  refused_shape,   ///< never queued: it has no rows, or does not fit the model
  refused_full,    ///< never queued: too many wait already
  refused_no_model ///< never queued: no parameters are set yet
};

/// The verdict's name: "applied", "loss-grew", ..
const char* name_of(online_verdict verdict);

/// A verdict and why.
struct online_report {
  uint64_t batch = 0; ///< counted from 0 in the order of `enqueue`; refused ones have none
  online_verdict verdict = online_verdict::applied;
  uint64_t version = 0;   ///< updates applied so far
  double batch_loss = 0;  ///< mean over the batch, before the update
  double loss_before = 0; ///< validation loss before, after; 0 without validation rows
  double loss_after = 0;
  std::string reason; ///< a sentence for people

  friend bool operator==(const online_report&, const online_report&) = default;
};

class online_learner {
public:
  /// Throws std::invalid_argument for no model, or constants out of range.
  online_learner(std::shared_ptr<const model> network, const online_learner_options& options);

  /// The parameters to go on from (P, all finite); the optimizer starts anew, the queue stays.
  /// Throws std::invalid_argument for another size or values that are not finite.
  void set_parameters(std::span<const float> values);

  /// Rows that every update is judged by; none: only what is not finite is rolled back. Throws
  /// std::invalid_argument when they do not fit the model or are not finite.
  void set_validation(online_rows rows);

  /// Queues a batch. Nothing when it waits now, else why it does not.
  std::optional<online_report> enqueue(online_rows rows);

  /// Learns the batch that waited longest; nothing when none waits.
  std::optional<online_report> learn_next();

  /// The parameters in use, empty before `set_parameters`: a snapshot, it stays as it is.
  const_buffer parameters() const { return parameters_; }

  size_t queued_count() const { return queue_.size(); }
  uint64_t version() const { return version_; }
  uint64_t rolled_back_count() const { return rolled_back_count_; }

private:
  struct waiting {
    uint64_t number;
    online_rows rows;
  };

  std::string misfit(const online_rows& rows) const;
  batch batch_of(const online_rows& rows) const;
  double validation_loss(std::span<const float> parameters);
  online_report judge(online_report report, const buffer& next, const optimizer_state& state);
  optimizer_state copy_of_state() const;

  std::shared_ptr<const model> network_;
  online_learner_options options_;
  std::unique_ptr<optimizer> rule_;
  std::unique_ptr<buffer_pool> pool_;
  optimizer_state state_;
  const_buffer parameters_;
  std::optional<online_rows> validation_;
  std::optional<double> loss_; ///< validation loss of `parameters_`, once known
  std::deque<waiting> queue_;
  workspace memory_;
  reducer reducer_;
  uint64_t enqueued_count_ = 0;
  uint64_t version_ = 0;
  uint64_t rolled_back_count_ = 0;
};

} // namespace troupe
