// Reads a text into a table, or part by part, for models of characters. A row is a window of consecutive characters as their numbers
// in the vocabulary, and its class is the character that follows:
//
//   the text "banana", windows of 3:  b a n -> a    a n a -> n    n a n -> a
//
// Characters are code points of UTF-8, new lines and blanks like all others. The vocabulary are the characters of
// the file in order of code points, and they are the classes.

#pragma once

#include "data/source/text_source.hpp"
#include "data/table/row_reader.hpp"
#include "data/table/table.hpp"
#include "models/training/row_options.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// Whether each is one character in UTF-8, and none comes twice.
bool are_characters(const std::vector<std::string>& names);

/// The characters of a text and their numbers, which are codes of features and numbers of classes alike.
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

struct text_options : window_options {
  /// Of the text that a model is trained on; empty: of this one. A character that is none of these has, in a
  /// window, the number behind the last one.
  std::vector<std::string> vocabulary = {};
  uint64_t table_bytes_max = 0; ///< 0: the memory that is available (memory_room.hpp)
};

/// Features are called c0, c1, .., the target "next character". `table::overlap` is how many rows that follow share a
/// character with a row, be it in its window or as its class.
///
/// Throws failure(bad_data) for a text that is too short for a row or has one character only, for a class that is
/// none of the given vocabulary (naming its line), and for a table larger than the bound; what character_source
/// throws. std::invalid_argument for a window or stride of 0, and what `vocabulary` throws.
table read_text(const std::string& path, const text_options& options = {});

/// Names of a window's features.
std::vector<std::string> character_names(size_t window);

inline constexpr const char* next_character = "next character";

/// The characters of a text file, plain or gzip, one after the other: code points of UTF-8. A byte order mark at
/// the begin is none of them.
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

enum class text_targets : uint8_t {
  none, ///< and so the text's last window is a row too
  next, ///< the character that follows is the target, whether or not it is of the vocabulary
};

/// Reads a text part by part (row_reader.hpp), for a model of characters. A row begins at each character, and characters
/// have their numbers in the model's vocabulary.
class text_reader : public row_reader {
public:
  /// Opens the file. Throws what character_source and `vocabulary` throw.
  text_reader(const std::string& path, size_t window, const std::vector<std::string>& characters,
              text_targets targets);

  /// "3 characters are none of ..", of those read so far; empty: all are.
  std::string unknown_remark() const;

protected:
  /// Throws failure(bad_data) for a text that is too short for a row.
  bool read_rows(table_chunk& out, size_t rows_max) override;

private:
  struct character {
    char32_t code;
    size_t line;
  };

  void fill(size_t count);
  void keep(size_t row, table_chunk& out) const;
  /// Characters that a row needs.
  size_t needed() const noexcept { return window_ + (targets_ == text_targets::next ? 1 : 0); }

  character_source source_;
  vocabulary known_;
  size_t window_;
  text_targets targets_;
  std::vector<character> recent_; ///< from the next row's first one on
  bool has_rows_ = false;
  uint64_t unknown_count_ = 0;
  char32_t first_unknown_ = 0;
};

} // namespace troupe
