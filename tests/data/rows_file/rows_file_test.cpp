#include "data/rows_file/rows_file.hpp"

#include "data/formats/csv/csv.hpp"
#include "data/formats/csv/csv_reader.hpp"
#include "data/rows_file/convert_rows.hpp"
#include "data/rows_file/rows_writer.hpp"
#include "data/text/failure.hpp"
#include "data/training_rows/synthetic.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

namespace troupe::rows_file_test {
namespace {

dataset clouds(size_t rows) {
  return make_classification({.rows = rows, .features = 5, .classes = 3}, 3);
}

dataset bytes_with_numbers(size_t rows) {
  dataset x;
  x.row_count = rows;
  x.feature_count = 3;
  x.feature_names = {"a", "b", "c"};
  x.target_count = 2;
  x.target_names = {"y", "z"};
  for (size_t i = 0; i < rows; ++i) {
    x.features.insert(x.features.end(), {static_cast<float>(i % 256), 255, 0});
    x.targets.insert(x.targets.end(), {static_cast<float>(i) / 8, -1});
  }
  return x;
}

std::string content_of(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

/// What reading a whole file comes to: nothing, or the reason that it was refused.
std::string refusal_of(const std::string& path) {
  const auto error = test::failure_of([&] { read_rows(rows_file{path}); }, "");
  if (!error.reason().empty()) {
    EXPECT_EQ(error.code(), failure_code::bad_data) << error.what();
    EXPECT_EQ(error.where(), path);
    EXPECT_FALSE(error.hint().empty());
  }
  return error.reason();
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return at == text.npos ? text : text.replace(at, from.size(), to);
}

TEST(rows_file, gives_back_what_was_written) {
  const temporary_folder folder;
  for (const auto& rows : {clouds(100), bytes_with_numbers(37)})
    for (const uint64_t chunk_rows : {1, 7, 37, 1000}) {
      const auto path = folder.path("rows.safetensors");
      write_rows(path, rows, chunk_rows);
      const rows_file file{path};
      EXPECT_EQ(read_rows(file), rows) << chunk_rows;
      EXPECT_EQ(file.header().type,
                rows.is_classification() ? feature_type::f32 : feature_type::u8);
    }
}

TEST(rows_file, statistics_are_those_of_all_rows) {
  const temporary_folder folder;
  const auto rows = clouds(100);
  write_rows(folder.path("rows"), rows, 7);
  const rows_file file{folder.path("rows")};
  for (size_t j = 0; j < rows.feature_count; ++j) {
    double mean = 0, squares = 0;
    for (size_t i = 0; i < 100; ++i)
      mean += rows.row(i)[j] / 100.0;
    for (size_t i = 0; i < 100; ++i)
      squares += (rows.row(i)[j] - mean) * (rows.row(i)[j] - mean);
    EXPECT_NEAR(file.header().column_means[j], mean, 1e-12);
    EXPECT_NEAR(file.header().column_squares[j], squares, 1e-9);
  }
}

TEST(rows_file, the_fingerprint_names_the_content) {
  const temporary_folder folder;
  auto rows = clouds(50);
  write_rows(folder.path("a"), rows, 8);
  write_rows(folder.path("b"), rows, 8);
  EXPECT_EQ(content_of(folder.path("a")), content_of(folder.path("b")));
  const auto name = rows_file{folder.path("a")}.fingerprint();
  EXPECT_EQ(name.size(), 64u);
  rows.features[123] += 1;
  write_rows(folder.path("b"), rows, 8);
  EXPECT_NE(rows_file{folder.path("b")}.fingerprint(), name) << "a feature";
  rows = clouds(50);
  rows.labels[49] = (rows.labels[49] + 1) % 3;
  write_rows(folder.path("b"), rows, 8);
  EXPECT_NE(rows_file{folder.path("b")}.fingerprint(), name) << "a label";
}

TEST(rows_file, a_truncated_file_is_refused_at_any_length) {
  const temporary_folder folder;
  write_rows(folder.path("whole"), clouds(20), 8);
  const auto content = content_of(folder.path("whole"));
  for (size_t length = 0; length < content.size(); length += 1 + length / 50)
    EXPECT_NE(refusal_of(folder.write("part", content.substr(0, length))), "") << length;
  EXPECT_NE(refusal_of(folder.write("more", content + "x")), "");
}

TEST(rows_file, a_file_that_becomes_shorter_ends_with_an_error_and_no_signal) {
  const temporary_folder folder;
  const auto path = folder.path("rows");
  write_rows(path, clouds(2000), 100);
  const rows_file file{path};
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  EXPECT_NO_THROW(file.read_chunk(0));
  const auto error = test::failure_of([&] { file.read_chunk(19); });
  EXPECT_EQ(error.code(), failure_code::bad_data);
  EXPECT_TRUE(test::contains(error.reason(), "shorter than when it was opened"));
  EXPECT_TRUE(test::contains(error.reason(), "of chunk 19 (rows 1900 to 1999"));
  EXPECT_EQ(error.where(), path);
}

// Any one bit: in the header it is no such file or another one, in the rows a checksum tells.
TEST(rows_file, a_flipped_bit_is_told_by_its_chunk_or_makes_another_file) {
  const temporary_folder folder;
  write_rows(folder.path("whole"), clouds(40), 8);
  const auto content = content_of(folder.path("whole"));
  const auto name = rows_file{folder.path("whole")}.fingerprint();
  const auto data_begin = content.size() - 40 * (5 * 4 + 4);
  for (size_t at = 0; at < content.size(); at += at < data_begin ? 3 : 11) {
    auto damaged = content;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    const auto path = folder.write("damaged", damaged);
    const auto reason = refusal_of(path);
    if (at >= data_begin) {
      EXPECT_TRUE(test::contains(reason, "checksum")) << at;
      EXPECT_TRUE(test::contains(reason, "chunk "));
    } else if (reason.empty()) {
      EXPECT_NE(rows_file{path}.fingerprint(), name) << "byte " << at;
    }
  }
}

TEST(rows_file, a_header_that_lies_is_refused_by_name) {
  const temporary_folder folder;
  write_rows(folder.path("whole"), clouds(20), 8);
  const auto content = content_of(folder.path("whole"));
  const std::pair<std::string, std::string> lies[] = {
    {R"("shape":[20,5])", R"("shape":[99,5])"},
    {R"("shape":[20,5])", R"("shape":[10,9])"},
    {R"("shape":[3,2])", R"("shape":[2,3])"},
    {R"("shape":[20])", R"("shape":[21])"},
    {R"("chunk_rows":"8")", R"("chunk_rows":"0")"},
    {R"("chunk_rows":"8")", R"("chunk_rows":"5")"},
    {R"("chunk_rows":"8")", R"("chunk_rows":"x")"},
    {R"("dtype":"I32")", R"("dtype":"F32")"},
    {R"("dtype":"U64")", R"("dtype":"F64")"},
    {"troupe-rows-1", "troupe-rows-2"},
    {"column_means", "column_beans"},
    {"class_rows", "class_cows"},
  };
  for (const auto& [from, to] : lies)
    EXPECT_NE(refusal_of(folder.write("lie", replaced(content, from, to))), "") << from << to;
}

TEST(rows_file, other_files_are_refused_in_words) {
  const temporary_folder folder;
  const auto expect_called = [&](const std::string& content, const char* what) {
    EXPECT_TRUE(test::contains(refusal_of(folder.write("other", content)), what));
  };
  expect_called("", "safetensors");
  expect_called("a,b\n1,2\n3,4\n", "safetensors");
  expect_called("\x1f\x8b\x08 and more of it", "compressed");
  EXPECT_EQ(refusal_of(folder.path("")), "this is no file on a disk");
  EXPECT_THROW(rows_file{folder.path("none")}, failure);
}

TEST(rows_reader, reads_features_and_targets_by_name) {
  const temporary_folder folder;
  const auto rows = clouds(50);
  write_rows(folder.path("rows"), rows, 8);
  rows_reader reader{folder.path("rows")};
  ASSERT_EQ(reader.column_count(), 6u);
  reader.set_targets({5});
  table_chunk part;
  size_t row = 0;
  while (reader.next(part, 7))
    for (size_t i = 0; i < part.row_count; ++i, ++row) {
      EXPECT_EQ(part.target_cells[i], rows.classes[static_cast<size_t>(rows.labels[row])]);
      EXPECT_TRUE(std::ranges::equal(std::span{part.features}.subspan(i * 5, 5), rows.row(row)));
    }
  EXPECT_EQ(row, 50u);
}

row_opener csv_rows(const std::string& path) {
  return [path] {
    auto reader = std::make_unique<csv_reader>(path, csv_header::automatic);
    reader->set_targets({reader->column_count() - 1});
    return reader;
  };
}

TEST(convert_rows, makes_of_csv_what_reading_it_whole_makes) {
  const temporary_folder folder;
  std::string text = "a,b,kind\n";
  for (int i = 0; i < 100; ++i)
    text += std::to_string(i) + ".5," + std::to_string(i * i) + (i % 3 ? ",1.0\n" : ",10\n");
  const auto path = folder.write("rows.csv", text);
  convert_options options;
  options.target_name = "kind";
  options.chunk_rows = 9;
  convert_rows(csv_rows(path), folder.path("rows"), options);
  const auto whole = to_dataset(read_csv(path, {}), target_use::by_content);
  EXPECT_EQ(read_rows(rows_file{folder.path("rows")}), whole);
  EXPECT_EQ(whole.classes, (std::vector<std::string>{"1.0", "10"}));
  options.use = target_use::numbers;
  convert_rows(csv_rows(path), folder.path("rows"), options);
  const rows_file numbers{folder.path("rows")};
  EXPECT_EQ(read_rows(numbers), to_dataset(read_csv(path, {}), target_use::numbers));
  EXPECT_EQ(numbers.header().target_minimum, 1);
  EXPECT_EQ(numbers.header().target_maximum, 10);
}

TEST(convert_rows, shuffles_each_row_to_some_other_place) {
  const temporary_folder folder;
  std::string text = "a,y\n";
  for (int i = 0; i < 1000; ++i)
    text += std::to_string(i) + "," + std::to_string(i) + ".5\n";
  const auto path = folder.write("rows.csv", text);
  convert_options options;
  options.target_name = "y";
  options.shuffle = 7;
  convert_rows(csv_rows(path), folder.path("rows"), options);
  const auto rows = read_rows(rows_file{folder.path("rows")});
  std::set<float> seen;
  size_t at_home = 0;
  for (size_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(rows.targets[i], rows.features[i] + 0.5f) << "a row stays together";
    seen.insert(rows.features[i]);
    at_home += rows.features[i] == static_cast<float>(i);
  }
  EXPECT_EQ(seen.size(), 1000u);
  EXPECT_LT(at_home, 10u);
}

TEST(write_part, cuts_a_file_between_any_rows) {
  const temporary_folder folder;
  const auto rows = clouds(50);
  write_rows(folder.path("rows"), rows, 8);
  const rows_file file{folder.path("rows")};
  write_part(file, 13, 37, folder.path("part"));
  const auto part = read_rows(rows_file{folder.path("part")});
  ASSERT_EQ(part.row_count, 24u);
  for (size_t i = 0; i < 24; ++i) {
    EXPECT_TRUE(std::ranges::equal(part.row(i), rows.row(13 + i)));
    EXPECT_EQ(part.labels[i], rows.labels[13 + i]);
  }
}

} // namespace
} // namespace troupe::rows_file_test
