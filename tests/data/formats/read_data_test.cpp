// Which reader a file is given to.

#include "troupe/data/formats/read_data.hpp"

#include "troupe/data/text/failure.hpp"
#include "troupe/tests/support/gzip_text.hpp"
#include "troupe/tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <string>

namespace troupe::read_data_test {

namespace {

using namespace std::string_literals;

file_format by_content(const std::string& content) {
  temporary_folder folder;
  return format_of(folder.write("rows", content));
}

} // namespace

TEST(read_data, a_name_tells_the_format) {
  EXPECT_EQ(format_by_name("a.npy/rows.csv"), file_format::csv);
  EXPECT_EQ(format_by_name("rows.csv.gz"), file_format::csv);
  EXPECT_EQ(format_by_name("a1a.libsvm"), file_format::libsvm);
  EXPECT_EQ(format_by_name("a1a.svm.gz"), file_format::libsvm);
  EXPECT_EQ(format_by_name("rows.idx"), file_format::idx);
  EXPECT_EQ(format_by_name("train-images-idx3-ubyte.gz"), file_format::idx);
  EXPECT_EQ(format_by_name("rows.npy"), file_format::npy);
  EXPECT_EQ(format_by_name("rows.txt"), std::nullopt);
  EXPECT_EQ(format_by_name("csv"), std::nullopt);
}

TEST(read_data, else_the_first_bytes_do) {
  EXPECT_EQ(by_content("1,2\n"), file_format::csv);
  EXPECT_EQ(by_content("a;b\n"), file_format::csv);
  EXPECT_EQ(by_content(""), file_format::csv);
  EXPECT_EQ(by_content("name,time\nx 10:30,2\n"), file_format::csv);
  EXPECT_EQ(by_content("1 1:0.5 2:3\n"), file_format::libsvm);
  EXPECT_EQ(by_content("# rows, by hand\n-1 7:1\n"), file_format::libsvm);
  EXPECT_EQ(by_content(gzip_text("1 1:0.5 2:3\n")), file_format::libsvm);
  EXPECT_EQ(by_content("\x93NUMPY\1\0"), file_format::npy);
  EXPECT_EQ(by_content("\0\0\x08\3\0\0\0\1"s), file_format::idx);
}

TEST(read_data, a_file_like_none_of_them_is_refused_with_what_was_seen) {
  temporary_folder folder;
  const auto path = folder.write("rows.bin", "\x7f"
                                             "ELF\2\1\1");
  try {
    read_data(path);
    ADD_FAILURE() << "was read";
  } catch (const failure& error) {
    EXPECT_EQ(error.code(), failure_code::bad_data);
    EXPECT_EQ(error.where(), path);
    EXPECT_NE(error.reason().find("'\\x7fELF\\x02\\x01\\x01'"), std::string::npos)
      << error.reason();
    EXPECT_NE(error.hint().find("data.format"), std::string::npos);
  }
  EXPECT_THROW(read_data(folder.path("none")), failure);
  EXPECT_THROW(read_data(folder.path()), failure);
}

TEST(read_data, what_is_no_table_of_text_is_called_by_its_name) {
  temporary_folder folder;
  const auto refusal = [&](const std::string& name, const std::string& content) {
    try {
      format_of(folder.write(name, content));
    } catch (const failure& error) {
      EXPECT_EQ(error.code(), failure_code::bad_data);
      EXPECT_FALSE(error.hint().empty());
      return error.reason();
    }
    return std::string{"accepted"};
  };
  for (const std::string name : {"rows", "rows.csv"}) {
    EXPECT_NE(refusal(name, "PK\3\4\x14").find("a zip file"), std::string::npos) << name;
    EXPECT_NE(refusal(name, "PAR1\x15").find("a Parquet file"), std::string::npos) << name;
    EXPECT_NE(refusal(name, "BZh91AY").find("bzip2"), std::string::npos) << name;
    EXPECT_NE(refusal(name, "<!DOCTYPE html>").find("a web page"), std::string::npos) << name;
  }
  EXPECT_NE(refusal("rows.json", "[{\"a\": 1}]").find("JSON"), std::string::npos);
  EXPECT_EQ(refusal("rows.csv", "[x],y\n1,2\n"), "accepted");
}

TEST(read_data, what_the_caller_says_counts_more) {
  temporary_folder folder;
  read_options options;
  options.format = file_format::libsvm;
  options.index_base = 0;
  EXPECT_EQ(read_data(folder.write("rows.csv", "1 0:5\n"), options).features[0], 5.0f);
  options = {};
  options.target = "0";
  EXPECT_EQ(read_data(folder.write("rows", "1,5\n"), options).features[0], 5.0f);
  options.format = file_format::npy;
  EXPECT_THROW(read_data(folder.path("rows"), options), failure);
}

TEST(read_data, labels_belong_to_arrays_only) {
  temporary_folder folder;
  read_options options;
  options.labels_file = folder.write("labels", "\0\0\x08\1\0\0\0\1\7"s);
  const auto rows = read_data(folder.write("rows.idx", "\0\0\x08\1\0\0\0\1\5"s), options);
  EXPECT_EQ(rows.features[0], 5.0f);
  EXPECT_EQ(rows.target_cells[0], "7");
  EXPECT_THROW(read_data(folder.write("rows.csv", "1,5\n"), options), failure);
  EXPECT_THROW(read_data(folder.write("rows.svm", "1 1:5\n"), options), failure);
}

} // namespace troupe::read_data_test
