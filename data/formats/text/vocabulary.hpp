// The characters of a text and their numbers, which are codes of features and numbers of classes alike.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// Whether each is one character in UTF-8, and none comes twice.
bool are_characters(const std::vector<std::string>& names);

class vocabulary {
public:
  /// Of the characters that are in `text`, in order of their code points.
  explicit vocabulary(std::span<const char32_t> text);

  /// Of these, each a character in UTF-8, in this order. Throws std::invalid_argument unless
  /// `are_characters`.
  explicit vocabulary(const std::vector<std::string>& names);

  size_t size() const noexcept { return names_.size(); }

  /// Each character in UTF-8.
  const std::vector<std::string>& names() const noexcept { return names_; }

  /// From 0; `size()` for a character that is none of these.
  uint32_t number_of(char32_t character) const {
    return character < numbers_.size() ? numbers_[character] : static_cast<uint32_t>(size());
  }

private:
  std::vector<std::string> names_;
  std::vector<uint32_t> numbers_; ///< by code point
};

} // namespace troupe
