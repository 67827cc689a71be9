#include "troupe/data/shown_text.hpp"

namespace troupe {

namespace {

unsigned char byte_at(std::string_view text, size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
}

bool in_range(unsigned char byte, int low, int high) {
  return byte >= low && byte <= high;
}

/// Bytes of the well-formed character that `text` begins with; 0 when it begins with none.
size_t character_bytes(std::string_view text) {
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
    auto size = character_bytes(text);
    auto first = byte_at(text, 0);
    auto plain = size > 1 || (size == 1 && first >= 0x20 && first != 0x7f);
    result += plain ? std::string(text.substr(0, size)) : escaped(first);
    text.remove_prefix(plain ? size : 1);
  }
  return result + (text.empty() ? "'" : "...'");
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    auto size = character_bytes(text);
    if (size == 0)
      return false;
    text.remove_prefix(size);
  }
  return true;
}

} // namespace troupe
