#include "data/text/shown_text.hpp"

#include "data/text/utf8.hpp"

#include <algorithm>

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

} // namespace troupe
