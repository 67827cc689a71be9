// Adding gradients along a tree and applying an optimizer, in one sweep through memory.
//
// A plan says in which order buffers are added, as a postfix program; the sweep runs it on pieces
// that fit the first-level cache and hands each piece's sum to the optimizer while it is hot.
// Pieces do not change the order of any element's additions, so neither their size nor the span a
// shard holds shows in the bits.

#pragma once

#include "models/base/number_format.hpp"
#include "models/optimizers/optimizer.hpp"
#include "models/training/regularization.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// A postfix program over inputs: a number >= 0 pushes that input, `add` replaces the two topmost
/// values a, b (b on top) by a + b. It leaves one value.
struct reduction_plan {
  static constexpr int32_t add = -1;
  std::vector<int32_t> operations;

  friend bool operator==(const reduction_plan&, const reduction_plan&) = default;
};

/// Floats a piece: 8 KiB, so that a handful of them stay in a first-level cache of 32 KiB.
inline constexpr size_t reduction_piece_size = 2048;

/// What the sweep does to the mean gradient between reduction and rule, and where it is.
struct gradient_changes {
  const regularization* rule = nullptr; ///< null, or not active: nothing, at no cost
  size_t offset = 0;                    ///< of the span's first element in the model
  float norm_factor = 1;                ///< of the step
  size_t state_offset = 0;              ///< of the span's first element in the optimizer's state
};

/// Runs a plan on spans of equal size. Not thread-safe: one for each thread; keeps its scratch.
class reducer {
public:
  /// Every sum of two is rounded to the format, also below and at the root; the inputs have it already.
  explicit reducer(number_format format = number_format::float32) : format_(format) {}

  /// out = the plan's value. Throws std::invalid_argument for a plan that is no postfix program
  /// over `inputs`, or for sizes that differ.
  void reduce(const reduction_plan& plan, std::span<const std::span<const float>> inputs,
              std::span<float> out);

  /// Reduces and applies `rule` to some of the parameters the state was made for.
  /// False as soon as a new parameter is not finite, which every bad gradient leads to, or as soon
  /// as a gradient to be changed is not finite: clipping would hide it.
  bool reduce_and_update(const reduction_plan& plan, std::span<const std::span<const float>> inputs,
                         const optimizer& rule, const update_step& step,
                         const optimizer_state& state, std::span<const float> parameters,
                         std::span<float> next, const gradient_changes& changes = {});

private:
  /// Checks the program and makes room for its stack.
  void prepare(const reduction_plan& plan, size_t input_count);
  /// The plan's value on one piece: an input's own memory or scratch.
  const float* evaluate(const reduction_plan& plan, std::span<const std::span<const float>> inputs,
                        size_t offset, size_t count);

  number_format format_;
  buffer scratch_;       ///< one piece a level of the stack
  buffer mean_gradient_; ///< a piece, when gradients are changed
  std::vector<const float*> stack_;
};

/// a += b, element by element, rounded to the format. Throws std::invalid_argument when sizes differ.
void add_into(std::span<float> a, std::span<const float> b,
              number_format format = number_format::float32);

/// The first span with a value that is not finite; `inputs.size()` when there is none.
size_t find_not_finite(std::span<const std::span<const float>> inputs);

} // namespace troupe
