// Number format: what the numbers of a gradient are rounded to where processes exchange them, and
// how values of that format travel in half the bytes.
//
// Rounding is integer arithmetic on the bits, to nearest with ties to even, subnormals included: so it gives
// the same bits on every processor, whatever it is set to. A NaN stays one, and what is too large becomes
// infinite. Rounding twice changes nothing, so values of the format may be narrowed and widened anywhere.

#pragma once

#include "models/base/names.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

enum class number_format : uint8_t {
  float32,
  bf16, ///< the upper half of a float32: its exponent, and 8 significant bits
};
inline constexpr size_t number_format_count = 2;

template <>
struct name_table<number_format> {
  static constexpr std::array entries{named(number_format::float32, "float32"),
                                      named(number_format::bf16, "bf16")};
};

/// Bytes of a value on a wire.
constexpr size_t bytes_of(number_format x) {
  return x == number_format::bf16 ? sizeof(uint16_t) : sizeof(float);
}

/// Each value becomes the nearest one of the format.
void round_to(number_format format, std::span<float> values);

/// Values of the format bf16 without their lower halves; `out` is as long. What is not of the format is cut.
void narrow(std::span<const float> values, uint16_t* out);

/// Where in the values' memory their bytes of this format are to arrive, for `widen` to find them.
std::span<std::byte> arriving_bytes(number_format format, std::span<float> values);

/// Makes values of the bytes that have arrived.
void widen(number_format format, std::span<float> values);

} // namespace troupe
