// The folder of one run: its job, its model, its figures. One process at a time writes there, and
// no run overwrites another unasked.

#pragma once

#include "data/run_folder/folder_claim.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

inline constexpr std::string_view job_file_name = "job.toml";
inline constexpr std::string_view model_file_name = "model.safetensors";
inline constexpr std::string_view history_file_name = "history.csv";
inline constexpr std::string_view rounds_file_name = "rounds.csv";    ///< of a federated run
inline constexpr std::string_view release_file_name = "releases.csv"; ///< of a private run
inline constexpr std::string_view summary_file_name = "summary.json";
/// What job_sha256 is the hash of, one key a line: tells which job a folder belongs to, and in what
/// another one differs.
inline constexpr std::string_view identity_file_name = "identity.txt";

/// What to do with a run that is in the folder already.
enum class earlier_run : uint8_t { refuse, replace, resume };

/// A folder, claimed while this lives (data/run_folder/folder_claim.hpp).
///
/// A run is finished when it has a summary, which is therefore written last. A run that is resumed
/// counts as unfinished until it has one again.
class run_directory {
public:
  /// Claims the folder. Throws failure as folder_claim does, and cannot_create when the folder
  /// holds a run, finished or not, or checkpoints, and it is to be refused. Nothing is changed yet.
  run_directory(std::string path, earlier_run treatment);

  const std::string& path() const noexcept { return claim_.path(); }

  /// The path of a file in the folder.
  std::string file(std::string_view name) const;

  /// Whether there is a file of that name.
  bool has(std::string_view name) const;

  /// The identity of the run in the folder; nothing when none was recorded.
  std::optional<std::string> identity() const;

  /// Throws failure(cannot_create) when the folder belongs to another job than that of `identity`,
  /// naming the keys that differ, or holds a run that does not say whose it is.
  void expect_identity(const std::string& identity) const;

  /// Starts the run: removes the files of an earlier one (those named above, its events,
  /// flight recorders' files and files for TensorBoard, and no others; of a run that is resumed the summary alone), and writes identity.txt and job.toml. Throws
  /// failure(cannot_create | io_error).
  void begin(std::string_view job_text, std::string_view identity);

  /// Takes back `begin`, for a run that came to train nothing: it is to be in nobody's way. A run
  /// that was to be resumed stays.
  void take_back() const noexcept;

private:
  folder_claim claim_;
  earlier_run treatment_;
};

/// The keys, in order, whose lines differ between two identities.
std::vector<std::string> keys_that_differ(std::string_view a, std::string_view b);

} // namespace troupe
