// Writes a file whole or not at all: whoever opens the path sees the old content or the new one,
// never a part of either, even if the machine stops in between.

#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

/// Writes `content` to `path`, replacing a file that is there.
///
/// The content goes to a file without a name in the same folder (a temporary name where the file
/// system cannot do that), reaches the disk, takes the name, and then the folder reaches the disk.
/// A process that is killed in between leaves nothing behind. Throws failure and leaves what was
/// there as it was, without a temporary file: cannot_create when the folder is missing or `path` is
/// a folder, no_permission, io_error otherwise; a full disk is told with the bytes needed and
/// available.
void write_file_atomically(const std::string& path, std::span<const std::byte> content);
void write_file_atomically(const std::string& path, std::string_view content);

/// The same for content that stands in several places: the pieces, one after the other.
void write_file_atomically(const std::string& path,
                           std::span<const std::span<const std::byte>> pieces);

/// The same for content that comes part by part and is never whole in memory. Destroying it before
/// `publish` leaves what was there as it was. Every member throws what write_file_atomically
/// throws.
class atomic_file {
public:
  explicit atomic_file(const std::string& path);
  ~atomic_file();
  atomic_file(atomic_file&&) noexcept;
  atomic_file& operator=(atomic_file&&) noexcept;

  void append(std::span<const std::byte> bytes);
  void append(std::string_view text);

  /// Writes `bytes` over the file's first ones: for a header that tells how much followed.
  void rewrite_start(std::span<const std::byte> bytes);

  /// The file reaches the disk and takes its name. Once, as the last.
  void publish();

private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace troupe
