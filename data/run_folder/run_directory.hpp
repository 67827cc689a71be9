// The folder of one run: its job, its model, its figures. One process at a time writes there, and
// no run overwrites another unasked.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

// The claim on a folder that one process writes: it is made if it is missing, locked, and tried
// out, so that a run learns before hours of training, not after, that it cannot keep its results.

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

/// What nodes with rows of their own have agreed on (data/training_rows/row_table.hpp).
inline constexpr std::string_view table_file_name = "table.json";
inline constexpr std::string_view job_file_name = "job.toml";
inline constexpr std::string_view model_file_name = "model.safetensors";
inline constexpr std::string_view history_file_name = "history.csv";
inline constexpr std::string_view rounds_file_name = "rounds.csv";     ///< of a federated run
inline constexpr std::string_view release_file_name = "releases.csv";  ///< of a private run
inline constexpr std::string_view sequence_file_name = "sequence.txt"; ///< of an asynchronous run
/// Of a federated run whose clients dialled in.
inline constexpr std::string_view clients_file_name = "rounds.jsonl";
inline constexpr std::string_view importance_file_name =
  "importance.json"; ///< of `troupe importance`
inline constexpr std::string_view summary_file_name = "summary.json";
/// What job_sha256 is the hash of, one key a line: tells which job a folder belongs to, and in what
/// another one differs.
inline constexpr std::string_view identity_file_name = "identity.txt";

/// What to do with a run that is in the folder already.
enum class earlier_run : uint8_t { refuse, replace, resume };

/// A folder, claimed while this lives.
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

// Flight recorders' files of processes that are gone: who starts or ends in a run directory takes in what
// dead processes of that run left in memory, and what nobody takes in does not pile up.

/// How many files of dead processes stay in a folder.
inline constexpr size_t flight_files_kept = 8;

/// A file whose process is gone.
struct left_flight {
  std::string path;
  std::string process;
  std::string run_directory; ///< absolute
  uint64_t begin_unix_ms = 0;
};

/// This user's, in order of their begin. What cannot be read is none.
std::vector<left_flight> left_flights(const std::string& folder);

/// In a run directory the file of a process is called "flight-NODE.bin".
inline constexpr std::string_view flight_file_prefix = "flight-";

/// Moves those of this run into its directory, each over an older one of its process, and gives where
/// they are now. What cannot be moved stays where it is, and is given so.
std::vector<std::string> take_in_flights(const std::string& folder,
                                         const std::string& run_directory);

/// Removes the oldest ones, so that `flight_files_kept` stay, and empty files a minute old. What was removed
/// meanwhile is none.
void drop_old_flights(const std::string& folder);

} // namespace troupe
