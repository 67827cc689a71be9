// The folder that a run's checkpoints lie in: new ones are written so that a crash never costs an
// old one, and the newest that is intact is found.
//
//   checkpoint-000000000120.troupe    the state at version 120
//   checkpoint-000000000120.troupe.tmp    being written, or left by a process that died
//   scratch-4711-0.tmp    likewise (data/disk/stored_tensor.hpp)
//   term    the highest term in use
//
// A folder belongs to one run and is written by one process at a time: whoever makes a store makes
// sure of that (data/run_folder/run_directory.hpp holds a lock).

#pragma once

#include "data/checkpoint/checkpoint.hpp"
#include "data/checkpoint/checkpoint_file.hpp"
#include "data/disk/disk.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

// How checkpoints are called in their folder: "checkpoint-000000000120.troupe" is of version 120.

/// At least twelve digits, so that names sort as versions do.
std::string checkpoint_name(uint64_t version);

/// The version in a checkpoint's name; nothing for any other name.
std::optional<uint64_t> version_in(std::string_view name);

/// The paths of the checkpoints in a folder of this machine, whole or not, by version. None where
/// there is no such folder.
std::map<uint64_t, std::string> checkpoints_in(const std::string& folder);

/// The last two: while the newest may be damaged by the very event that makes it needed.
inline constexpr size_t checkpoints_kept = 2;

/// A file that looks like a checkpoint and cannot be used, and why; to be shown to the user.
struct skipped_checkpoint {
  std::string path;
  std::string reason;

  friend bool operator==(const skipped_checkpoint&, const skipped_checkpoint&) = default;
};

/// What `latest` found.
struct checkpoint_search {
  /// Whole and checked; its tensors lie in its file. Nothing when there is no file at all.
  std::optional<checkpoint> newest;
  std::string path;                        ///< of `newest`
  std::vector<skipped_checkpoint> skipped; ///< newer ones, newest first
};

/// Where some elements of a checkpoint belong: P parameters, S slots.
struct checkpoint_range {
  uint64_t version = 0;
  uint64_t parameter_count = 0; ///< P
  uint64_t slot_count = 0;      ///< S
  uint64_t part = 0;            ///< 0: the parameters; then the slots
  uint64_t first_element = 0;   ///< of the tensor
};

/// Says why a whole checkpoint of the job cannot be used; nothing when it can.
using checkpoint_check = std::function<std::optional<std::string>(const checkpoint&)>;

/// The name of a checkpoint in a folder of this machine, the newest; nothing when there is none, or
/// no such folder.
std::optional<std::string> checkpoint_in(const std::string& folder);

class checkpoint_store {
public:
  /// Removes what a process that died left unfinished. `keep` >= 1.
  ///
  /// Throws failure(cannot_create) when there is no such folder, io_error or no_permission when it
  /// cannot be worked with.
  checkpoint_store(std::shared_ptr<disk> where, std::string directory,
                   size_t keep = checkpoints_kept);
  ~checkpoint_store();
  checkpoint_store(const checkpoint_store&) = delete;
  checkpoint_store& operator=(const checkpoint_store&) = delete;

  const std::shared_ptr<disk>& where() const noexcept { return disk_; }
  const std::string& directory() const noexcept { return directory_; }

  std::string path_of(uint64_t version) const;

  /// Versions with a file, whole or not, in rising order.
  std::vector<uint64_t> versions() const;

  /// Opens the checkpoint of a version; see checkpoint_file.
  checkpoint_file open(uint64_t version) const;

  // A checkpoint is written by ranges to a temporary file, of several versions at a time if need be:
  //
  //   write_range, write_range, .. ---> finish: it has its name
  //        \---> drop_drafts_from, or a later one is finished: nothing is left of it
  //
  // All throw failure(io_error | no_permission | cannot_create) with the path, and for a full disk the
  // bytes needed and there: the older checkpoints are untouched then and no temporary file is left.

  /// Elements of a version's parameters or slots; each once.
  void write_range(const checkpoint_range& what, std::span<const float> values);

  /// All else of a checkpoint, of which every element was written. Its file reaches the disk, takes
  /// its name, and then the folder reaches the disk. Afterwards the others of its job are removed but
  /// for the `keep` - 1 before it that are whole, as far as their records tell; later ones too,
  /// because a run that had been able to use them would not come by this version again. Other jobs'
  /// files stay. Throws std::logic_error when elements are missing.
  ///
  /// `x` has S slots; they and the parameters are not looked at.
  checkpoint_file finish(const checkpoint& x);

  /// These versions will not be finished.
  void drop_drafts_from(uint64_t version);

  /// The same for one that is whole already: `write_range` and `finish`.
  void write(const checkpoint& x);

  /// The newest checkpoint of a job that is intact and that `misfit`, if there is one, says nothing
  /// against. Others, damaged ones and those of other jobs are skipped and listed. Throws
  /// failure(bad_data), or failure(mismatch) when all are other jobs', if there are checkpoints and
  /// none can be used: to start again from nothing must be somebody's decision.
  checkpoint_search latest(const std::string& job_sha256,
                           const checkpoint_check& misfit = {}) const;

  /// Removes every checkpoint, whosever it is; the term stays.
  void clear();

  /// The highest term that was ever in use here; 0 when there was none. Throws failure(bad_data)
  /// when the file is damaged: a term used twice could let two directors work at once.
  uint64_t read_term() const;

  /// Remembers a term. It has reached the disk when this returns: use it only then.
  void write_term(uint64_t term);

private:
  struct draft;
  draft& draft_of(const checkpoint_range& what);
  std::vector<std::string> names() const;
  /// Whose checkpoint the file of a version is; nothing when it cannot be read.
  std::optional<std::string> job_of(uint64_t version) const;
  void refuse_other_job(const checkpoint& x) const;
  [[noreturn]] void refuse_all(const std::vector<skipped_checkpoint>& skipped, bool damaged) const;
  void remove_unfinished();
  void remove_old(const checkpoint& newest);
  void remove(const std::string& path);
  void sync_folder();

  std::shared_ptr<disk> disk_;
  std::string directory_;
  size_t keep_;
  std::map<uint64_t, std::unique_ptr<draft>> drafts_; ///< by version
};

} // namespace troupe
