// Text for people. Foreign text inside our own messages is short, on one line, and always valid UTF-8, whatever bytes
// the file held: messages end in terminals, logs and JSON.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// `text` in single quotation marks, cut after `characters_max` characters ("..." follows), with
/// control characters and bytes that are not UTF-8 written as \n, \t, \r or \xNN.
std::string shown_text(std::string_view text, size_t characters_max = 40);

/// `text` as it is, but for what moves a terminal: control characters (C0, DEL, and C1 as UTF-8 has
/// them) and bytes that are no UTF-8, each of which becomes a space. For whole sentences that came
/// over a wire.
std::string printable_text(std::string_view text);

/// Whether `text` is well-formed UTF-8 (Unicode 15, table 3-7).
bool is_utf8(std::string_view text);

// Characters as code points, and as their bytes in UTF-8 (Unicode 15, table 3-7).

/// Above every code point.
inline constexpr char32_t code_point_end = 0x110000;

/// Byte i; 0 behind the end.
unsigned char byte_at(std::string_view text, size_t i);

/// Bytes of the well-formed character that `text` begins with; 0 when it begins with none.
size_t utf8_bytes(std::string_view text);

/// The code point of `character`, which is well-formed.
char32_t code_point_of(std::string_view character);

/// The bytes of a code point that is no surrogate.
std::string utf8_of(char32_t code);

// Tables for people: cells in aligned columns, as the reports of a run, a model and a cluster print
// them.

/// Rows of cells in aligned columns, two blanks between them, none at the end of a line.
class text_table {
public:
  static constexpr size_t all_left = SIZE_MAX;

  /// The first `left_columns` columns are aligned to the left, the others to the right. `titles` is
  /// the first row; none when it is empty.
  text_table(size_t left_columns, std::vector<std::string> titles);

  void add(std::vector<std::string> cells);

  /// Every row on a line of its own. Widths count characters, not bytes: cells are UTF-8.
  std::string text() const;

private:
  size_t left_columns_;
  std::vector<std::vector<std::string>> rows_;
};

} // namespace troupe
