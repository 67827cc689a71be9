#include "data/formats/arrays/array_header.hpp"

#include <array>
#include <optional>
#include <string>

namespace troupe {

namespace {

constexpr size_t dimensions_max = 8;

std::optional<element_type> type_of(char code) {
  switch (static_cast<unsigned char>(code)) {
  case 0x08:
    return element_type::u8;
  case 0x09:
    return element_type::i8;
  case 0x0b:
    return element_type::i16;
  case 0x0c:
    return element_type::i32;
  case 0x0d:
    return element_type::f32;
  case 0x0e:
    return element_type::f64;
  default:
    return std::nullopt;
  }
}

uint64_t read_extent(binary_source& source) {
  std::array<char, 4> bytes;
  source.read(bytes, "the header");
  uint64_t result = 0;
  for (const auto byte : bytes)
    result = result << 8 | static_cast<unsigned char>(byte);
  return result;
}

std::string hexadecimal(char byte) {
  constexpr char digits[] = "0123456789abcdef";
  const auto value = static_cast<unsigned char>(byte);
  return {'0', 'x', digits[value >> 4], digits[value & 15]};
}

} // namespace

bool looks_like_idx(std::string_view start) {
  return start.size() >= 4 && start[0] == 0 && start[1] == 0 && type_of(start[2]) &&
         start[3] >= 1 && static_cast<size_t>(start[3]) <= dimensions_max;
}

array_header read_idx_header(binary_source& source) {
  std::array<char, 4> magic;
  source.read(magic, "the magic number");
  if (magic[0] != 0 || magic[1] != 0)
    source.fail(0, "this is no IDX file: it does not begin with two zero bytes",
                "say what it is with data.format");
  const auto type = type_of(magic[2]);
  if (!type)
    source.fail(2, "there is no IDX type " + hexadecimal(magic[2]),
                "the types are 0x08, 0x09 and 0x0b to 0x0e");
  const auto dimensions = static_cast<unsigned char>(magic[3]);
  if (dimensions == 0 || dimensions > dimensions_max)
    source.fail(3, std::to_string(dimensions) + " dimensions cannot be read",
                "an IDX file has 1 to " + std::to_string(dimensions_max));
  array_header result{*type, true, {}};
  for (size_t i = 0; i < dimensions; ++i)
    result.shape.push_back(read_extent(source));
  return result;
}

} // namespace troupe
