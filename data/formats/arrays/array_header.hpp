// What the headers of binary array files (IDX, NPY) say: the type of the elements and their shape.
// Each format has its own header, the values behind them look alike; read_array.hpp reads those.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe {

enum class element_type : uint8_t { u8, i8, u16, i16, u32, i32, u64, i64, f32, f64 };

constexpr size_t bytes_of(element_type type) {
  switch (type) {
  case element_type::u8:
  case element_type::i8:
    return 1;
  case element_type::u16:
  case element_type::i16:
    return 2;
  case element_type::u32:
  case element_type::i32:
  case element_type::f32:
    return 4;
  default:
    return 8;
  }
}

constexpr bool is_floating(element_type type) {
  return type == element_type::f32 || type == element_type::f64;
}

struct array_header {
  element_type type = element_type::u8;
  bool big_endian = false;
  /// Extents, the slowest first: the elements are in C order, as [row][..][..].
  std::vector<uint64_t> shape;

  friend bool operator==(const array_header&, const array_header&) = default;
};

} // namespace troupe
