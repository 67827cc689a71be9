#include "data/text/number_text.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string_view>
#include <utility>

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

} // namespace

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

} // namespace troupe::number_text_test
