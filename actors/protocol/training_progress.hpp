// How far a run has come: `train` hands it to the application, the command draws it. messages.hpp
// has its form on a wire.

#pragma once

#include "data/records/training_record.hpp"
#include "models/training/round_record.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// The least time between two progress reports of a shard or parameter server: often enough for the eye, too
/// rare to cost anything.
inline constexpr std::chrono::milliseconds progress_interval{100};

/// The director sends it to observers a few times a second and at the end of each epoch.
struct training_progress {
  size_t epoch = 1; ///< the epoch being trained, counted from 1
  size_t epochs = 0;
  uint64_t step = 0; ///< steps done in this epoch
  uint64_t steps_in_epoch = 0;
  uint64_t version = 0; ///< steps done in all
  double seconds = 0;   ///< since training started
  double seconds_of_epoch = 0;
  std::optional<double> train_loss; ///< mean so far in this epoch; absent: no samples
  std::optional<double> train_accuracy;
  std::optional<history_row> finished_epoch; ///< set at the end of an epoch, evaluation included
  std::vector<round_record> rounds{};        ///< with that: federated rounds since the row before
  /// A line for people: which processes a stalled run waits for, or which take part from now on.
  /// The other fields then repeat the last report.
  std::string notice{};

  friend bool operator==(const training_progress&, const training_progress&) = default;
};

} // namespace troupe
