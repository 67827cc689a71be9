// Code points and their bytes.

#include "data/text/utf8.hpp"

#include <gtest/gtest.h>

namespace troupe::utf8_test {

TEST(utf8, every_code_point_comes_back_from_its_bytes) {
  for (char32_t code = 0; code < code_point_end; ++code) {
    if (code >= 0xd800 && code < 0xe000)
      continue;
    const auto bytes = utf8_of(code);
    const size_t expected = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    ASSERT_EQ(bytes.size(), expected) << bytes;
    ASSERT_EQ(utf8_bytes(bytes + "x"), expected) << bytes;
    ASSERT_TRUE(code_point_of(bytes) == code) << bytes;
    ASSERT_EQ(utf8_bytes(std::string_view{bytes}.substr(0, expected - 1)), 0u) << bytes;
  }
  EXPECT_EQ(utf8_of(U'\u20ac'), "\xe2\x82\xac");
}

TEST(utf8, long_spellings_surrogates_and_what_is_too_large_are_no_characters) {
  for (const std::string_view bytes :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xed\xbf\xbf",
        "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xff", ""})
    EXPECT_EQ(utf8_bytes(bytes), 0u) << bytes.size();
}

} // namespace troupe::utf8_test
