// Plain decimal numbers ("12", "-0.75", ".5") at speed: eight digits at a time in a 64-bit word,
// and only where one division rounds rightly. Whatever is longer, has an exponent or is odd is left
// to number_text.hpp; both give the same bits.
//
// A word holds eight characters, the first in its lowest byte. 8 bytes behind the text may be read.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace troupe::digit_text {

/// Eight characters, each minus '0': digits become 0 to 9, everything else is larger.
inline uint64_t load(const char* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word ^ 0x3030303030303030;
}

/// How many of the word's first characters are digits, 0 to 8.
inline unsigned count(uint64_t word) {
  // Per byte, bit 7 of x + 118 is set from x = 10 on. What a byte above 137 carries into the next
  // cannot hurt: the count ends with that byte.
  const uint64_t others = ((word + 0x7676767676767676) | word) & 0x8080808080808080;
  return static_cast<unsigned>(std::countr_zero(others)) / 8;
}

/// The number that the first `digits` (0 to 8) characters write.
inline uint32_t value(uint64_t word, unsigned digits) {
  // As if zeros stood in front; then pairs, fours and eights of digits are joined at once.
  word = digits == 8 ? word : word << (56 - 8 * digits) << 8;
  word = word * 10 + (word >> 8); // bytes 0, 2, 4, 6 hold two digits each
  constexpr uint64_t pair = 0x000000ff000000ff;
  const uint64_t outer = (word & pair) * (100 + (uint64_t{1'000'000} << 32));
  const uint64_t inner = (word >> 16 & pair) * (1 + (uint64_t{10'000} << 32));
  return static_cast<uint32_t>((outer + inner) >> 32);
}

inline constexpr double powers_of_ten[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                           1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

inline constexpr uint64_t whole_powers_of_ten[] = {1,
                                                   10,
                                                   100,
                                                   1'000,
                                                   10'000,
                                                   100'000,
                                                   1'000'000,
                                                   10'000'000,
                                                   100'000'000,
                                                   1'000'000'000,
                                                   10'000'000'000,
                                                   100'000'000'000,
                                                   1'000'000'000'000,
                                                   10'000'000'000'000,
                                                   100'000'000'000'000,
                                                   1'000'000'000'000'000};

/// Whether rounding `value` to float32 rounds the number that it is the nearest double of: not when
/// it lies in the middle of two floats, because the number itself may lie on either side.
inline bool rounds_once(double value) {
  return (std::bit_cast<uint64_t>(value) & 0x1fffffff) != 0x10000000;
}

inline bool store(double value, bool negative, double& out) {
  out = negative ? -value : value;
  return true;
}
inline bool store(double value, bool negative, float& out) {
  const float rounded = static_cast<float>(value);
  out = negative ? -rounded : rounded;
  return rounds_once(value);
}

/// Reads a number from `at` as the nearest `Float`. Returns what follows it, or nullptr when the
/// text is not a plain number: one of up to 7 digits before the point and 15 in all, where
/// number = digits / 10^k with both exact in a double, so the quotient is rounded once (IEEE 754).
template <class Float>
inline const char* read(const char* at, Float& out) {
  const bool negative = *at == '-';
  at += negative;
  const uint64_t word = load(at);
  const unsigned whole_digits = count(word);
  if (whole_digits == 8)
    return nullptr;
  const uint64_t whole = value(word, whole_digits);
  at += whole_digits;
  if (*at != '.') {
    store(static_cast<double>(whole), negative, out);
    return whole_digits > 0 ? at : nullptr;
  }
  const uint64_t next = load(++at);
  unsigned digits = count(next);
  uint64_t fraction = value(next, digits);
  if (digits == 8) {
    const uint64_t last = load(at + 8);
    const unsigned more = count(last);
    fraction = fraction * whole_powers_of_ten[more] + value(last, more);
    digits += more;
  }
  if (digits + whole_digits > 15 && (whole != 0 || digits > 15))
    return nullptr;
  if (digits + whole_digits == 0)
    return nullptr;
  const uint64_t all = whole * whole_powers_of_ten[digits] + fraction;
  return store(static_cast<double>(all) / powers_of_ten[digits], negative, out) ? at + digits
                                                                                : nullptr;
}

} // namespace troupe::digit_text
