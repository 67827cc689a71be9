// The bytes of a binary file, plain or gzip, front to back: what the readers of arrays start from.
// Every complaint names the file and the offset of the byte in question (counted in the
// decompressed data), because a binary file has no lines.

#pragma once

#include "data/source/text_source.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

class binary_source {
public:
  /// Opens the file. Throws what text_source throws.
  explicit binary_source(const std::string& path);

  const std::string& path() const noexcept { return source_.path(); }

  /// The first bytes of the file, at most 8, whether or not they are read already: formats are
  /// told apart by them.
  std::string_view start() const noexcept { return {start_.data(), start_bytes_}; }

  /// Offset of the next byte.
  uint64_t offset() const noexcept { return offset_; }

  /// Fills the whole of `out`. Throws failure(bad_data) when the file ends before, saying that it
  /// ends within `what`; what text_source throws.
  void read(std::span<char> out, std::string_view what);

  /// Holds what a header promises against the file before anybody allocates for it: exactly `bytes`
  /// must follow. Throws failure(bad_data) with both numbers. The size of a compressed file or a
  /// pipe is not known: then nothing is checked, and whoever reads must grow as the bytes come.
  /// Returns whether it was known.
  bool expect_rest(uint64_t bytes) const;

  /// Throws failure(bad_data) when bytes follow.
  void expect_end();

  /// Throws failure(bad_data) for the byte at `offset`.
  [[noreturn]] void fail(uint64_t offset, const std::string& reason, std::string hint) const;

private:
  size_t read_some(std::span<char> out);

  text_source source_;
  std::array<char, 8> start_;
  size_t start_bytes_ = 0;
  uint64_t offset_ = 0;
};

} // namespace troupe
