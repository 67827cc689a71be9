// Lowering the learning rate where the watched loss stands still.
//
// Which step the rate is lower from is decided while a run lasts (coordinators/run/plateau_rule.hpp); what
// follows from it is a pure function of the step and of those decisions. They name what a multi-step
// schedule has as milestones: that schedule gives the same bits without looking.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace troupe {

struct plateau_options {
  std::optional<size_t> patience; ///< evaluations in a row without improvement, >= 1; absent: off
  double factor = 0.1;            ///< of the rate each time, in (0, 1)
  double tolerance = 0;           ///< what a loss has to be lower by to count as improved, >= 0
  double minimum = 0;             ///< the rate's share below which it never goes, in [0, 1]

  friend bool operator==(const plateau_options&, const plateau_options&) = default;
};

/// The factor on the rate of step `t`: options.factor to the power of how many `reductions` (rising) are at
/// or below t.
double plateau_factor(const plateau_options& options, std::span<const uint64_t> reductions,
                      uint64_t t);

} // namespace troupe
