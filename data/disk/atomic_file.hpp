// Writes a file whole or not at all: whoever opens the path sees the old content or the new one,
// never a part of either, even if the machine stops in between.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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

/// Takes a part of a file's content.
using byte_sink = std::function<void(std::span<const std::byte>)>;

/// The same for content that is made part by part, and is never whole in memory: `make` gives all its
/// `bytes` to its argument. What it throws leaves what was there as it was.
void write_file_atomically(const std::string& path, uint64_t bytes,
                           const std::function<void(const byte_sink&)>& make);

/// Room on the disk, taken before the content is there: whoever computes for hours learns now that
/// the disk is full, and a disk that fills up meanwhile does not cost the result.
class reserved_file {
public:
  /// Takes `bytes` of the disk that the file is to lie on, in a file without a name, which the
  /// kernel removes with the process. Where the file system cannot do that, only looks.
  ///
  /// Throws what write_file_atomically throws; io_error with the bytes needed and available when
  /// there are too few.
  reserved_file(std::string path, uint64_t bytes);
  ~reserved_file();
  reserved_file(const reserved_file&) = delete;
  reserved_file& operator=(const reserved_file&) = delete;

  const std::string& path() const noexcept { return path_; }

  /// As write_file_atomically, into the room that was taken; more than that needs a disk that is
  /// not full.
  void write(std::span<const std::span<const std::byte>> pieces);
  void write(uint64_t bytes, const std::function<void(const byte_sink&)>& make);

private:
  struct state;
  std::string path_;
  std::unique_ptr<state> state_; ///< null where nothing could be taken, and once it is used
};

/// write_file_atomically for content that comes part by part and is never whole in memory.
/// Destroying it before `publish` leaves what was there as it was. Every member throws what
/// write_file_atomically throws.
class atomic_file {
public:
  explicit atomic_file(const std::string& path);
  ~atomic_file();
  atomic_file(atomic_file&&) noexcept;
  atomic_file& operator=(atomic_file&&) noexcept;

  void append(std::span<const std::byte> bytes);
  void append(std::string_view text);

  /// Writes `bytes` behind the first `offset` bytes, which may be written later, whatever else was
  /// written. Not beside `append`.
  void write_at(uint64_t offset, std::span<const std::byte> bytes);

  /// Writes `bytes` over the file's first ones: for a header that tells how much followed.
  void rewrite_start(std::span<const std::byte> bytes);

  /// The file reaches the disk and takes its name. Once, as the last.
  void publish();

private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace troupe
