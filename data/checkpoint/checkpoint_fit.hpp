// Whether a checkpoint can be one of a job: a file may be whole, have the job's name, and still
// hold another shape, be it by a defect of who wrote it or by somebody's hand. Nothing is indexed,
// copied or waited for by what a checkpoint says before it was held against what the job implies.

#pragma once

#include "troupe/data/checkpoint/checkpoint.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace troupe {

/// What a job lets one expect of each of its checkpoints.
struct checkpoint_expectation {
  uint64_t parameter_count = 0;
  uint64_t slot_count = 0;     ///< of its optimizer
  uint64_t number_count = 0;   ///< numbers its optimizer keeps besides
  uint64_t steps_in_epoch = 1; ///< >= 1
  uint64_t batch_size = 1;     ///< rows of a step, at most
};

/// Replicas that a checkpoint may tell of: beyond reason for one run.
inline constexpr size_t checkpoint_replicas_max = 100'000;

/// The first thing in which `x` cannot be a checkpoint of such a job, in words, with both numbers;
/// nothing when it can.
std::optional<std::string> misfit(const checkpoint& x, const checkpoint_expectation& expected);

} // namespace troupe
