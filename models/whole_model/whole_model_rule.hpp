// Whole-model rules: updates that need the whole gradient, and perhaps the loss, at once.
//
// A rule is given each version's mean gradient and loss and writes the next version. Between versions
// it knows nothing but its `optimizer_state`: rules are stateless and const, so any holder of
// parameters, state and version can go on from there, bit for bit.
//
// Some look at the whole only through sums over elements (`sum_count`): each owner of a span sends the
// numbers of its blocks, all add those of all blocks in one tree, and each moves its own span by the
// totals. So the result is that of a single owner. A rule without such sums needs one owner of all
// parameters.
//
// A rule that searches wants gradients at points that may turn out bad. It must not make a bad
// point a version, because any version may become the result. So a version has two vectors: its
// parameters, which are always good to stop at, and the *point*, where the replicas compute the
// gradient that leads to the next version. The point is part of the state (`point_slot`); a rule
// without one takes gradients at the parameters themselves.

#pragma once

#include "models/base/batch.hpp"
#include "models/base/index_range.hpp"
#include "models/network/parameter_layout.hpp"
#include "models/optimizers/optimizer.hpp"
#include "models/training/regularization.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

/// What a step of a whole-model rule reads and writes. P parameters, all of the model or a span of it; the
/// point is that of the step, the parameters themselves for a rule that has none.
struct whole_model_update {
  uint64_t step = 0;                 ///< counted from 0: of version `step`, to version `step` + 1
  batch_sums sums;                   ///< at the point
  double penalty = 0;                ///< at the point: what penalties add to the mean loss, of all
  bool is_finite = true;             ///< loss and gradient are; else the gradient is not to be read
  std::span<const float> gradient;   ///< P: mean gradient at the point, penalties included
  std::span<const float> parameters; ///< P: of version `step`
  std::span<float> next;             ///< P: of the next version; not the memory of `parameters`
  std::span<const double> totals{};  ///< of the rule's sums, over all blocks of the model
};

class whole_model_rule {
public:
  virtual ~whole_model_rule() = default;

  /// As given, with the rule's own constants filled in.
  const optimizer_options& options() const noexcept { return options_; }

  /// The state of a version 0 with these parameters.
  virtual optimizer_state start(std::span<const float> parameters) const = 0;

  /// True when these can be the numbers of a state of this rule. What comes from a file or a wire
  /// is held against it before anything is indexed by it.
  virtual bool accepts(std::span<const double> numbers) const { return numbers.empty(); }

  /// The slot of the state that holds the point; nothing: gradients are taken at the parameters.
  virtual std::optional<size_t> point_slot() const { return std::nullopt; }

  /// How many sums it needs over the elements of the whole model; nothing: it needs one owner.
  virtual std::optional<size_t> sum_count() const { return std::nullopt; }

  /// Writes the terms of these elements of the span to `out` (sum_count). Called before `update`, of a
  /// block whose gradient is finite. `x` has no totals yet, and nothing is written.
  virtual void add_terms(const whole_model_update& x, const optimizer_state& state,
                         const index_range& elements, std::span<double> out) const;

  /// Writes the next version and moves the state, the point included. Returns the sums that the
  /// history shows for this step. Nothing when the step cannot be made finite: then neither `next`
  /// nor the state are of any further use.
  virtual std::optional<batch_sums> update(const whole_model_update& x,
                                           optimizer_state& state) const = 0;

protected:
  /// Throws std::invalid_argument as checked_options does.
  whole_model_rule(const optimizer_options& options, optimizer_kind kind)
    : options_(checked_options(options, kind)) {}

private:
  optimizer_options options_;
};

/// `rule.update` by an owner of the whole model: with the totals of its own blocks.
std::optional<batch_sums> update_alone(const whole_model_rule& rule, whole_model_update x,
                                       optimizer_state& state);

/// The whole-model rule of the given options for a model of this layout.
/// Throws std::invalid_argument when a constant is out of its range, or the kind's rule is none.
std::unique_ptr<whole_model_rule> make_whole_model_rule(const optimizer_options& options,
                                                        const parameter_layout& layout);

// A step of a whole-model rule: what `reducer::reduce_and_update` is to element-wise rules.
//
// The sum of a span's gradient becomes the mean with its clipping and penalties, in place, and each of
// its blocks numbers: whether it was finite, its penalty, and the terms of the rule's sums. With the
// totals over all blocks of the model the rule moves the span.

/// The factor that turns a gradient summed over samples into the mean: rounded once.
inline float mean_factor(uint64_t sample_count) {
  return static_cast<float>(1 / static_cast<double>(sample_count));
}

/// What is known of a step. All spans are of the same elements (P), which begin with a block.
struct whole_model_step {
  uint64_t step = 0;                 ///< counted from 0
  batch_sums total;                  ///< of the whole gradient
  const regularization& changes;     ///< of the mean gradient
  float norm_factor = 1;             ///< of the step
  size_t first_element = 0;          ///< where the spans are in the model
  std::span<float> gradient;         ///< summed over samples; then the mean, changed
  std::span<const float> parameters; ///< of version `step`
  std::span<float> next;             ///< of the next version
};

/// Numbers of a block.
size_t block_number_count(const whole_model_rule& rule);

/// The first half: the gradient is changed. Returns the numbers of each block (block_number_count).
std::vector<double> begin_step(const whole_model_rule& rule, const whole_model_step& x,
                               const optimizer_state& state);

/// True when the gradient was finite wherever these numbers, or totals of them, are from.
bool blocks_are_finite(std::span<const double> numbers);

/// The second half: as whole_model_rule::update. `totals`: of the numbers of all blocks of the model.
std::optional<batch_sums> end_step(const whole_model_rule& rule, const whole_model_step& x,
                                   std::span<const double> totals, optimizer_state& state);

} // namespace troupe
