// Characters as code points, and as their bytes in UTF-8 (Unicode 15, table 3-7).

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace troupe {

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

} // namespace troupe
