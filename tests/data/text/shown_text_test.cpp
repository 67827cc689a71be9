#include "data/text/shown_text.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace troupe::shown_text_test {

TEST(printable_text, keeps_what_can_be_seen_and_nothing_that_moves_a_terminal) {
  EXPECT_EQ(printable_text("gr\xc3\xbc\xc3\x9f"
                           "e, \xe4\xb8\xad, \xf0\x9f\x98\x80"),
            "gr\xc3\xbc\xc3\x9f"
            "e, \xe4\xb8\xad, \xf0\x9f\x98\x80");
  EXPECT_EQ(printable_text("a\x1b[2J\nb\x7f"
                           "c"),
            "a [2J b c");
  EXPECT_EQ(printable_text("a\xc2\x9b"
                           "2Jb"),
            "a 2Jb");
  EXPECT_EQ(printable_text("a\x9b"
                           "2Jb\xc3"),
            "a 2Jb ")
    << "no UTF-8";
}

TEST(shown_text, control_bytes_and_broken_characters_are_escaped) {
  EXPECT_EQ(shown_text("a\xc2\x9b"
                       "2Jb"),
            R"('a\xc2\x9b2Jb')");
  EXPECT_EQ(shown_text("\xc2\xa0"), "'\xc2\xa0'") << "the first that is no control character";
  EXPECT_EQ(shown_text("a b"), "'a b'");
  EXPECT_EQ(shown_text("\n\r\t\x01\x7f"), "'\\n\\r\\t\\x01\\x7f'");
  EXPECT_EQ(shown_text("\xc3\xa9\xc3"), "'\xc3\xa9\\xc3'");
  EXPECT_EQ(shown_text(std::string_view("\0", 1)), "'\\x00'");
}

TEST(shown_text, long_text_is_cut_between_characters) {
  EXPECT_EQ(shown_text("abcd", 4), "'abcd'");
  EXPECT_EQ(shown_text("abcde", 4), "'abcd...'");
  EXPECT_EQ(shown_text("\xe2\x82\xac\xe2\x82\xac", 1), "'\xe2\x82\xac...'");
}

TEST(shown_text, utf8_is_told_from_what_only_looks_like_it) {
  for (const auto* text : {"", "a", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
                           "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(is_utf8(text)) << shown_text(text);
  for (const auto* text :
       {"\x80", "\xc1\xbf", "\xc2", "\xc2\xc0", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xe2\x82",
        "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf0\x90\x80", "\xf5\x80\x80\x80", "\xff"})
    EXPECT_FALSE(is_utf8(text)) << shown_text(text);
}

// Code points and their bytes.

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

} // namespace troupe::shown_text_test
