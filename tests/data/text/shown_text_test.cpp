#include "troupe/data/text/shown_text.hpp"

#include "troupe/data/text/closest_name.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::shown_text_test {

TEST(shown_text, c1_control_characters_are_escaped) {
  EXPECT_EQ(shown_text("a\xc2\x9b"
                       "2Jb"),
            R"('a\xc2\x9b2Jb')");
  EXPECT_EQ(shown_text("\xc2\xa0"), "'\xc2\xa0'") << "the first that is none";
}

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

TEST(closest_name, distances_count_edits) {
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("widht", "width"), 1u);
  EXPECT_EQ(edit_distance("same", "same"), 0u);
}

TEST(closest_name, only_close_names_are_offered) {
  std::vector<std::string> names{"height", "width", "Weight"};
  EXPECT_EQ(closest_name("weight", names), "Weight");
  EXPECT_EQ(closest_name("widt", names), "width");
  EXPECT_EQ(closest_name("heigth", names), "height");
  EXPECT_EQ(closest_name("colour", names), "");
  EXPECT_EQ(closest_name("x", {}), "");
  EXPECT_EQ(closest_name("y", std::vector<std::string>{"p", "Y"}), "Y")
    << "and not what shares no letter";
}

// Measuring stops where a name is too far; swaps of neighbours reach over the row it stops at.
TEST(closest_name, what_stops_early_finds_what_whole_distances_find) {
  std::mt19937 generator{1};
  const auto word = [&] {
    std::string result(generator() % 10, 'a');
    for (auto& letter : result)
      letter = static_cast<char>('a' + generator() % 3);
    return result;
  };
  for (int i = 0; i < 20000; ++i) {
    const std::string wanted = word();
    const std::vector<std::string> names{word(), word(), word()};
    std::string_view best;
    size_t best_distance = wanted.size() < 2 ? 1 : std::max<size_t>(1, wanted.size() / 3) + 1;
    for (const auto& name : names)
      if (const size_t distance = edit_distance(wanted, name); distance < best_distance) {
        best = name;
        best_distance = distance;
      }
    ASSERT_EQ(closest_name(wanted, names), best) << wanted << " " << testing::PrintToString(names);
  }
}

} // namespace troupe::shown_text_test
