// Gradients coordinator: one main model fed with gradients from many models.
//
// Several models look at their own data, each computes gradients at the main model's parameters,
// and hands them in; the coordinator owns optimizer and learning rate and moves the main
// parameters:
//
//   gradients_coordinator coordinator{{.optimizer = {.learning_rate = 0.1}, .round_size = 3}};
//   coordinator.set_parameters(initial);
//   coordinator.start();
//   for (auto& model : models) {                       // each on its own data
//     auto sums = model.gradient(coordinator.parameters(), rows, gradient, memory);
//     coordinator.add_gradients(gradient, sums.sample_count);
//   }
//
// A gradient is a *sum over samples* and carries their number: what is applied is the mean over all
// samples of a round, so unequal parts weigh by their samples. First in, first out; with
// `round_size` 1 each gradient is applied on its own as it arrives (asynchronous).
//
//   stopped --start--> running --stop--> stopped
// While stopped, gradients queue; `start` applies what queued, `stop` applies what is left of an
// unfinished round: nothing handed in is lost, unless `clear` drops it. Both return how many updates
// were made and how many were refused, because a running coordinator may still fail to learn.

#pragma once

#include "coordinators/modes/gradient_span.hpp"
#include "models/base/buffer.hpp"
#include "models/network/parameter_layout.hpp"
#include "models/optimizers/optimizer.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

struct gradients_coordinator_options {
  optimizer_options optimizer;
  direction way = direction::descent; ///< ascent makes the objective large instead
  size_t round_size = 1;              ///< gradients that make one update, >= 1
  /// Of the parameters: says which are biases, that penalties leave alone. Absent: all are
  /// penalized.
  std::optional<parameter_layout> layout = std::nullopt;
  std::vector<index_range> frozen =
    {}; ///< elements that stay as they are, whole tensors of the layout
};

/// The changes of each mean gradient of `parameter_count` parameters. Throws std::invalid_argument for another number
/// than the layout's.
regularization changes_of(const gradients_coordinator_options& options, size_t parameter_count);

/// What became of a gradient.
enum class gradient_verdict : uint8_t {
  applied,       ///< it completed a round: the parameters moved
  queued,        ///< it waits for its round, or for `start`
  no_parameters, ///< refused: `set_parameters` was not called yet
  wrong_size,    ///< refused: another number of values than the parameters have
  no_samples,    ///< refused: a sum over no samples has no mean
  not_finite,    ///< refused: a value is NaN or infinite; nothing has changed
  /// It completed a round whose update would not have been finite: the parameters stay, the round
  /// is dropped, the optimizer's state starts anew.
  update_refused,
};

/// The verdict's name, for messages.
const char* name_of(gradient_verdict verdict);

/// Why a gradient would be refused by the owner of these parameters; nothing when it would not.
std::optional<gradient_verdict> problem_of(const const_buffer& parameters,
                                           std::span<const float> gradient_sum,
                                           uint64_t sample_count);

/// What became of gradients that had queued.
struct drain_report {
  uint64_t applied_count = 0; ///< updates that moved the parameters
  uint64_t refused_count = 0; ///< updates that would not have been finite

  friend bool operator==(const drain_report&, const drain_report&) = default;
};

class gradients_coordinator {
public:
  /// Throws std::invalid_argument for a round size of 0 or optimizer constants out of range.
  explicit gradients_coordinator(const gradients_coordinator_options& options);

  /// The main model's parameters (P); starts the optimizer anew and keeps what is queued, if it
  /// fits. Throws std::invalid_argument when queued gradients have another size or a value is
  /// not finite.
  void set_parameters(std::span<const float> values);

  /// The main model's parameters; empty before `set_parameters`. A snapshot: it stays as it is.
  const_buffer parameters() const { return model_.parameters(); }

  /// Hands in a gradient (P), summed over `sample_count` samples; it is copied. `step_scale` in
  /// (0, 1] shortens the step of its round, as the mean over the round's samples: for late
  /// gradients. Throws std::invalid_argument for a step_scale out of range.
  gradient_verdict add_gradients(std::span<const float> gradient_sum, uint64_t sample_count,
                                 double step_scale = 1);

  /// Why a gradient would be refused; nothing when it would not. Changes nothing.
  std::optional<gradient_verdict> problem(std::span<const float> gradient_sum,
                                          uint64_t sample_count) const;

  /// Applies whole rounds of what queued, and goes on so.
  drain_report start();
  /// Applies what queued, the rest as a last, smaller round, and queues from now on. A coordinator
  /// that was stopped already applies nothing.
  drain_report stop();
  /// While running: applies what queued as `stop` does, and goes on.
  drain_report flush();

  /// Drops what is queued. Parameters and optimizer stay.
  void clear() { model_.clear_held(); }

  bool running() const { return running_; }
  size_t queued_count() const { return model_.held_count(); }
  uint64_t update_count() const { return model_.update_count(); }
  /// Updates that were refused because the new parameters would not have been finite.
  uint64_t refused_update_count() const { return refused_update_count_; }

private:
  drain_report drain(size_t round_size_min);

  gradients_coordinator_options options_;
  gradient_span model_;
  bool running_ = false;
  uint64_t refused_update_count_ = 0;
};

} // namespace troupe
