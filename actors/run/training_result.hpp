// The result of training: the trained parameters, the job as it was trained, history and summary.

#pragma once

#include "coordinators/job/job.hpp"
#include "data/disk/stored_tensor.hpp"
#include "data/records/training_record.hpp"
#include "models/network/parameter_layout.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

struct prepared_data; // data/training_rows/prepare.hpp

/// The name of the process in a run that has no other.
inline constexpr std::string_view only_process_name = "local";

struct training_result {
  job resolved; ///< the job as it was trained: every optional field filled in
  std::shared_ptr<const prepared_data> data;
  parameter_layout layout;
  /// In working order (parameter_layout.hpp). `values()` returns them all. After a run of several
  /// processes with a folder they stay on the disk until that call.
  stored_tensor parameters;
  std::vector<history_row> history;
  std::optional<decision_threshold>
    threshold;              ///< chosen on the validation rows, if the job wants one
  training_summary summary; ///< without the model file's path
  /// Set when training diverged. `parameters` are then the best ones if a best version is kept,
  /// else the last finite ones.
  std::optional<std::string> problem;
  /// A table for people: how long each replica computed, waited and was late. Empty for solvers.
  std::string statistics{};
};

} // namespace troupe
