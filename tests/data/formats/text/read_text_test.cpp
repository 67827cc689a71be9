// Texts as rows of characters.

#include "data/formats/read_data.hpp"
#include "data/formats/text/read_text.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/gzip_text.hpp"
#include "tests/support/joined_rows.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace troupe::read_text_test {
namespace {

using texts = std::vector<std::string>;
using codes = std::vector<float>;
using labels = std::vector<int32_t>;

table table_of(const std::string& text, const text_options& options) {
  const temporary_folder folder;
  return read_text(folder.write("some.txt", text), options);
}

text_options windows(size_t window, size_t stride = 1) {
  return {{.window = window, .stride = stride}};
}

std::string complaint(const std::function<void()>& action) {
  const auto error = test::failure_of(action);
  EXPECT_EQ(error.code(), failure_code::bad_data);
  EXPECT_FALSE(error.hint().empty());
  return error.where().substr(error.where().rfind('/') + 1) + " " + error.reason();
}

std::string complaint(const std::string& text, const text_options& options = windows(1)) {
  return complaint([&] { table_of(text, options); });
}

using test::contains;

TEST(read_text, rows_are_windows_and_their_class_is_the_next_character) {
  const auto rows = table_of("banana", windows(3));
  EXPECT_EQ(rows.row_count, 3u);
  EXPECT_EQ(rows.feature_count, 3u);
  EXPECT_EQ(rows.classes, (texts{"a", "b", "n"}));
  EXPECT_EQ(rows.features, (codes{1, 0, 2, 0, 2, 0, 2, 0, 2}));
  EXPECT_EQ(rows.labels, (labels{0, 2, 0}));
  EXPECT_EQ(rows.feature_names, (texts{"c0", "c1", "c2"}));
  EXPECT_EQ(rows.target_name, "next character");
}

TEST(read_text, a_stride_leaves_rows_out) {
  const auto rows = table_of("0123456789", windows(3, 2));
  EXPECT_EQ(rows.features, (codes{0, 1, 2, 2, 3, 4, 4, 5, 6, 6, 7, 8}));
  EXPECT_EQ(rows.labels, (labels{3, 5, 7, 9}));
  EXPECT_EQ(table_of("0123456789", windows(3, 100)).labels, labels{3});
}

// Row i has the characters i * stride .. i * stride + window, its class among them.
TEST(read_text, overlap_counts_the_rows_that_share_a_character) {
  for (size_t window = 1; window < 8; ++window)
    for (size_t stride = 1; stride < 10; ++stride) {
      size_t shared = 0;
      for (size_t next = 1; next * stride <= window; ++next)
        ++shared;
      EXPECT_EQ(table_of(std::string(20, 'a') + "b", windows(window, stride)).overlap, shared);
    }
}

TEST(read_text, characters_are_code_points_in_their_order) {
  const auto rows = table_of("\xf0\x9f\x98\x80\xe2\x82\xac\"\xc3\xa9\n z\xc3\xa9", windows(1));
  EXPECT_EQ(rows.classes,
            (texts{"\n", " ", "\"", "z", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}));
  EXPECT_EQ(rows.features, (codes{6, 5, 2, 4, 0, 1, 3}));
  EXPECT_EQ(rows.labels, (labels{5, 2, 4, 0, 1, 3, 4}));
}

TEST(read_text, a_vocabulary_is_of_the_whole_text_not_of_classes_alone) {
  const auto rows = table_of("zab", windows(2));
  EXPECT_EQ(rows.classes, (texts{"a", "b", "z"}));
  EXPECT_EQ(rows.labels, labels{1});
}

TEST(read_text, a_byte_order_mark_is_no_character_and_gzip_is_unpacked) {
  const std::string mark = "\xef\xbb\xbf";
  EXPECT_EQ(table_of(mark + "aba", windows(1)).classes, (texts{"a", "b"}));
  EXPECT_EQ(table_of(gzip_text("aba"), windows(1)).features, (codes{0, 1}));
}

// Longer than a piece that is read at once, with characters that lie across its ends.
TEST(read_text, pieces_of_reading_do_not_show) {
  std::string text = "a";
  for (int i = 0; i < 100'000; ++i)
    text += i % 3 == 0 ? "\xe2\x82\xac" : "\xc3\xa9";
  const auto rows = table_of(text, windows(1));
  EXPECT_EQ(rows.row_count, 100'000u);
  for (size_t i = 0; i < rows.row_count; ++i)
    ASSERT_EQ(rows.labels[i], i % 3 == 0 ? 2 : 1) << i;
}

TEST(read_text, bytes_that_are_no_utf8_are_refused_with_their_place) {
  EXPECT_EQ(complaint("ab\ncd\xff"), "some.txt:2 '\\xff' begins no character of UTF-8, at byte 5");
  EXPECT_EQ(complaint("ab\xe2\x82"), "some.txt:1 '\\xe2' begins no character of UTF-8, at byte 2");
  EXPECT_EQ(complaint(std::string("\xef\xbb\xbf") + "a\xc0\x80"),
            "some.txt:1 '\\xc0' begins no character of UTF-8, at byte 4");
  EXPECT_EQ(complaint(std::string("a\0b\0", 4)),
            "some.txt:1 the character 0 is no part of a text, at byte 1");
}

TEST(read_text, random_bytes_are_read_or_refused) {
  const std::string several = "\xe2\x82\xac\xf0\x9f\x98\x80\xc3\xa9";
  std::mt19937 random(1);
  size_t accepted = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (auto count = random() % 8; count > 0; --count)
      switch (random() % 4) {
      case 0:
        text += static_cast<char>(random());
        break;
      case 1:
        text += several.substr(random() % 9, 1 + random() % 4);
        break;
      default:
        text += utf8_of(random() % 0x800);
      }
    try {
      const auto rows = table_of(text, windows(1));
      std::string again = rows.classes[static_cast<size_t>(rows.features[0])];
      for (const auto label : rows.labels)
        again += rows.classes[static_cast<size_t>(label)];
      EXPECT_EQ(again, text);
      ++accepted;
    } catch (const failure& error) {
      EXPECT_EQ(error.code(), failure_code::bad_data);
    }
  }
  EXPECT_GT(accepted, 50u);
}

TEST(read_text, a_text_without_a_row_or_with_one_character_is_refused) {
  EXPECT_EQ(complaint("abc", windows(3)),
            "some.txt the text has 3 characters; a row of 3 and the one that follows need 4");
  EXPECT_NO_THROW(table_of("abcd", windows(3)));
  EXPECT_TRUE(contains(complaint("", windows(3)), "the text has 0 characters"));
  EXPECT_EQ(complaint("aaaa", windows(2)), "some.txt the text has one character only: 'a'");
  EXPECT_THROW(table_of("abc", windows(0)), std::invalid_argument);
  EXPECT_THROW(table_of("abc", windows(1, 0)), std::invalid_argument);
}

TEST(read_text, a_given_vocabulary_says_the_codes) {
  auto options = windows(2);
  options.vocabulary = {"a", "b", "x"};
  const auto rows = table_of("q?xb", options);
  EXPECT_EQ(rows.features, (codes{3, 3, 3, 2}));
  EXPECT_EQ(rows.labels, (labels{2, 1}));
  EXPECT_EQ(rows.classes, options.vocabulary);
  EXPECT_EQ(complaint("ab\nxq", options),
            "some.txt:1 the character '\\n' follows a row, and is none of the text to train on");
  options.vocabulary.emplace_back("\n");
  EXPECT_EQ(complaint("ab\nxq", options),
            "some.txt:2 the character 'q' follows a row, and is none of the text to train on");
  for (const texts& wrong :
       {texts{"a", "a"}, texts{"a", ""}, texts{"a", "bc"}, texts{"a", "\xff"}}) {
    options.vocabulary = wrong;
    EXPECT_THROW(table_of("aaaa", options), std::invalid_argument);
  }
}

TEST(read_text, a_table_that_is_too_large_is_refused_before_it_is_made) {
  auto options = windows(100);
  options.table_bytes_max = 1'000'000; // the text's own characters fit
  EXPECT_TRUE(contains(complaint(std::string(5000, 'a') + "b", options),
                       "the table needs at least 1980004 bytes of memory, 1000000 are available"));
  options.window = 1'000'000;
  options.table_bytes_max = 1000;
  EXPECT_TRUE(contains(complaint("ab", options), "1000 are available"));
}

TEST(read_text, a_table_of_text_becomes_classes_and_never_numbers) {
  const auto rows = to_dataset(table_of("0101", windows(1)), target_use::by_content);
  EXPECT_EQ(rows.classes, (texts{"0", "1"}));
  EXPECT_EQ(rows.labels, (labels{1, 0, 1}));
  EXPECT_EQ(rows.overlap, 1u);
  EXPECT_TRUE(
    contains(complaint([] { to_dataset(table_of("0101", windows(1)), target_use::numbers); }),
             "is a class, not a number"));
}

TEST(read_text, a_text_has_to_be_called_one) {
  const temporary_folder folder;
  const auto path = folder.write("some.txt", "Once upon a time");
  EXPECT_EQ(format_by_name(path), std::nullopt);
  const auto error = test::failure_of([&] { format_of(path); });
  EXPECT_TRUE(contains(error.hint(), "\"text\" for a model of characters"));
  const auto of_prose = test::failure_of([&] { // its commas make it look like another format
    read_data(folder.write("prose.txt", "Once, upon a time,\nthere was\n"));
  });
  EXPECT_TRUE(contains(of_prose.hint(), "or is it a text for a model of characters?"));
  read_options options;
  options.format = file_format::text;
  options.text.window = 4;
  EXPECT_EQ(read_data(path, options).row_count, 12u);
  options.labels_file = "labels";
  EXPECT_TRUE(
    contains(complaint([&] { read_data(path, options); }), "text files hold their targets"));
  options.labels_file.clear();
  options.ignore = {"c0"};
  EXPECT_TRUE(contains(complaint([&] { read_data(path, options); }), "no CSV file"));
}

TEST(text_reader, parts_are_the_rows_of_the_whole_whatever_their_size) {
  std::string text;
  for (int i = 0; i < 200; ++i)
    text += i % 7 == 0   ? "\n"
            : i % 5 == 0 ? "\xc3\xa9"
                         : std::string(1, static_cast<char>('a' + i % 11));
  const temporary_folder folder;
  const auto path = folder.write("some.txt", text);
  const auto options = windows(5);
  const auto whole = read_text(path, options);
  for (const size_t rows_max : {1, 3, 64, 1000}) {
    text_reader reader{path, 5, whole.classes, text_targets::next};
    const auto all = test::joined_rows(reader, rows_max);
    EXPECT_EQ(all.features, whole.features);
    texts cells;
    for (const auto label : whole.labels)
      cells.push_back(whole.classes[static_cast<size_t>(label)]);
    EXPECT_EQ(all.target_cells, cells);
    EXPECT_EQ(reader.feature_names(), whole.feature_names);
    EXPECT_EQ(reader.unknown_remark(), "");
    EXPECT_EQ(all.lines[0], 2u); // the text begins with a new line
  }
}

TEST(text_reader, without_targets_the_last_window_is_a_row_too) {
  const temporary_folder folder;
  const auto path = folder.write("some.txt", "abcab");
  text_reader reader{path, 3, {"a", "b", "c"}, text_targets::none};
  const auto all = test::joined_rows(reader, 2);
  EXPECT_EQ(all.features, (std::vector<float>{0, 1, 2, 1, 2, 0, 2, 0, 1}));
  EXPECT_TRUE(all.target_cells.empty());
}

TEST(text_reader, a_character_that_nobody_knows_has_the_number_behind_the_last_one) {
  const temporary_folder folder;
  const auto path = folder.write("some.txt", "ab\xe2\x82\xac\nab?");
  text_reader reader{path, 2, {"a", "b"}, text_targets::next};
  table_chunk rows;
  ASSERT_TRUE(reader.next(rows, 10));
  EXPECT_EQ(rows.features, (std::vector<float>{0, 1, 1, 2, 2, 2, 2, 0, 0, 1}));
  EXPECT_EQ(rows.target_cells, (texts{"\xe2\x82\xac", "\n", "a", "b", "?"}));
  EXPECT_EQ(reader.unknown_remark(),
            "3 characters are none that the model was trained on: '\xe2\x82\xac' is the first");
  const auto error = test::failure_of([&] { reader.fail_at_target(rows, 4, "reason", "hint"); });
  EXPECT_EQ(error.where(), path + ":2");
}

TEST(text_reader, a_text_that_is_too_short_is_refused) {
  const temporary_folder folder;
  const auto path = folder.write("some.txt", "abc");
  table_chunk rows;
  text_reader longer{path, 3, {"a", "b", "c"}, text_targets::next};
  EXPECT_THROW(longer.next(rows, 10), failure);
  text_reader fits{path, 3, {"a", "b", "c"}, text_targets::none};
  EXPECT_TRUE(fits.next(rows, 10));
  EXPECT_FALSE(fits.next(rows, 10));
}

} // namespace
} // namespace troupe::read_text_test
