// The claim on a folder that one process writes: it is made if it is missing, locked, and tried
// out, so that a run learns before hours of training, not after, that it cannot keep its results.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Held while a folder is claimed; holds the process's number as text.
inline constexpr std::string_view lock_file_name = "lock";

/// What a folder is to its user, for messages.
struct folder_role {
  std::string_view name; ///< "run directory"
  std::string_view key;  ///< of a job file, that names another: "output.directory"
};

/// Claims a folder on construction and lets go of it on destruction; then folders it made are gone
/// again if nothing was put there. The lock of a process that died does not count.
class folder_claim {
public:
  /// Throws failure: cannot_create when it is no folder, cannot be made, or is in use; no_permission or io_error when
  /// the disk refuses it.
  folder_claim(std::string path, const folder_role& role);
  ~folder_claim();
  folder_claim(const folder_claim&) = delete;
  folder_claim& operator=(const folder_claim&) = delete;

  const std::string& path() const noexcept { return path_; }

private:
  void lock();
  void let_go();
  std::string lock_path() const;

  std::string path_;
  folder_role role_;
  std::vector<std::string> made_; ///< the innermost first
  int lock_ = -1;
};

} // namespace troupe
