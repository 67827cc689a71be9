// Reads a text into a table for models of characters. A row is a window of consecutive characters as their numbers
// in the vocabulary, and its class is the character that follows:
//
//   the text "banana", windows of 3:  b a n -> a    a n a -> n    n a n -> a
//
// Characters are code points of UTF-8, new lines and blanks like all others. The vocabulary are the characters of
// the file in order of code points, and they are the classes.

#pragma once

#include "troupe/data/table/table.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

struct text_options {
  size_t window = 32; ///< characters of a row, >= 1
  size_t stride = 1;  ///< characters from one row to the next, >= 1
  /// Of the text that a model is trained on; empty: of this one. A character that is none of these has, in a
  /// window, the number behind the last one.
  std::vector<std::string> vocabulary = {};
  uint64_t table_bytes_max = 0; ///< 0: the memory that is available (table_limit.hpp)
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

} // namespace troupe
