// The characters of a text file, plain or gzip, one after the other: code points of UTF-8. A byte order mark at
// the begin is none of them.

#pragma once

#include "troupe/data/source/text_source.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace troupe {

class character_source {
public:
  /// Opens the file. Throws what text_source throws.
  explicit character_source(const std::string& path);

  const std::string& path() const noexcept { return source_.path(); }

  /// The next character; false at the end. Throws failure(bad_data), naming line and byte, where the bytes are
  /// no UTF-8, and for the character 0, which texts do not have and UTF-16 has; what text_source throws.
  bool next(char32_t& out);

  /// The line of the character that was read last, from 1: a new line is the last one of its line.
  size_t line() const noexcept { return line_; }

private:
  void fill();
  [[noreturn]] void refuse(std::string reason, std::string hint) const;

  text_source source_;
  std::string bytes_;   ///< read, and ..
  size_t begin_ = 0;    ///< .. from here on not yet given
  uint64_t offset_ = 0; ///< in the text, of that byte
  size_t line_ = 1;
  bool ends_line_ = false; ///< the last character did
  bool at_end_ = false;
};

} // namespace troupe
