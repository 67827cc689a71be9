// The part-by-part reader of texts: the rows of the reader of whole ones.

#include "troupe/data/formats/text/text_reader.hpp"

#include "troupe/data/formats/text/read_text.hpp"
#include "troupe/data/text/failure.hpp"
#include "troupe/tests/support/joined_rows.hpp"
#include "troupe/tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

namespace troupe::text_reader_test {

namespace {

using texts = std::vector<std::string>;

} // namespace

TEST(text_reader, parts_are_the_rows_of_the_whole_whatever_their_size) {
  std::string text;
  for (int i = 0; i < 200; ++i)
    text += i % 7 == 0   ? "\n"
            : i % 5 == 0 ? "\xc3\xa9"
                         : std::string(1, static_cast<char>('a' + i % 11));
  const temporary_folder folder;
  const auto path = folder.write("some.txt", text);
  text_options options;
  options.window = 5;
  const auto whole = read_text(path, options);
  for (const size_t rows_max : {1, 3, 64, 1000}) {
    text_reader reader{path, 5, whole.known.names, text_targets::next};
    const auto all = test::joined_rows(reader, rows_max);
    EXPECT_EQ(all.features, whole.features);
    texts cells;
    for (const auto label : whole.known.labels)
      cells.push_back(whole.known.names[static_cast<size_t>(label)]);
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
  try {
    reader.fail_at_target(rows, 4, "reason", "hint");
  } catch (const failure& error) {
    EXPECT_EQ(error.where(), path + ":2");
  }
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

} // namespace troupe::text_reader_test
