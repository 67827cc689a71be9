// Optimizers: how a gradient moves parameters.
//
// A rule works on one piece of the parameters at a time. So a shard can hold any range of them and
// work in pieces that fit a cache. The new parameters go to other memory than the old ones: old
// versions stay readable while a step is under way.

#pragma once

#include "models/base/buffer.hpp"
#include "models/optimizers/optimizer_options.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace troupe {

enum class direction : uint8_t { descent, ascent };

/// What one update of n parameters reads and writes. t is the step, counted from 0.
struct update_piece {
  const float* gradient_sum = nullptr; ///< n: gradient summed over samples
  const float* parameters = nullptr;   ///< n: of version t
  float* next = nullptr;               ///< n: of version t + 1; not the memory of `parameters`
  size_t offset = 0;                   ///< of this piece in the optimizer's state
  size_t count = 0;                    ///< n
};

/// What depends on the number of the step alone; zeros where the rule has nothing to say.
using step_corrections = std::array<float, 3>;

/// A step's figures, the same for every piece. `begin_step` of the optimizer makes it.
struct update_step {
  float gradient_factor = 0; ///< 1 / samples (negative for ascent): gradient_sum times this is g
  float learning_rate = 0;   ///< base rate times the schedule's factor
  step_corrections corrections{}; ///< of the step's number; the rule knows what they mean
};

/// State of a rule over a span of parameters: as many buffers of the span's size as it needs, and
/// for whole-model rules some numbers. It is all a rule knows of the past: rules have no state.
class optimizer_state {
public:
  optimizer_state() = default;
  optimizer_state(size_t slot_count, size_t size, size_t number_count = 0);
  /// With the slots of another one, which it shares; no numbers.
  explicit optimizer_state(std::vector<buffer> slots) : slots_(std::move(slots)) {}

  /// A state of its own with the same values.
  optimizer_state copy() const;

  std::span<float> slot(size_t index) const { return slots_[index].values(); }
  size_t slot_count() const { return slots_.size(); }
  const std::vector<buffer>& slots() const { return slots_; }
  std::span<double> numbers() { return numbers_; }
  std::span<const double> numbers() const { return numbers_; }

private:
  std::vector<buffer> slots_;   ///< zeros at first; a copy of the state shares them
  std::vector<double> numbers_; ///< zeros at first
};

class optimizer {
public:
  virtual ~optimizer() = default;

  /// As given, with the rule's own constants filled in.
  const optimizer_options& options() const noexcept { return options_; }

  /// Floats of state a parameter.
  virtual size_t slot_count() const = 0;

  /// Figures of step `t` over `sample_count` samples. `reductions`: what results led to
  /// (models/training/schedule.hpp).
  update_step begin_step(uint64_t t, uint64_t sample_count, direction way,
                         std::span<const uint64_t> reductions = {}) const;

  /// Applies the rule. A gradient that is not finite leads to a new parameter that is not: the
  /// caller checks `next`, and drops it and the state if it is not finite.
  virtual void update(const update_step& step, const update_piece& piece,
                      const optimizer_state& state) const = 0;

protected:
  /// Of a rule that an application adds: the options all rules have in common. Throws
  /// std::invalid_argument when one is out of its range.
  explicit optimizer(const optimizer_options& common);
  /// Fills in the defaults of `kind`. Throws std::invalid_argument when a constant the rule has is
  /// out of its range, or the schedule is.
  optimizer(const optimizer_options& options, optimizer_kind kind);

private:
  virtual step_corrections corrections(uint64_t /*t*/) const { return {}; }

  optimizer_options options_;
};

/// The optimizer of the given options.
/// Throws std::invalid_argument when a constant is out of its range, or the kind's rule is not
/// element-wise.
std::unique_ptr<optimizer> make_optimizer(const optimizer_options& options);

} // namespace troupe
