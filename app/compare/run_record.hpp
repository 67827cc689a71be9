// A run as its folder tells of it: finished, interrupted, or still under way. Nothing is locked and
// nothing is written, so that whoever trains there does not notice.

#pragma once

#include "troupe/data/records/training_record.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// What tells whether two checkpoints of one version are the same: XXH3 of the parameters and of
/// the optimizer's state.
struct checkpoint_digest {
  uint64_t parameters = 0;
  uint64_t state = 0;

  friend bool operator==(const checkpoint_digest&, const checkpoint_digest&) = default;
};

struct run_record {
  std::string name; ///< what people call it: the folder as they gave it
  /// Every key of its job with its value as TOML, in the order of the documentation; nothing where
  /// it is unset, or was not decided when the run was left.
  std::vector<std::pair<std::string, std::optional<std::string>>> keys;
  std::string identity; ///< identity.txt
  std::vector<history_row> history;
  std::optional<training_summary> summary;       ///< nothing: the run is not finished
  std::map<uint64_t, std::string> checkpoints;   ///< paths, by version
  std::map<uint64_t, checkpoint_digest> digests; ///< of those that were read, by version
};

/// Throws failure: missing_input when there is no such folder or a file in it cannot be read;
/// bad_data when it is no run directory or one of its files is damaged; what load_job throws.
run_record read_run(const std::string& folder);

/// Reads the checkpoints whose versions several runs have. One that cannot be read is passed over:
/// a run that is under way removes its older ones.
void read_common_checkpoints(std::span<run_record> runs);

} // namespace troupe
