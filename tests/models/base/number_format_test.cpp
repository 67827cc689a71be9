#include "models/base/number_format.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

namespace troupe::number_format_test {
namespace {

constexpr uint32_t half = 1U << 16;

float of_bits(uint32_t bits) {
  return std::bit_cast<float>(bits);
}

float rounded(float value) {
  round_to(number_format::bf16, {&value, 1});
  return value;
}

/// The nearest of the two neighbours in double; of two that are as near the one whose last bit is even.
/// What is beyond the largest is nearer to it by less than half a step, or infinite.
double nearest(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto below = bits & ~(half - 1); // towards zero
  const double low = of_bits(below);
  const bool is_last = (below & 0x7fffffff) == 0x7f7f0000;
  const double high = is_last ? std::copysign(std::ldexp(1.0, 128), low) : of_bits(below + half);
  const double to_low = std::abs(value - low);
  const double to_high = std::abs(high - value);
  const bool takes_low = to_low < to_high || (to_low == to_high && (below & half) == 0);
  return takes_low ? low : is_last ? std::copysign(INFINITY, low) : high;
}

TEST(number_format, rounds_to_the_nearest_value_and_ties_to_even) {
  for (uint32_t upper = 0; upper < half; ++upper)
    for (const uint32_t lower : {0x0000u, 0x0001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      const auto value = of_bits(upper << 16 | lower);
      if (!std::isfinite(value))
        continue;
      ASSERT_EQ(rounded(value), nearest(value)) << std::hex << upper << ' ' << lower;
      ASSERT_EQ(std::signbit(rounded(value)), std::signbit(value)) << std::hex << upper;
    }
}

TEST(number_format, keeps_what_is_no_number) {
  for (uint32_t upper = 0x7f80; upper < 0x8000; ++upper)
    for (const uint32_t lower : {0x0000u, 0x0001u, 0x8000u, 0xffffu})
      for (const uint32_t sign : {0u, 0x80000000u}) {
        const auto value = of_bits(sign | upper << 16 | lower);
        ASSERT_EQ(std::isnan(rounded(value)), std::isnan(value)) << std::hex << upper << lower;
        if (std::isinf(value)) {
          ASSERT_EQ(rounded(value), value);
        }
      }
}

TEST(number_format, a_second_time_changes_nothing_and_float32_never_does) {
  for (uint32_t bits = 0; bits < 0xffff0000; bits += 40'009) {
    const auto once = rounded(of_bits(bits));
    ASSERT_EQ(std::bit_cast<uint32_t>(rounded(once)), std::bit_cast<uint32_t>(once));
    auto same = of_bits(bits);
    round_to(number_format::float32, {&same, 1});
    ASSERT_EQ(std::bit_cast<uint32_t>(same), bits);
  }
}

// In the memory that the values take, as they come from a wire.
TEST(number_format, what_is_narrowed_is_widened_again) {
  for (const size_t count : {0u, 1u, 2u, 1023u, 1024u, 1025u, 4097u}) {
    std::vector<float> values(count);
    for (size_t i = 0; i < count; ++i)
      values[i] = rounded(std::sin(static_cast<float>(i)));
    std::vector<uint16_t> narrowed(count);
    narrow(values, narrowed.data());
    std::vector<float> arrived(count, -1);
    const auto bytes = arriving_bytes(number_format::bf16, arrived);
    ASSERT_EQ(bytes.size(), 2 * count);
    const auto sent = std::as_bytes(std::span{narrowed});
    std::copy(sent.begin(), sent.end(), bytes.begin());
    widen(number_format::bf16, arrived);
    EXPECT_EQ(arrived, values) << count;
  }
}

} // namespace
} // namespace troupe::number_format_test
