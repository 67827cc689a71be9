#include "data/text/number_text.hpp"

#include "data/text/digit_text.hpp"

#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <random>
#include <string>
#include <string_view>

namespace troupe::number_text_test {
namespace {

number_status float_status(std::string_view text) {
  float ignored;
  return read_number(text, ignored);
}

float float_of(std::string_view text) {
  float result = NAN;
  EXPECT_EQ(read_number(text, result), number_status::number) << text;
  return result;
}

TEST(number_text, decimal_numbers_are_read) {
  EXPECT_EQ(float_of("0"), 0.0f);
  EXPECT_EQ(float_of("007"), 7.0f);
  EXPECT_EQ(float_of("+5."), 5.0f);
  EXPECT_EQ(float_of("-.25"), -0.25f);
  EXPECT_EQ(float_of("1.5E+2"), 150.0f);
  EXPECT_EQ(float_of("12345678"), 12345678.0f);
  double wide = 0;
  EXPECT_EQ(read_number("1e39", wide), number_status::number);
  EXPECT_EQ(wide, 1e39);
}

TEST(number_text, everything_else_is_text) {
  for (auto text : {"", " ", "+", "-", ".", "e1", "1e", "--1", "+-1", "0x10", "1_000", "1,5", "1 ",
                    " 1", "nano", "infinite", "1.2.3"})
    EXPECT_EQ(float_status(text), number_status::text) << "'" << text << "'";
}

TEST(number_text, spellings_of_infinity_and_nan_are_known) {
  for (auto text : {"nan", "NaN", "-nan", "inf", "+INF", "-Infinity"})
    EXPECT_EQ(float_status(text), number_status::not_finite) << text;
}

TEST(number_text, numbers_beyond_the_type_are_out_of_range) {
  EXPECT_EQ(float_of("3.4028235e38"), 3.4028235e38f);
  EXPECT_EQ(float_status("3.4028236e38"), number_status::out_of_range);
  EXPECT_EQ(float_status("-1e400"), number_status::out_of_range);
  double wide = 7;
  EXPECT_EQ(read_number("1e400", wide), number_status::out_of_range);
  EXPECT_EQ(wide, 7);
}

TEST(number_text, numbers_below_the_smallest_float_are_zero) {
  EXPECT_EQ(float_of("1e-45"), 0x1p-149f);
  EXPECT_EQ(float_of("1e-50"), 0.0f);
  EXPECT_TRUE(std::signbit(float_of("-1e-50")));
  double wide = 1;
  for (const auto* text : {"1e-400", "+123456e-500", "-1E-400", "1e-99999999999999999999",
                           "0.00000000000000000001e-330"}) {
    EXPECT_EQ(float_of(text), 0.0f) << text;
    EXPECT_EQ(read_number(text, wide), number_status::number) << text;
    EXPECT_EQ(wide, 0) << text;
    EXPECT_EQ(std::signbit(wide), text[0] == '-') << text;
  }
  EXPECT_EQ(float_of("0." + std::string(500, '0') + "1"), 0.0f);
  for (const auto& text : {std::string{"1e99999999999999999999"}, "1" + std::string(500, '0'),
                           "0." + std::string(9, '0') + "1e+400"})
    EXPECT_EQ(read_number(text, wide), number_status::out_of_range) << text;
}

// The fast reading of plain numbers gives the bits of the general one, or nothing.

/// What std::from_chars, which rounds rightly, makes of the text.
template <class Float>
Float nearest(const std::string& text) {
  Float result = 0;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

/// Checks one text, followed by a comma and what fits the padding; true when it was read.
template <class Float>
bool agrees(const std::string& text) {
  const std::string padded = text + ",9999999999999999";
  Float value = -7;
  const char* end = digit_text::read(padded.data(), value);
  if (!end || *end != ',')
    return false;
  EXPECT_EQ(end, padded.data() + text.size()) << text;
  EXPECT_EQ(std::signbit(value), std::signbit(nearest<Float>(text))) << text;
  EXPECT_EQ(value, nearest<Float>(text)) << text;
  return true;
}

TEST(digit_text, plain_numbers_are_read_and_others_left) {
  for (const auto* text : {"0", "7", "-0", "16", "1234567", "0.5", "-.25", "5.", "3.14159265",
                           "0.000000000000001", "123456.12345678"})
    EXPECT_TRUE(agrees<float>(text) && agrees<double>(text)) << text;
  for (const auto* text : {"", "-", ".", "-.", "+1", "1e5", "0x1", "12345678", " 1", "nan",
                           "1.2345678901234567", "--1", "1.2.3"}) {
    EXPECT_FALSE(agrees<float>(text)) << text;
  }
}

TEST(digit_text, every_count_of_digits_is_right) {
  const std::string digits = "987654321987654321";
  for (size_t whole = 0; whole <= 7; ++whole)
    for (size_t part = whole == 0; whole + part <= 15; ++part) {
      const auto text = digits.substr(0, whole) + (part ? "." + digits.substr(0, part) : "");
      EXPECT_TRUE(agrees<double>(text)) << text;
    }
}

TEST(digit_text, middles_between_floats_are_left_to_the_general_way) {
  // 8388608.5 lies in the middle of two floats, and so does the double nearest to the second text,
  // whose digits lie above it.
  EXPECT_TRUE(agrees<float>("8388607.5"));
  EXPECT_FALSE(agrees<float>("8388608.5"));
  EXPECT_TRUE(agrees<double>("8388608.5"));
}

TEST(digit_text, random_numbers_have_the_general_ways_bits) {
  std::mt19937_64 random(1);
  size_t read = 0;
  for (int i = 0; i < 400'000; ++i) {
    std::string text = random() % 2 ? "-" : "";
    const auto whole = random() % 8, part = random() % 17;
    for (size_t k = 0; k < whole; ++k)
      text += static_cast<char>('0' + random() % 10);
    if (random() % 8)
      text += '.';
    for (size_t k = 0; k < part; ++k)
      text += static_cast<char>('0' + random() % 10);
    read += agrees<float>(text);
    agrees<double>(text);
  }
  EXPECT_GT(read, 200'000u);
}

} // namespace
} // namespace troupe::number_text_test
