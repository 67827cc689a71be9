// The bytes of a file, plain or gzip, one piece after the other: what every reader of text starts
// from. Whether a file is compressed is seen from its first two bytes, never from its name. Several
// gzip members in one file are one text, as for gunzip; anything else after a member is damage and
// is said, because silently ignoring it would lose rows. Large compressed files are decompressed by
// a thread of their own, ahead of the reader.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace troupe {

// Lets whoever asked for data end the reading of them: files may be large, and a pipe may stay
// silent for ever.
//
//   reading_stop stop{[] { return user_is_gone(); }};
//   auto rows = read_data("rows.csv");   // throws failure(interrupted) soon after the user left
//
// Every reader takes its bytes from a text_source, which asks between pieces and while it waits; so
// no reader has to be told.

/// Holds for the thread that makes it, while it lives; an inner one hides an outer one.
class reading_stop {
public:
  /// `requested` may be empty: then nothing ends the reading.
  explicit reading_stop(std::function<bool()> requested);
  ~reading_stop();
  reading_stop(const reading_stop&) = delete;
  reading_stop& operator=(const reading_stop&) = delete;

  /// Throws failure(interrupted) when this thread's reading is to end.
  static void check();

private:
  std::function<bool()> requested_;
  const reading_stop* outer_;
};

enum class compression_kind : uint8_t {
  detected, ///< gzip when the file begins like gzip
  none,     ///< the bytes as they are: for binary formats, which may begin like anything
};

class text_source {
public:
  /// Opens the file. Throws failure: missing_input when there is no such file or it is a folder,
  /// no_permission when it may not be read, io_error for anything else.
  explicit text_source(std::string path, compression_kind compression = compression_kind::detected);
  ~text_source();
  text_source(text_source&&) noexcept;
  text_source& operator=(text_source&&) noexcept;

  const std::string& path() const noexcept { return path_; }

  /// Whether the file is compressed.
  bool compressed() const noexcept;

  /// Bytes of the whole text where they are known beforehand: of a regular file that is not
  /// compressed. What to hold a header's promises against before memory is taken.
  std::optional<uint64_t> size() const noexcept;

  /// What the whole text may come to, for making room: its size where that is known; of a
  /// compressed file what the part read so far lets expect, at most 16 times the file; 0 when
  /// nothing is known.
  uint64_t expected_size() const noexcept;

  /// Writes the next bytes of the text to the front of `out` (at least one byte long) and returns
  /// how many: at least 1, or 0 at the end.
  ///
  /// Throws failure naming the offset in bytes in the file: bad_data when gzip data are damaged or
  /// end early, io_error when reading fails; interrupted when the caller's reading is to end
  /// (reading_stop), also while a pipe is silent.
  size_t read(std::span<char> out);

private:
  struct state;
  std::string path_;
  std::unique_ptr<state> state_;
};

} // namespace troupe
