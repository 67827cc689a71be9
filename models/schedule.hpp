// Learning-rate schedules: the rate of a step as a pure function of the step's number, counted
// from 0. A schedule multiplies the optimizer's base rate by a factor; it keeps no state, so a
// resumed or re-executed step uses exactly the rate it used before.

#pragma once

#include "troupe/models/names.hpp"

#include <cstdint>
#include <vector>

namespace troupe {

enum class schedule_kind : uint8_t { constant, step, cosine, warmup };

template <>
struct name_table<schedule_kind> {
  static constexpr std::array entries{
    named(schedule_kind::constant, "constant"), named(schedule_kind::step, "step"),
    named(schedule_kind::cosine, "cosine"), named(schedule_kind::warmup, "warmup")};
};

/// What a schedule needs to know. Which fields count depends on `kind`; the others keep their
/// defaults. t is the step's number.
struct schedule_options {
  schedule_kind kind = schedule_kind::constant;
  /// step: the rate is multiplied by `factor` every `steps` steps (>= 1).
  /// cosine: steps from the full rate down to `minimum` (>= 1), then it stays there.
  /// warmup: steps of the linear rise (>= 1).
  uint64_t steps = 1;
  /// step: factor of one stage, in (0, 1].
  double factor = 0.1;
  /// cosine: the last factor, in [0, 1].
  double minimum = 0;
  /// warmup: the factor of step 0, in [0, 1].
  double start = 0;
  /// warmup: at most one schedule that goes on after the rise, its steps counted from the rise's
  /// end; none means constant.
  std::vector<schedule_options> then{};

  friend bool operator==(const schedule_options&, const schedule_options&) = default;
};

/// The factor on the base rate at step `t`.
///
/// - constant: 1
/// - step:     factor^floor(t / steps)
/// - cosine:   minimum + (1 - minimum) (1 + cos(pi min(t, steps) / steps)) / 2
///             (Loshchilov & Hutter 2017, one period, no restart)
/// - warmup:   start + (1 - start) t / steps below `steps`, then `then` at t - steps
///
/// Throws std::invalid_argument when an option is out of its range.
double schedule_factor(const schedule_options& options, uint64_t t);

} // namespace troupe
