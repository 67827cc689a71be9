// IDX files by hand, NPY files by NumPy (tests/reference/arrays.py), and what is said of bad ones.

#include "data/formats/arrays/read_array.hpp"

#include "data/text/failure.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/gzip_text.hpp"
#include "tests/support/reference.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <string>
#include <vector>

namespace troupe::read_array_test {
namespace {

using namespace std::string_literals;

/// Two images of 2 x 2 pixels, and their labels.
const std::string images = "\0\0\x08\x03\0\0\0\2\0\0\0\2\0\0\0\2\1\2\3\4\xff\0\0\x80"s;
const std::string labels = "\0\0\x08\x01\0\0\0\2\7\3"s;

std::string bytes_of_hex(const std::string& hex) {
  std::string result;
  for (size_t i = 0; i < hex.size(); i += 2)
    result += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return result;
}

table read_with_labels(const std::string& content, const std::string& label_content) {
  temporary_folder folder;
  return read_array(folder.write("rows", content), {folder.write("labels", label_content)});
}

std::string npy(const std::string& header, const std::string& values) {
  const auto length = header.size();
  return "\x93NUMPY\1\0"s + static_cast<char>(length & 255) + static_cast<char>(length >> 8) +
         header + values;
}

const std::string npy_tail = "'fortran_order': False, 'shape': (2, 2), }";

/// Reads a bad file with good labels and expects what is said about it.
void expect_refused(const std::string& content, const std::vector<std::string>& said,
                    const std::string& label_content = labels) {
  for (const auto& stored : {content, gzip_text(content)}) {
    SCOPED_TRACE(said[0]);
    temporary_folder folder;
    const auto path = folder.write("rows", stored);
    const auto error =
      test::failure_of([&] { read_array(path, {folder.write("labels", label_content)}); });
    EXPECT_EQ(error.code(), failure_code::bad_data);
    EXPECT_TRUE(error.where() == path || error.where() == folder.path("labels")) << error.where();
    EXPECT_FALSE(error.hint().empty());
    for (const auto& part : said)
      EXPECT_TRUE(test::contains(error.what(), part));
  }
}

TEST(read_array, idx_images_become_rows_and_their_labels_targets) {
  for (const auto& content : {images, gzip_text(images)}) {
    const auto rows = read_with_labels(content, labels);
    EXPECT_EQ(rows.row_count, 2u);
    EXPECT_EQ(rows.feature_count, 4u);
    EXPECT_EQ(rows.features, (std::vector<float>{1, 2, 3, 4, 255, 0, 0, 128}));
    EXPECT_EQ(rows.feature_names, (std::vector<std::string>{"0", "1", "2", "3"}));
    EXPECT_EQ(rows.target_cells, (std::vector<std::string>{"7", "3"}));
    EXPECT_EQ(rows.target_numbers, (std::vector<double>{7, 3}));
    EXPECT_EQ(rows.target_name, "label");
  }
}

TEST(read_array, every_idx_type_is_big_endian) {
  const auto read = [](char type, const std::string& values) {
    return read_with_labels("\0\0"s + type + "\1\0\0\0\2"s + values, labels).features;
  };
  EXPECT_EQ(read(0x09, "\xff\2"s), (std::vector<float>{-1, 2}));
  EXPECT_EQ(read(0x0b, "\xff\xfe\1\0"s), (std::vector<float>{-2, 256}));
  EXPECT_EQ(read(0x0c, "\0\1\0\0\xff\xff\xff\xff"s), (std::vector<float>{65536, -1}));
  EXPECT_EQ(read(0x0d, "\x3f\x80\0\0\xc0\x20\0\0"s), (std::vector<float>{1, -2.5}));
  EXPECT_EQ(read(0x0e, "\x3f\xf0\0\0\0\0\0\0\xc0\4\0\0\0\0\0\0"s), (std::vector<float>{1, -2.5}));
}

TEST(read_array, labels_are_found_beside_images_by_name) {
  EXPECT_EQ(labels_beside("a/images-idx3/train-images-idx3-ubyte.gz"),
            "a/images-idx3/train-labels-idx1-ubyte.gz");
  EXPECT_EQ(labels_beside("rows.idx"), "");
  temporary_folder folder;
  folder.write("t10k-labels-idx1-ubyte", labels);
  EXPECT_EQ(read_array(folder.write("t10k-images-idx3-ubyte", images)).target_cells[0], "7");
}

TEST(read_array, numpys_files_are_read_as_numpy_reads_them) {
  const auto reference = test::load_reference("arrays.json");
  for (const auto& [name, expected] : reference["read"].items()) {
    SCOPED_TRACE(name);
    const auto content = bytes_of_hex(expected["file"].get<std::string>());
    const auto rows = read_with_labels(content, labels);
    std::vector<float> values;
    for (const auto value : test::flat<double>(expected["values"]))
      values.push_back(static_cast<float>(value));
    EXPECT_EQ(rows.row_count, 2u);
    EXPECT_EQ(rows.features, values);
  }
  EXPECT_GE(reference["read"].size(), 19u);
}

TEST(read_array, a_column_can_be_the_target) {
  const auto reference = test::load_reference("arrays.json");
  const auto content = bytes_of_hex(reference["read"]["<f8"]["file"].get<std::string>());
  temporary_folder folder;
  const auto path = folder.write("rows.npy", content);
  auto rows = read_array(path);
  EXPECT_EQ(rows.features, (std::vector<float>{0, 0.1f, -3, 100}));
  EXPECT_EQ(rows.target_numbers, (std::vector<double>{2, 7}));
  EXPECT_EQ(rows.target_name, "2");
  rows = read_array(path, {{}, "1"});
  EXPECT_EQ(rows.features, (std::vector<float>{0, 2, -3, 7}));
  EXPECT_EQ(rows.target_numbers, (std::vector<double>{0.1, 100}));
  EXPECT_EQ(rows.target_cells, (std::vector<std::string>{"0.1", "100"}));
  EXPECT_EQ(rows.feature_names, (std::vector<std::string>{"0", "2"}));
  for (const auto* bad : {"3", "x", "", "-1"})
    EXPECT_THROW(read_array(path, {{}, bad}), failure) << bad;
}

TEST(read_array, values_across_many_blocks_keep_their_place) {
  constexpr size_t rows_wanted = 30'011, columns = 7;
  std::string values;
  for (size_t i = 0; i < rows_wanted * columns; ++i)
    values += std::string{static_cast<char>(i & 255), static_cast<char>(i >> 8 & 255),
                          static_cast<char>(i >> 16), '\0'};
  const auto content =
    npy("{'descr': '<i4', 'fortran_order': False, 'shape': (30011, 7), }", values);
  temporary_folder folder;
  for (const auto& stored : {content, gzip_text(content)}) {
    const auto rows = read_array(folder.write("rows.npy", stored), {{}, "2"});
    ASSERT_EQ(rows.features.size(), rows_wanted * (columns - 1));
    for (size_t row = 0; row < rows_wanted; ++row) {
      ASSERT_EQ(rows.target_numbers[row], static_cast<double>(row * columns + 2));
      ASSERT_EQ(rows.features[row * 6 + 1], static_cast<float>(row * columns + 1));
      ASSERT_EQ(rows.features[row * 6 + 2], static_cast<float>(row * columns + 3));
    }
  }
}

TEST(read_array, numpys_other_files_are_refused_by_name) {
  const auto refused = test::load_reference("arrays.json")["refused"];
  const auto file = [&](const char* name) {
    return bytes_of_hex(refused[name].get<std::string>());
  };
  expect_refused(file("fortran"), {"Fortran order", "ascontiguousarray"});
  expect_refused(file("half"), {"'<f2' cannot be read", "float32"});
  expect_refused(file("complex"), {"'<c8' cannot be read"});
  expect_refused(file("text"), {"'<U1' cannot be read"});
  expect_refused(file("fields"), {"named fields"});
  expect_refused(file("scalar"), {"a single value"});
  expect_refused(file("no rows"), {"0 x 3", "no rows"});
}

TEST(read_array, bad_headers_are_refused_where_they_stand) {
  expect_refused("GIF89a", {"no IDX file", "byte 0"});
  expect_refused("\0\0\x0a\1\0\0\0\1x"s, {"no IDX type 0x0a", "byte 2"});
  expect_refused("\0\0\x08\0"s, {"0 dimensions", "byte 3"});
  expect_refused("\0\0\x08\x09"s, {"9 dimensions", "byte 3"});
  expect_refused("\0\0\x08\3\0\0\0\2\0\0"s, {"ends within the header", "byte 10"});
  expect_refused("\0\0"s, {"ends within the magic number"});
  expect_refused("\x93NUMPY\4\0\1\0 "s, {"version", "byte 6"});
  expect_refused("\x93NUMPY\2\0\xff\xff\xff\xff"s, {"4294967295 bytes", "byte 8"});
  expect_refused("\x93NUMPY\1\0\x70\0{"s, {"ends within the header"});
  expect_refused(npy("{'descr': '<f4', 'descr': '<f4', " + npy_tail, ""),
                 {"'descr' comes twice", "byte 27"});
  expect_refused(npy("{'deser': '<f4', " + npy_tail, ""), {"'deser' is unknown", "byte 11"});
  expect_refused(npy("{" + npy_tail, ""), {"lacks 'descr'"});
  expect_refused(npy("{'descr': 'f4', " + npy_tail, ""), {"'f4' cannot be read"});
  expect_refused(npy("{'descr': '<f4', " + npy_tail + "x", ""), {"text after"});
  expect_refused(npy("{'shape': (2, x)}", ""), {"expected an extent"});
  expect_refused(npy("{'shape': (99999999999999999999,)}", ""), {"expected an extent"});
  expect_refused(npy("{'shape': (1,1,1,1,1,1,1,1,1)}", ""), {"more than 8 dimensions"});
}

TEST(read_array, a_header_that_promises_too_much_costs_nothing) {
  const auto huge = "\0\0\x0e\2\xff\xff\xff\xff\0\xff\xff\xff"s;
  temporary_folder folder;
  const auto error = test::failure_of(
    [&] { read_array(folder.write("rows", huge + "12345678"), {folder.write("labels", labels)}); });
  EXPECT_TRUE(test::contains(error.what(), "promises 576460717809467400 bytes"));
  EXPECT_TRUE(test::contains(error.what(), "8 follow, at byte 12"));
  // The size of compressed data is not known: reading ends with them, and so does the memory.
  expect_refused(huge, {"bytes"});
  expect_refused("\0\0\x08\3\1\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff"s,
                 {"more than 16777216 values"});
  expect_refused(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (18446744073709551615, "
                     "2)}",
                     ""),
                 {"no file is that large"});
}

TEST(read_array, files_of_another_length_are_refused) {
  expect_refused(images.substr(0, images.size() - 1), {"byte"});
  expect_refused(images + "x", {"byte"});
  temporary_folder folder;
  const auto label_path = folder.write("labels", labels);
  const auto message = [&](const std::string& content) {
    const auto path = folder.write("rows", gzip_text(content));
    return test::failure_of([&] { read_array(path, {label_path}); }).reason();
  };
  EXPECT_EQ(message(images.substr(0, 20)), "the file ends within the values, at byte 20");
  EXPECT_EQ(message(images + "x"), "bytes follow the last value, at byte 24");
}

TEST(read_array, values_that_are_no_finite_floats_are_refused) {
  const auto header = "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }"s;
  const auto nan = "\0\0\0\0\0\0\xf8\x7f"s, one = "\0\0\0\0\0\0\xf0\x3f"s;
  const auto large = "\0\0\0\0\0\0\xf0\x7e"s;
  const auto at = std::to_string(10 + header.size() + 8);
  expect_refused(npy(header, one + nan), {"not a finite number", "byte " + at});
  expect_refused(npy(header, one + large), {"e+30", "does not fit", "byte " + at});
}

TEST(read_array, labels_must_belong_to_the_rows) {
  expect_refused(images, {"3 labels for 2 rows"}, "\0\0\x08\1\0\0\0\3\7\3\1"s);
  expect_refused(images, {"2 x 2"}, "\0\0\x08\2\0\0\0\2\0\0\0\2\7\3\1\1"s);
  temporary_folder folder;
  const auto path = folder.write("rows.idx", images);
  const auto error = test::failure_of([&] { read_array(path); });
  EXPECT_EQ(error.hint(), "name the file of the labels: data.labels_file");
}

TEST(read_array, columns_that_lose_digits_as_float32_are_named) {
  const auto remarks_of = [](double first, double step) {
    std::string values;
    for (int i = 0; i < 40; ++i)
      for (const double x : {i * 0.1, first + i * step, 1e12 + i}) {
        const auto bytes = std::bit_cast<std::array<char, sizeof x>>(x);
        values.append(bytes.begin(), bytes.end());
      }
    temporary_folder folder;
    const auto header = "{'descr': '<f8', 'fortran_order': False, 'shape': (40, 3), }";
    return read_array(folder.write("rows.npy", npy(header, values)), {}).remarks;
  };
  const auto said = remarks_of(1.7e12, 100);
  ASSERT_EQ(said.size(), 1u) << "the target's digits are kept";
  EXPECT_TRUE(test::contains(said[0], "'1' loses digits: 40 different numbers are 1 as float32"));
  EXPECT_TRUE(remarks_of(1e9, 1e6).empty());
}

// The part-by-part reader of arrays: the same rows and the same complaints as the reader of whole
// files.

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
  return test::failure_of([&] { read_parts(reader, rows_max); }, "accepted").reason();
}

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
  const auto said = [&](const std::string& file, size_t targets) {
    const auto error = test::failure_of([&] { reader.set_labels(file, targets); });
    EXPECT_EQ(error.where(), file);
    return error.reason();
  };
  EXPECT_EQ(said(folder.write("labels", idx_text(4, 1)), 1),
            "there are 4 labels for 3 rows, at byte 12");
  EXPECT_TRUE(
    test::contains(said(folder.write("labels", idx_text(3, 2)), 1), "more than 1 values"));
  EXPECT_TRUE(
    test::contains(said(folder.write("labels", idx_text(3, 1)), 2), "a row has 2 targets"));
}

TEST(array_reader, a_target_is_told_by_its_byte) {
  const temporary_folder folder;
  const auto path = folder.write("rows.idx", idx_text(5, 3));
  const auto label_file = folder.write("labels.idx", idx_text(5, 1));
  const auto place = [](row_reader& reader, size_t i) {
    table_chunk part; // the second, of rows 2 and 3
    EXPECT_TRUE(reader.next(part, 2) && reader.next(part, 2));
    const auto error = test::failure_of([&] { reader.fail_at_target(part, i, "bad", ""); });
    return error.where() + " " + error.reason();
  };
  array_reader in_columns(path, columns_max);
  in_columns.set_targets({2, 0});
  EXPECT_EQ(place(in_columns, 2), path + " bad, at byte " + std::to_string(12 + 3 * 3 + 2));
  array_reader with_labels(path, columns_max);
  with_labels.set_labels(label_file, 1);
  EXPECT_EQ(place(with_labels, 1), label_file + " bad, at byte " + std::to_string(12 + 3));
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

} // namespace
} // namespace troupe::read_array_test
