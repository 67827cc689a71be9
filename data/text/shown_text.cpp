#include "data/text/shown_text.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

/// Bytes of the character that `text` begins with if it is one to be seen; 0: a control character,
/// or no character at all.
size_t plain_bytes(std::string_view text) {
  const auto size = utf8_bytes(text);
  const auto first = byte_at(text, 0);
  const bool is_c0 = size == 1 && (first < 0x20 || first == 0x7f);
  const bool is_c1 = size == 2 && first == 0xc2 && byte_at(text, 1) < 0xa0;
  return is_c0 || is_c1 ? 0 : size;
}

std::string escaped(unsigned char byte) {
  constexpr char digits[] = "0123456789abcdef";
  switch (byte) {
  case '\n':
    return "\\n";
  case '\r':
    return "\\r";
  case '\t':
    return "\\t";
  default:
    return {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
  }
}

} // namespace

std::string shown_text(std::string_view text, size_t characters_max) {
  std::string result = "'";
  for (size_t count = 0; !text.empty() && count < characters_max; ++count) {
    const auto size = plain_bytes(text);
    result += size > 0 ? std::string(text.substr(0, size)) : escaped(byte_at(text, 0));
    text.remove_prefix(std::max<size_t>(size, 1));
  }
  return result + (text.empty() ? "'" : "...'");
}

std::string printable_text(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto size = plain_bytes(text);
    result += size > 0 ? text.substr(0, size) : " ";
    text.remove_prefix(size > 0 ? size : std::max<size_t>(utf8_bytes(text), 1));
  }
  return result;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    auto size = utf8_bytes(text);
    if (size == 0)
      return false;
    text.remove_prefix(size);
  }
  return true;
}

unsigned char byte_at(std::string_view text, size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
}

namespace {

bool in_range(unsigned char byte, int low, int high) {
  return byte >= low && byte <= high;
}

} // namespace

size_t utf8_bytes(std::string_view text) {
  auto first = byte_at(text, 0);
  if (first < 0x80)
    return text.empty() ? 0 : 1;
  auto second = byte_at(text, 1);
  if (in_range(first, 0xc2, 0xdf))
    return in_range(second, 0x80, 0xbf) ? 2 : 0;
  auto third_follows = in_range(byte_at(text, 2), 0x80, 0xbf);
  if (in_range(first, 0xe0, 0xef)) {
    // No longer spellings of short characters, no surrogates.
    auto low = first == 0xe0 ? 0xa0 : 0x80;
    auto high = first == 0xed ? 0x9f : 0xbf;
    return in_range(second, low, high) && third_follows ? 3 : 0;
  }
  if (in_range(first, 0xf0, 0xf4)) {
    auto low = first == 0xf0 ? 0x90 : 0x80;
    auto high = first == 0xf4 ? 0x8f : 0xbf;
    auto fourth_follows = in_range(byte_at(text, 3), 0x80, 0xbf);
    return in_range(second, low, high) && third_follows && fourth_follows ? 4 : 0;
  }
  return 0;
}

char32_t code_point_of(std::string_view character) {
  constexpr unsigned char first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
  char32_t result = byte_at(character, 0) & first_bits[character.size()];
  for (size_t i = 1; i < character.size(); ++i)
    result = result << 6 | (byte_at(character, i) & 0x3f);
  return result;
}

std::string utf8_of(char32_t code) {
  const auto byte = [](char32_t value) { return static_cast<char>(value); };
  const auto rest = [&](int shift) { return byte(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80)
    return {byte(code)};
  if (code < 0x800)
    return {byte(0xc0 | code >> 6), rest(0)};
  if (code < 0x10000)
    return {byte(0xe0 | code >> 12), rest(6), rest(0)};
  return {byte(0xf0 | code >> 18), rest(12), rest(6), rest(0)};
}

namespace {

size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::ranges::count_if(
    text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }));
}

} // namespace

text_table::text_table(size_t left_columns, std::vector<std::string> titles)
  : left_columns_(left_columns) {
  if (!titles.empty())
    rows_.push_back(std::move(titles));
}

void text_table::add(std::vector<std::string> cells) {
  rows_.push_back(std::move(cells));
}

std::string text_table::text() const {
  std::vector<size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t j = 0; j < row.size(); ++j)
      widths[j] = std::max(widths[j], width_of(row[j]));
  }
  std::string result;
  for (const auto& row : rows_) {
    for (size_t j = 0; j < row.size(); ++j) {
      const std::string pad(widths[j] - width_of(row[j]), ' ');
      result += (j == 0 ? "" : "  ") + (j < left_columns_ ? row[j] + pad : pad + row[j]);
    }
    result.erase(result.find_last_not_of(' ') + 1);
    result += '\n';
  }
  return result;
}

} // namespace troupe
