// Writes a file whole or not at all: whoever opens the path sees the old content or the new one,
// never a part of either, even if the machine stops in between.
//
//   append, write_at, .. ---> publish: it has its name, and the file before it is gone
//       \---> fails, or is destroyed: nothing is left of it

#pragma once

#include "data/disk/disk.hpp"
#include "data/text/failure.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

/// How names end of files on a given disk that are not whole yet.
inline constexpr std::string_view unfinished_end = ".tmp";

/// Permissions of a private key, and of a certificate.
inline constexpr uint32_t mode_for_owner = 0600, mode_for_everyone = 0644;

/// Whom a file is for, and what it may replace.
struct file_rules {
  std::optional<uint32_t>
    mode;               ///< from the first byte on; nothing: the old file's, or the usual one
  bool replaces = true; ///< a file that is there
};

/// One file on its way to its name. The content reaches the disk, takes the name, and then the folder
/// reaches the disk.
///
/// Every member throws failure with the path, and leaves what was there as it was, without a temporary
/// file: cannot_create when the folder is missing, `path` is no file, or a file is there that may not
/// be replaced; no_permission, io_error otherwise. A full disk is told with the bytes needed and
/// available. A file that failed once fails again.
class atomic_file {
public:
  /// On the disk of this machine. The file has no name until it is whole: the kernel removes it with
  /// the process, however that ends. Where the file system cannot do that (NFS) it has a temporary
  /// name, which a process that is killed leaves behind.
  explicit atomic_file(std::string path, const file_rules& rules = {});

  /// On this disk, with a temporary name. Nothing happens before the first write or `attempt`.
  /// `bytes_needed`: for messages.
  atomic_file(std::shared_ptr<disk> where, std::string path, uint64_t bytes_needed);

  ~atomic_file();
  atomic_file(atomic_file&&) = default;
  atomic_file& operator=(atomic_file&&) = delete;

  const std::string& path() const noexcept { return path_; }
  /// Where the content goes, of a file on a given disk.
  const std::string& temporary() const noexcept { return temporary_; }

  /// How much there is to write, for messages.
  void need(uint64_t bytes) { bytes_needed_ = bytes; }

  /// Takes room on the disk before the content is there: whoever computes for hours learns now that
  /// the disk is full, and a disk that fills up meanwhile does not cost the result. Where the file
  /// system cannot do that, or shows a file without content to all, only looks.
  void reserve(uint64_t bytes);

  void append(std::span<const std::byte> bytes) { write_at(end_, bytes); }
  void append(std::string_view text) { append(std::as_bytes(std::span(text))); }

  /// Writes `bytes` behind the first `offset` bytes, which may be written later, or over others.
  void write_at(uint64_t offset, std::span<const std::byte> bytes);

  /// Does something else with the temporary file. A disk_error costs the file.
  template <class Action>
  void attempt(const Action& action) {
    if (problem_)
      throw failure(*problem_);
    is_begun_ = true;
    try {
      action();
    } catch (const disk_error& error) {
      remove(); // what it takes is room, too
      problem_ = told(error);
      throw failure(*problem_);
    }
  }

  /// The file reaches the disk and takes its name. Once, as the last.
  void publish();

private:
  void open();
  void take_name();
  void remove();
  failure told(const disk_error& error) const;

  std::shared_ptr<disk> disk_; ///< null: moved from
  std::string path_;
  file_rules rules_;
  std::string temporary_; ///< empty while the file has no name
  bool has_fixed_name_ = false;
  bool is_begun_ = false;
  std::unique_ptr<disk_writer> out_;
  uint64_t end_ = 0;
  uint64_t bytes_needed_ = 0;
  std::optional<failure> problem_;
};

/// Writes `content` to `path`, which replaces a file that is there, if it may. Throws what atomic_file throws.
void write_file_atomically(const std::string& path, std::span<const std::byte> content,
                           const file_rules& rules = {});
void write_file_atomically(const std::string& path, std::string_view content,
                           const file_rules& rules = {});

} // namespace troupe
