// Small compressed files that ask for much memory.

#include "troupe/data/table/table_limit.hpp"

#include "troupe/data/formats/arrays/read_array.hpp"
#include "troupe/data/formats/csv/csv.hpp"
#include "troupe/data/formats/libsvm/libsvm.hpp"
#include "troupe/data/text/failure.hpp"
#include "troupe/tests/support/gzip_text.hpp"
#include "troupe/tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

namespace troupe::table_limit_test {

namespace {

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const failure& error) {
    EXPECT_EQ(error.code(), failure_code::bad_data);
    EXPECT_FALSE(error.hint().empty());
    return error.reason();
  }
  return "accepted";
}

std::string repeated(const std::string& line, size_t count) {
  std::string result;
  for (size_t i = 0; i < count; ++i)
    result += line;
  return result;
}

} // namespace

TEST(table_limit, is_the_memory_that_is_available_unless_given) {
  EXPECT_EQ(table_limit("x", 7).bytes_max(), 7u);
  const auto available = table_limit("x").bytes_max();
  EXPECT_GT(available, uint64_t{1} << 20);
  EXPECT_LT(available, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(refusal([] { table_limit("x", 7).require(7); }), "accepted");
  EXPECT_EQ(refusal([] { table_limit("x", 7).require(8); }),
            "the table needs at least 8 bytes of memory, 7 are available");
}

// Of two columns the targets take most of the memory.
TEST(table_limit, counts_the_numbers_of_targets_and_what_they_become) {
  const temporary_folder folder;
  const auto csv = folder.write("rows.csv", repeated("1,2\n", 10'000));
  const auto svm = folder.write("rows.svm", repeated("2 1:1\n", 10'000));
  csv_options for_csv;
  libsvm_options for_svm;
  for_csv.table_bytes_max = 10'000 * (4 + 32 + 8);
  for_svm.table_bytes_max = 10'000 * (4 + 8 + 8 + 32 + 8);
  EXPECT_NE(refusal([&] { read_csv(csv, for_csv); }), "accepted");
  EXPECT_NE(refusal([&] { read_libsvm(svm, for_svm); }), "accepted");
  for_csv.table_bytes_max += 10'000 * 4;
  for_svm.table_bytes_max += 10'000 * 4 + 64;
  EXPECT_EQ(refusal([&] { read_csv(csv, for_csv); }), "accepted");
  EXPECT_EQ(refusal([&] { read_libsvm(svm, for_svm); }), "accepted");
}

TEST(table_limit, ends_a_compressed_text_that_never_seems_to) {
  const temporary_folder folder;
  for (const std::string line : {"1,1,1,1,1,1,1,0\n", "1,1,1,1,1,1,1,\"0\"\n"}) { // both ways
    const auto content = gzip_text(repeated(line, 100'000));
    ASSERT_LT(content.size(), 100'000u);
    const auto path = folder.write("bomb.csv.gz", content);
    csv_options options;
    options.table_bytes_max = 1 << 20;
    const auto said = refusal([&] { read_csv(path, options); });
    EXPECT_NE(said.find("memory, 1048576 are available"), std::string::npos) << said;
    options.table_bytes_max = 1 << 24;
    EXPECT_EQ(refusal([&] { read_csv(path, options); }), "accepted");
  }
}

TEST(table_limit, ends_rows_that_name_little_of_much) {
  const temporary_folder folder;
  const auto path = folder.write("bomb.svm.gz", gzip_text(repeated("1 1000:1\n", 1000)));
  libsvm_options options;
  options.form = row_form::dense;
  options.table_bytes_max = 1 << 20;
  const auto said = refusal([&] { read_libsvm(path, options); });
  EXPECT_NE(said.find("memory, 1048576 are available"), std::string::npos) << said;
  options.table_bytes_max = 1 << 24;
  EXPECT_EQ(refusal([&] { read_libsvm(path, options); }), "accepted");
}

TEST(table_limit, ends_a_compressed_array_at_its_header) {
  const temporary_folder folder;
  // 2^20 rows of 8 bytes: 32 MiB as float32, promised by 16 bytes and never delivered.
  const std::string header("\0\0\x08\2\0\x10\0\0\0\0\0\x08", 12);
  array_options options;
  options.table_bytes_max = 1 << 20;
  const auto path = folder.write("bomb.idx.gz", gzip_text(header));
  EXPECT_EQ(refusal([&] { read_array(path, options); }),
            "the table needs at least 33554688 bytes of memory, 1048576 are available");
}

} // namespace troupe::table_limit_test
