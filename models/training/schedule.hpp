// Learning-rate schedules: the rate of a step as a pure function of the step's number, counted
// from 0. A schedule multiplies the optimizer's base rate by a factor; it keeps no state, so a
// resumed or re-executed step uses exactly the rate it used before.

#pragma once

#include "models/base/names.hpp"
#include "models/kinds/option.hpp"
#include "models/training/result_rule.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

/// Beside these, values that an application adds (models/kinds/added_tables.hpp).
enum class schedule_kind : uint16_t {
  constant,
  step,
  cosine,
  warmup,
  multi_step,
  linear,
  exponential,
  inverse_time,
  inverse_square_root,
  polynomial,
  chained,
  sequential
};

template <>
struct name_table<schedule_kind> {
  static constexpr std::array entries{
    named(schedule_kind::constant, "constant"),
    named(schedule_kind::step, "step"),
    named(schedule_kind::multi_step, "multi-step"),
    named(schedule_kind::linear, "linear"),
    named(schedule_kind::exponential, "exponential"),
    named(schedule_kind::inverse_time, "inverse-time"),
    named(schedule_kind::inverse_square_root, "inverse-square-root"),
    named(schedule_kind::polynomial, "polynomial"),
    named(schedule_kind::cosine, "cosine"),
    named(schedule_kind::warmup, "warmup"),
    named(schedule_kind::chained, "chained"),
    named(schedule_kind::sequential, "sequential")};
};

TROUPE_TAKES_ADDITIONS(schedule_kind);

/// A schedule that an application adds (models/kinds/added_tables.hpp). Called by several threads at once.
struct own_schedule {
  /// The factor on the base rate at `step`, counted from 0, finite and >= 0, by these alone: a step may be asked for
  /// again. `steps`: the job's key of that name, by default the steps for which the schedule is in force.
  std::function<double(uint64_t step, uint64_t steps)> factor;
};

/// What stands behind a value that is added. Throws std::invalid_argument for others.
const own_schedule& added_schedule(schedule_kind kind);

/// The value with those of these options that its kind has; one of the library's own stays.
schedule_kind with_options(schedule_kind kind, const component& options);

/// What a schedule needs to know. Which fields count depends on `kind`; the others keep their
/// defaults. t is the step's number.
struct schedule_options {
  schedule_kind kind = schedule_kind::constant;
  /// Steps, >= 1. step: of a stage; linear, polynomial, cosine: from the first factor to the last,
  /// where it stays; warmup: of the rise; exponential: for one more `factor`; inverse-time: until
  /// the rate is half; inverse-square-root: until it is 1 / sqrt(2). Absent: see with_steps.
  std::optional<uint64_t> steps{};
  /// step, multi-step: factor of one stage; exponential: factor of `steps` steps; in (0, 1].
  double factor = 0.1;
  /// cosine, polynomial: the last factor, in [0, 1].
  double minimum = 0;
  /// warmup, linear: the factor of step 0, in [0, 1].
  double start = 0;
  /// warmup: at most one schedule that goes on after the rise, its steps counted from the rise's
  /// end; none means constant.
  std::vector<schedule_options> then{};
  /// linear: the last factor, in [0, 1].
  double end = 1;
  /// polynomial: > 0; 1 is a straight line.
  double power = 1;
  /// multi-step: the steps at which the rate is multiplied by `factor`; sequential: the first step
  /// of each part but the first. Each >= 1, rising.
  std::vector<uint64_t> milestones{};
  /// chained: the schedules whose factors are multiplied; sequential: those that follow one
  /// another, each counting its steps from its own first. At least one.
  std::vector<schedule_options> parts{};
  /// Of a kind that is added: its options, until with_steps makes them one value with `kind`.
  component own{};

  friend bool operator==(const schedule_options&, const schedule_options&) = default;
};

/// True for kinds whose factors are counted in `steps`.
constexpr bool counts_steps(schedule_kind kind) {
  return kind != schedule_kind::constant && kind != schedule_kind::multi_step &&
         kind != schedule_kind::chained && kind != schedule_kind::sequential;
}

/// True for kinds of which only the user can say how many steps they count: a stage, or a rise, as
/// long as the whole run would change nothing, or never arrive.
constexpr bool must_name_steps(schedule_kind kind) {
  return kind == schedule_kind::step || kind == schedule_kind::warmup;
}

/// `options` with missing `steps` filled in, of nested schedules too, where must_name_steps is
/// false: as many as the schedule is in force in a run of `run_steps` (>= 1). What follows a
/// warm-up or a milestone has the rest of the run, a part before a milestone ends there; at
/// least 1.
schedule_options with_steps(schedule_options options, uint64_t run_steps);

/// The factor on the base rate at step `t`; of an added kind what it says, which must be finite and >= 0.
///
/// - constant:            1
/// - step:                factor^floor(t / steps)
/// - multi-step:          factor^(number of milestones at or below t)
/// - linear:              start + (end - start) min(t, steps) / steps
/// - exponential:         factor^(t / steps)
/// - inverse-time:        1 / (1 + t / steps)
/// - inverse-square-root: 1 / sqrt(1 + t / steps); after a warm-up of as many steps this is the
///                        rate of Vaswani et al. 2017, section 5.3
/// - polynomial:          minimum + (1 - minimum) (1 - min(t, steps) / steps)^power
/// - cosine:              minimum + (1 - minimum) (1 + cos(pi min(t, steps) / steps)) / 2
///                        (Loshchilov & Hutter 2017, one period, no restart)
/// - warmup:              start + (1 - start) t / steps below `steps`, then `then` at t - steps
/// - chained:             the product of all parts at t
/// - sequential:          the last part i with a milestone m_i (m_0 = 0) at or below t, at t - m_i
///
/// Throws std::invalid_argument when an option, of a nested schedule too, is out of its range, or
/// `steps` are missing where they count.
double schedule_factor(const schedule_options& options, uint64_t t);

/// Lowering the learning rate where the watched loss stands still.
///
/// Which step the rate is lower from is decided while a run lasts (coordinators/job/stop_rule.hpp); what
/// follows from it is a pure function of the step and of those decisions. They name what a multi-step
/// schedule has as milestones: that schedule gives the same bits without looking.
struct plateau_options {
  std::optional<size_t> patience; ///< evaluations in a row without improvement, >= 1; absent: off
  double factor = 0.1;            ///< of the rate each time, in (0, 1)
  double tolerance = 0;           ///< what a loss has to be lower by to count as improved, >= 0
  double minimum = 0;             ///< the rate's share below which it never goes, in [0, 1]
  result_rule rule = result_rule::none; ///< lowers it when it says so
  component own{}; ///< its options, until `resolve` makes them one value with `rule`

  bool is_on() const { return patience.has_value() || is_added(rule); }

  friend bool operator==(const plateau_options&, const plateau_options&) = default;
};

/// The factor on the rate of step `t`: options.factor to the power of how many `reductions` (rising) are at
/// or below t.
double plateau_factor(const plateau_options& options, std::span<const uint64_t> reductions,
                      uint64_t t);

} // namespace troupe
