// What all have in common that read and write files by their numbers, and how a disk's refusal is told.

#pragma once

#include "data/text/failure.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace troupe {

/// An open file or folder, or none; closed with it.
class open_file {
public:
  open_file() = default;
  /// What ::open and its like returned: negative for none.
  explicit open_file(int number) : number_(number) {}
  ~open_file() { close(); }
  open_file(open_file&& other) noexcept;
  open_file& operator=(open_file&& other) noexcept;

  explicit operator bool() const noexcept { return number_ >= 0; }
  int number() const noexcept { return number_; }

  /// False, with errno, when what was written may be lost.
  bool close();

private:
  int number_ = -1;
};

/// Writes all of `bytes`; false, with errno, when any part of them may have been written.
bool write_all(const open_file& file, std::span<const std::byte> bytes);

/// Fills `out` from the byte `offset` on; how many bytes there were: fewer than asked for only where the
/// file ends. Nothing, with errno, when they cannot be read.
std::optional<size_t> read_at(const open_file& file, uint64_t offset, std::span<std::byte> out);

/// Brings the names in a folder to the disk, where its file system can; false, with errno.
bool sync_names(const open_file& folder);

/// The folder that a file lies in.
std::string folder_of(const std::string& path);

/// Bytes that can still be written in a folder; nothing when that is not known.
std::optional<uint64_t> bytes_available_in(const std::string& folder);

// How a disk that refuses is told to people: the code by the reason, what was needed and what there
// is when it is full, and what to do.

/// What could not be done, on which file, and why.
struct disk_refusal {
  std::string what; ///< "cannot write the file"
  std::string path;
  int error_number = 0; ///< errno
};

/// How much of a disk was asked for, and how much it has for us.
struct disk_room {
  uint64_t bytes_needed = 0;
  std::optional<uint64_t> bytes_available; ///< nothing when that is not known
};

/// The failure of writing something: cannot_create, no_permission or io_error. The room is told
/// only when the disk is full.
failure writing_failure(const disk_refusal& refusal, const disk_room& room);

/// The failure of reading something: missing_input, no_permission or io_error.
failure reading_failure(const disk_refusal& refusal);

// Files that hold a secret, or stand beside one: read only when nobody else can read them, or change them.
// atomic_file.hpp writes them.

/// The whole of a file of at most 1 MiB. Throws failure: missing_input, no_permission, io_error;
/// bad_data when it is larger.
std::string read_small_file(const std::string& path);

/// The same of a file that decides whom to trust. Throws also no_permission when everybody may
/// write it.
std::string read_unchanged_file(const std::string& path);

/// The same of a file that nobody but its owner may read. Throws also no_permission when its group
/// or others have any access.
std::string read_secret_file(const std::string& path);

} // namespace troupe
