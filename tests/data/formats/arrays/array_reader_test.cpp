// The part-by-part reader of arrays: the same rows and the same complaints as the reader of whole
// files.

#include "data/formats/arrays/read_array.hpp"
#include "data/text/failure.hpp"
#include "tests/support/gzip_text.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace troupe::array_reader_test {

namespace {

constexpr size_t columns_max = 100'000;

/// An IDX file of bytes: value i is i modulo 251.
std::string idx_text(uint32_t rows, uint32_t columns) {
  std::string result{'\0', '\0', '\x08', '\2'};
  for (const auto extent : {rows, columns})
    for (int shift = 24; shift >= 0; shift -= 8)
      result += static_cast<char>(extent >> shift & 255);
  for (uint32_t i = 0; i < rows * columns; ++i)
    result += static_cast<char>(i % 251);
  return result;
}

/// All parts of a file, one after the other.
table_chunk read_parts(row_reader& reader, size_t rows_max) {
  table_chunk all;
  for (table_chunk part; reader.next(part, rows_max);) {
    EXPECT_LE(part.row_count, rows_max);
    all.row_count += part.row_count;
    all.features.insert(all.features.end(), part.features.begin(), part.features.end());
    all.target_cells.insert(all.target_cells.end(), part.target_cells.begin(),
                            part.target_cells.end());
  }
  return all;
}

std::string complaint(row_reader& reader, size_t rows_max) {
  try {
    read_parts(reader, rows_max);
  } catch (const failure& error) {
    EXPECT_EQ(error.code(), failure_code::bad_data);
    return error.reason();
  }
  return "accepted";
}

} // namespace

TEST(array_reader, parts_are_the_rows_of_the_whole_whatever_their_size) {
  // More values than a block holds, so that blocks end within rows and parts within blocks.
  const temporary_folder folder;
  const auto text = idx_text(400, 101);
  for (const auto& stored : {text, gzip_text(text)}) {
    const auto path = folder.write("rows.idx", stored);
    for (size_t target : {0, 57, 100}) {
      const auto whole = read_array(path, {{}, std::to_string(target)});
      for (size_t rows_max : {1, 7, 163, 400, 1000}) {
        array_reader reader(path, columns_max);
        reader.set_targets({target});
        const auto all = read_parts(reader, rows_max);
        EXPECT_EQ(all.row_count, 400u);
        ASSERT_EQ(all.features, whole.features) << target << " " << rows_max;
        EXPECT_EQ(all.target_cells, whole.target_cells);
        EXPECT_EQ(reader.feature_names(), whole.feature_names);
      }
    }
  }
}

TEST(array_reader, without_targets_all_columns_are_features) {
  const temporary_folder folder;
  array_reader reader(folder.write("rows.idx", idx_text(3, 2)), columns_max);
  const auto all = read_parts(reader, 2);
  EXPECT_EQ(all.features, (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_TRUE(all.target_cells.empty());
}

TEST(array_reader, targets_come_in_the_order_they_are_asked_for) {
  const temporary_folder folder;
  for (size_t rows_max : {1, 3}) {
    array_reader reader(folder.write("rows.idx", idx_text(3, 4)), columns_max);
    reader.set_targets({3, 1});
    const auto all = read_parts(reader, rows_max);
    EXPECT_EQ(all.features, (std::vector<float>{0, 2, 4, 6, 8, 10}));
    EXPECT_EQ(all.target_cells, (std::vector<std::string>{"3", "1", "7", "5", "11", "9"}));
  }
}

TEST(array_reader, labels_come_from_their_file_row_by_row) {
  const temporary_folder folder;
  array_reader reader(folder.write("rows.idx", idx_text(3, 2)), columns_max);
  reader.set_labels(folder.write("labels.idx", idx_text(3, 1)), 1);
  const auto all = read_parts(reader, 2);
  EXPECT_EQ(all.features, (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(all.target_cells, (std::vector<std::string>{"0", "1", "2"}));
}

TEST(array_reader, labels_of_another_number_are_refused) {
  const temporary_folder folder;
  array_reader reader(folder.write("rows.idx", idx_text(3, 2)), columns_max);
  const auto said = [&](const std::string& labels, size_t targets) {
    try {
      reader.set_labels(labels, targets);
    } catch (const failure& error) {
      EXPECT_EQ(error.where(), labels);
      return error.reason();
    }
    return std::string{"accepted"};
  };
  EXPECT_EQ(said(folder.write("labels", idx_text(4, 1)), 1),
            "there are 4 labels for 3 rows, at byte 12");
  EXPECT_NE(said(folder.write("labels", idx_text(3, 2)), 1).find("more than 1 values"),
            std::string::npos);
  EXPECT_NE(said(folder.write("labels", idx_text(3, 1)), 2).find("a row has 2 targets"),
            std::string::npos);
}

TEST(array_reader, a_target_is_told_by_its_byte) {
  const temporary_folder folder;
  const auto path = folder.write("rows.idx", idx_text(5, 3));
  const auto labels = folder.write("labels.idx", idx_text(5, 1));
  const auto place = [](row_reader& reader, size_t i) {
    table_chunk part; // the second, of rows 2 and 3
    EXPECT_TRUE(reader.next(part, 2) && reader.next(part, 2));
    try {
      reader.fail_at_target(part, i, "bad", "");
    } catch (const failure& error) {
      return error.where() + " " + error.reason();
    }
    return std::string{"accepted"};
  };
  array_reader in_columns(path, columns_max);
  in_columns.set_targets({2, 0});
  EXPECT_EQ(place(in_columns, 2), path + " bad, at byte " + std::to_string(12 + 3 * 3 + 2));
  array_reader with_labels(path, columns_max);
  with_labels.set_labels(labels, 1);
  EXPECT_EQ(place(with_labels, 1), labels + " bad, at byte " + std::to_string(12 + 3));
}

TEST(array_reader, files_that_end_early_or_late_are_refused) {
  const temporary_folder folder;
  const auto text = idx_text(5, 3);
  const auto refused = [&](const std::string& content) {
    array_reader reader(folder.write("rows.idx", gzip_text(content)), columns_max);
    return complaint(reader, 2);
  };
  EXPECT_EQ(refused(text), "accepted");
  EXPECT_EQ(refused(text + "x"), "bytes follow the last value, at byte 27");
  EXPECT_EQ(refused(text.substr(0, 20)), "the file ends within the values, at byte 20");
  EXPECT_THROW(array_reader(folder.write("rows.idx", text + "x"), columns_max), failure);
  EXPECT_THROW(array_reader(folder.write("rows.idx", text), 2), failure) << "3 columns";
}

} // namespace troupe::array_reader_test
