// What the headers of binary array files (IDX, NPY) say: the type of the elements and their shape.
// Each format has its own header, the values behind them look alike; read_array.hpp reads those.

#pragma once

#include "data/source/text_source.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The bytes of a binary file, plain or gzip, front to back: what the readers of arrays start from.
/// Every complaint names the file and the offset of the byte in question (counted in the
/// decompressed data), because a binary file has no lines.
class binary_source {
public:
  /// Opens the file. Throws what text_source throws.
  explicit binary_source(const std::string& path);

  const std::string& path() const noexcept { return source_.path(); }

  /// The first bytes of the file, at most 8, whether or not they are read already: formats are
  /// told apart by them.
  std::string_view start() const noexcept { return {start_.data(), start_bytes_}; }

  /// Offset of the next byte.
  uint64_t offset() const noexcept { return offset_; }

  /// Fills the whole of `out`. Throws failure(bad_data) when the file ends before, saying that it
  /// ends within `what`; what text_source throws.
  void read(std::span<char> out, std::string_view what);

  /// Holds what a header promises against the file before anybody allocates for it: exactly `bytes`
  /// must follow. Throws failure(bad_data) with both numbers. The size of a compressed file or a
  /// pipe is not known: then nothing is checked, and whoever reads must grow as the bytes come.
  /// Returns whether it was known.
  bool expect_rest(uint64_t bytes) const;

  /// Throws failure(bad_data) when bytes follow.
  void expect_end();

  /// Throws failure(bad_data) for the byte at `offset`.
  [[noreturn]] void fail(uint64_t offset, const std::string& reason, std::string hint) const;

private:
  size_t read_some(std::span<char> out);

  text_source source_;
  std::array<char, 8> start_;
  size_t start_bytes_ = 0;
  uint64_t offset_ = 0;
};

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

// Reads the header of an IDX file, the format of MNIST and its relatives: two zero bytes, a byte
// for the type (0x08 uint8, 0x09 int8, 0x0b int16, 0x0c int32, 0x0d float32, 0x0e float64), a byte
// for the number of dimensions, then each extent as a 32-bit number. Everything is big-endian.
// Source: Y. LeCun, C. Cortes, C. Burges, "The MNIST database of handwritten digits".

/// Whether a file that begins with `start` (4 bytes are enough) is an IDX file.
bool looks_like_idx(std::string_view start);

/// Reads the header from the front of `source` and leaves the values.
///
/// Throws failure(bad_data), naming the byte, for a wrong magic number, a type that does not exist,
/// and no or more than 8 dimensions; what binary_source throws.
array_header read_idx_header(binary_source& source);

// Reads the header of an NPY file, as numpy.save writes it: the magic "\x93NUMPY", the version (1.0
// to 3.0), the length of what follows, and a Python dictionary in text with exactly the keys
// 'descr' (type and byte order), 'fortran_order' and 'shape'.
// Source: NumPy reference, "The NPY format" (numpy.lib.format).

/// Whether a file that begins with `start` (6 bytes are enough) is an NPY file.
bool looks_like_npy(std::string_view start);

/// Reads the header from the front of `source` and leaves the values.
///
/// Types: bool, int and uint of 1 to 8 bytes, float of 4 and 8, either byte order. An array in
/// Fortran order is refused unless its order is C order too (at most one extent above 1).
/// Throws failure(bad_data), naming the byte, for all else; what binary_source throws.
array_header read_npy_header(binary_source& source);

} // namespace troupe
