// A checkpoint: the state of a run at one version, so whole that going on from it gives the bits of
// a run that never stopped.
//
// It is one file of whole logical tensors, so any number of shards can load it, whatever number
// wrote it. A file is either intact or refused: see data/checkpoint/checkpoint_layout.hpp for what
// stands where, and data/checkpoint/checkpoint_store.hpp for the folder it lies in.

#pragma once

#include "data/disk/stored_tensor.hpp"
#include "data/records/training_record.hpp"
#include "models/base/batch.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// What a stop rule remembers (coordinators/job/stop_rule.hpp).
struct stop_rule_memory {
  double best_loss = std::numeric_limits<double>::infinity();
  uint64_t best_version = 0; ///< the version with that loss
  uint64_t waited = 0;       ///< evaluations since without an improvement

  friend bool operator==(const stop_rule_memory&, const stop_rule_memory&) = default;
};

/// What one replica did so far; for the summary only.
struct replica_work {
  uint64_t steps_executed = 0;
  uint64_t sample_count = 0;

  friend bool operator==(const replica_work&, const replica_work&) = default;
};

/// P parameters, S optimizer slots. Doubles keep their bits, NaN and infinities included; those of the
/// history as history.csv has them.
struct checkpoint {
  std::string job_sha256; ///< identity of the job; another job's checkpoint is never used
  std::string arithmetic; ///< by which it was computed (models/base/arithmetic.hpp)
  uint64_t version = 0;   ///< steps applied
  uint64_t term = 0;      ///< the view's term in which it was written

  stored_tensor parameters;              ///< P, of `version`
  std::vector<stored_tensor> slots;      ///< S, each P: the optimizer's state, slot by slot
  std::vector<double> optimizer_numbers; ///< of a rule that keeps numbers besides its slots
  stored_tensor best_parameters;         ///< P, of best_version; empty when not kept
  uint64_t best_version = 0;             ///< the version with the least watched loss, if kept
  double best_loss = 0;                  ///< its watched loss

  batch_sums metrics;                 ///< of the steps since the last row of the history
  stop_rule_memory stop;              ///< of the rows of the history
  stop_rule_memory plateau;           ///< likewise, of who lowers the learning rate
  std::vector<uint64_t> reductions;   ///< rising: steps from which the rate is lower once more
  std::vector<history_row> history;   ///< every row up to `version`
  double seconds = 0;                 ///< trained so far, over all runs of the job
  std::vector<replica_work> replicas; ///< by replica
  recovery_figures recovery;          ///< so far
};

// Whether a checkpoint can be one of a job: a file may be whole, have the job's name, and still
// hold another shape, be it by a defect of who wrote it or by somebody's hand. Nothing is indexed,
// copied or waited for by what a checkpoint says before it was held against what the job implies.

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
