// A model: a pure function from parameters and rows to gradients, losses and predictions.
//
// A model holds its shape, never its parameters: those are one flat buffer (parameter_layout.hpp)
// that the caller owns, so a thousand versions of them can be in flight. They and gradients are in
// working order here (parameter_layout.hpp). Working memory is a `workspace`, one for each thread: a
// model is called by several threads at once and keeps nothing between calls.
//
// A model of one's own (docs/open.md) adds its tensors to `layout_` when it is made, and overrides
// do_initialize, do_gradient, evaluate and do_predict.

#pragma once

#include "models/base/batch.hpp"
#include "models/base/buffer.hpp"
#include "models/base/element_window.hpp"
#include "models/losses/loss.hpp"
#include "models/network/parameter_layout.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace troupe {

class segment_chain;

/// Takes a gradient piece by piece, while the rest is still being computed, so that pieces can be
/// sent early.
struct gradient_listener {
  /// True for values that it wants first; bits do not depend on it.
  std::function<bool(size_t element)> is_wanted_first;
  /// The values [begin, end) are final, and the batch's sums are these. Not called for the last
  /// piece: `gradient` returns.
  std::function<void(size_t begin, size_t end, const batch_sums& sums)> on_piece;
};

/// Shapes: N rows, F features, C outputs (scores a row: classes or targets; 1 for a binary loss),
/// Q predictions a row (2 for a binary loss, else C), P parameters.
class model {
public:
  virtual ~model() = default;

  const parameter_layout& layout() const noexcept { return layout_; }
  size_t feature_count() const noexcept { return feature_count_; }
  size_t output_count() const noexcept { return output_count_; }
  size_t prediction_count() const noexcept { return prediction_count_; }
  loss_kind loss() const noexcept { return loss_.kind; }
  const loss_options& loss_with_constants() const noexcept { return loss_; }

  /// The same computed part by part, so that several replicas can share it. By default one segment
  /// that is not shared.
  virtual const segment_chain& chain() const;

  /// Fills `out` with the initial values of these elements of the parameters (P, in working order),
  /// functions of `seed` and the element alone. Throws std::invalid_argument for another size.
  void initialize(uint64_t seed, const index_range& elements, std::span<float> out) const {
    do_initialize(seed, elements, out);
  }
  void initialize(uint64_t seed, std::span<float> parameters) const {
    do_initialize(seed, {0, layout_.size()}, parameters);
  }

  /// Writes the gradient of the loss *summed* over the batch's samples to `gradient_out` (P).
  /// Models with dropout drop here, keyed by the batch's seed, step and row numbers. `listener` may
  /// be null; a model need not call it.
  batch_sums gradient(std::span<const float> parameters, const batch& rows,
                      std::span<float> gradient_out, workspace& memory,
                      const gradient_listener* listener = nullptr) const {
    return frozen_.empty() ? do_gradient(parameters, rows, gradient_out, memory, listener)
                           : unfrozen_gradient(parameters, rows, gradient_out, memory, listener);
  }

  /// Elements, in working order, that training leaves as they are: their gradient is 0.
  const std::vector<index_range>& frozen() const noexcept { return frozen_; }
  void freeze(std::vector<index_range> elements) { frozen_ = std::move(elements); }

  /// Makes the frozen ones 0 of a gradient whose first value is element `first` of the model.
  void clear_frozen(std::span<float> gradient, size_t first) const;

  /// How PyTorch orders a tensor of the layout; by default as we do.
  virtual axis_order torch_order(size_t /*tensor*/) const { return {}; }

  /// Writes the derivative of score `output` of one row (`features`, F) by each parameter to `out`
  /// (P): a row of the scores' Jacobian. No loss is involved, so it is exact for scores of any
  /// size. Throws std::invalid_argument for shapes that do not fit, for no such output, and for a
  /// model with dropout, of sparse rows, or that has not said how.
  virtual void score_derivatives(std::span<const float> parameters, std::span<const float> features,
                                 size_t output, std::span<float> out, workspace& memory) const;

  /// The batch's sums without a gradient.
  virtual batch_sums evaluate(std::span<const float> parameters, const batch& rows,
                              workspace& memory) const = 0;

  // ---- Where it is computed ----
  //
  // For callers that use `chain()`, or add gradients, before the processor reads them (copy_floats). All belongs to
  // `memory`. A device's model has its own answers (models/device/device_model.hpp).

  /// Memory for the functions of `chain()`.
  virtual workspace& memory_there(workspace& memory) const { return memory; }
  /// The rows, whose features are there until the next call.
  virtual batch rows_there(const batch& rows, workspace& /*memory*/) const { return rows; }
  /// Parameters of which these elements are there, until the next call; they go there once a version
  /// (workspace::version), as long as calls name the same values.
  virtual windowed_values parameters_there(const windowed_values& parameters,
                                           const index_range& /*elements*/,
                                           workspace& /*memory*/) const {
    return parameters;
  }
  /// `memory`, which was not used yet, will find the parameters that are there for `another`.
  virtual void share_parameters(workspace& /*memory*/, workspace& /*another*/) const {}
  /// Room `number` for so many values. Empty: the caller's own memory will do.
  virtual std::span<float> room_there(size_t /*number*/, size_t /*size*/,
                                      workspace& /*memory*/) const {
    return {};
  }

  /// Predictions for N rows, whose targets do not count, to `out` (N x Q): class probabilities
  /// (margins for the hinge losses) for a classification, the highest being the predicted class;
  /// targets for a regression.
  void predict(std::span<const float> parameters, const batch& rows, std::span<float> out,
               workspace& memory) const {
    do_predict(parameters, rows, out, memory);
  }

  /// The same for dense rows: `features` (N x F).
  void predict(std::span<const float> parameters, std::span<const float> features,
               std::span<float> out, workspace& memory) const {
    batch rows;
    rows.row_count = features.size() / feature_count_;
    rows.features = features;
    do_predict(parameters, rows, out, memory);
  }

protected:
  model(size_t feature_count, size_t output_count, loss_options loss)
    : feature_count_(feature_count),
      output_count_(output_count),
      prediction_count_(is_binary(loss.kind) ? 2 : output_count),
      loss_(std::move(loss)) {}

  parameter_layout layout_;

private:
  virtual void do_initialize(uint64_t seed, const index_range& elements,
                             std::span<float> out) const = 0;
  virtual batch_sums do_gradient(std::span<const float> parameters, const batch& rows,
                                 std::span<float> gradient_out, workspace& memory,
                                 const gradient_listener* listener) const = 0;
  virtual void do_predict(std::span<const float> parameters, const batch& rows,
                          std::span<float> out, workspace& memory) const = 0;
  batch_sums unfrozen_gradient(std::span<const float> parameters, const batch& rows,
                               std::span<float> gradient_out, workspace& memory,
                               const gradient_listener* listener) const;

  size_t feature_count_;
  size_t output_count_;
  size_t prediction_count_;
  loss_options loss_;
  std::vector<index_range> frozen_;                    ///< in order, disjoint
  mutable std::shared_ptr<const segment_chain> whole_; ///< of a model that has not said how
};

} // namespace troupe
