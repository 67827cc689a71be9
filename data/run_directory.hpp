// The folder of one run: its job, its model, its figures. One process at a time writes there, and
// no run overwrites another unasked.

#pragma once

#include <string>
#include <string_view>

namespace troupe {

inline constexpr std::string_view job_file_name = "job.toml";
inline constexpr std::string_view model_file_name = "model.safetensors";
inline constexpr std::string_view history_file_name = "history.csv";
inline constexpr std::string_view summary_file_name = "summary.json";
/// Held while a run lasts; holds the process's number as text.
inline constexpr std::string_view lock_file_name = "lock";

/// Claims a folder on construction and lets go of it on destruction.
///
/// A run is finished when it has a summary, which is therefore written last.
class run_directory {
public:
  /// Makes the folder with its parents, and locks it.
  ///
  /// Throws failure(cannot_create) when it is no folder, cannot be written, is in use by another
  /// process, or holds a run and `overwrite` is false. Nothing of an earlier run is changed yet.
  run_directory(std::string path, bool overwrite);
  ~run_directory();
  run_directory(const run_directory&) = delete;
  run_directory& operator=(const run_directory&) = delete;

  const std::string& path() const noexcept { return path_; }

  /// The path of a file in the folder.
  std::string file(std::string_view name) const;

  /// Starts the run: removes the files of an earlier one (those named above and no others) and
  /// writes job.toml. Throws failure(cannot_create | io_error).
  void begin(std::string_view job_text);

private:
  void lock();

  std::string path_;
  int lock_ = -1;
};

} // namespace troupe
