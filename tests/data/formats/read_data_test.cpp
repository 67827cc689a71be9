// Which reader a file is given to.

#include "data/formats/read_data.hpp"
#include "data/text/failure.hpp"
#include "data/training_rows/prepare.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/gzip_text.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

namespace troupe::read_data_test {
namespace {

using namespace std::string_literals;

file_format by_content(const std::string& content) {
  temporary_folder folder;
  return format_of(folder.write("rows", content));
}

TEST(read_data, a_name_tells_the_format) {
  const std::pair<const char*, std::optional<file_format>> names[] = {
    {"a.npy/rows.csv", file_format::csv},
    {"rows.csv.gz", file_format::csv},
    {"a1a.libsvm", file_format::libsvm},
    {"a1a.svm.gz", file_format::libsvm},
    {"rows.idx", file_format::idx},
    {"train-images-idx3-ubyte.gz", file_format::idx},
    {"rows.npy", file_format::npy},
    {"rows.txt", std::nullopt},
    {"csv", std::nullopt}};
  for (const auto& [name, format] : names)
    EXPECT_EQ(format_by_name(name), format) << name;
}

TEST(read_data, else_the_first_bytes_do) {
  const std::pair<std::string, file_format> contents[] = {
    {"1,2\n", file_format::csv},
    {"a;b\n", file_format::csv},
    {"", file_format::csv},
    {"name,time\nx 10:30,2\n", file_format::csv},
    {"1 1:0.5 2:3\n", file_format::libsvm},
    {"# rows, by hand\n-1 7:1\n", file_format::libsvm},
    {gzip_text("1 1:0.5 2:3\n"), file_format::libsvm},
    {"\x93NUMPY\1\0", file_format::npy},
    {"\0\0\x08\3\0\0\0\1"s, file_format::idx}};
  for (const auto& [content, format] : contents)
    EXPECT_EQ(by_content(content), format) << content;
}

TEST(read_data, a_file_like_none_of_them_is_refused_with_what_was_seen) {
  temporary_folder folder;
  const auto path = folder.write("rows.bin", "\x7f"
                                             "ELF\2\1\1");
  const auto error = test::failure_of([&] { read_data(path); });
  EXPECT_EQ(error.code(), failure_code::bad_data);
  EXPECT_EQ(error.where(), path);
  EXPECT_TRUE(test::contains(error.reason(), "'\\x7fELF\\x02\\x01\\x01'"));
  EXPECT_TRUE(test::contains(error.hint(), "data.format"));
  EXPECT_THROW(read_data(folder.path("none")), failure);
  EXPECT_THROW(read_data(folder.path()), failure);
}

TEST(read_data, what_is_no_table_of_text_is_called_by_its_name) {
  temporary_folder folder;
  const auto expect_called = [&](const std::string& name, const std::string& content,
                                 const char* what) {
    const auto error = test::failure_of([&] { format_of(folder.write(name, content)); });
    EXPECT_EQ(error.code(), failure_code::bad_data) << name;
    EXPECT_FALSE(error.hint().empty());
    EXPECT_TRUE(test::contains(error.reason(), what)) << name;
  };
  for (const std::string name : {"rows", "rows.csv"}) {
    expect_called(name, "PK\3\4\x14", "a zip file");
    expect_called(name, "PAR1\x15", "a Parquet file");
    expect_called(name, "BZh91AY", "bzip2");
    expect_called(name, "<!DOCTYPE html>", "a web page");
  }
  expect_called("rows.json", "[{\"a\": 1}]", "JSON");
  EXPECT_NO_THROW(format_of(folder.write("rows.csv", "[x],y\n1,2\n")));
}

TEST(read_data, what_the_caller_says_counts_more) {
  temporary_folder folder;
  read_options options;
  options.format = file_format::libsvm;
  options.libsvm.index_base = 0;
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

using texts = std::vector<std::string>;
using numbers = std::vector<uint32_t>;

read_options by_column(const std::string& name, const std::string& target = "last") {
  read_options result;
  result.client = name;
  result.target = target;
  return result;
}

TEST(client_column, names_clients_and_is_no_feature) {
  temporary_folder folder;
  const auto path =
    folder.write("rows.csv", "a,user,b,y\n1,zoe,2,x\n3,\"bob, jr\",4,y\n5,zoe,6,x\n");
  const auto found = read_data(path, by_column("user"));
  EXPECT_EQ(found.feature_names, (texts{"a", "b"}));
  EXPECT_EQ(found.feature_count, 2u);
  EXPECT_EQ(found.features, (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(found.target_cells, (texts{"x", "y", "x"}));
  EXPECT_EQ(found.client_names, (texts{"bob, jr", "zoe"})) << "sorted";
  EXPECT_EQ(found.clients, (numbers{1, 0, 1}));
  // A number is a name too, before or behind the target, and may be named by its index.
  const auto plain = folder.write("plain.csv", "7,1,10\n7,2,20\n3,3,30\n");
  const auto by_number = read_data(plain, by_column("0"));
  EXPECT_EQ(by_number.client_names, (texts{"3", "7"}));
  EXPECT_EQ(by_number.clients, (numbers{1, 1, 0}));
  EXPECT_EQ(by_number.target_numbers, (std::vector<double>{10, 20, 30}));
  EXPECT_EQ(read_data(plain, by_column("2", "1")).clients, (numbers{0, 1, 2}));
}

TEST(client_column, goes_with_its_rows_into_all_parts) {
  temporary_folder folder;
  std::string text = "user,x,y\n";
  for (int i = 0; i < 200; ++i)
    text +=
      "u" + std::to_string(i % 7) + "," + std::to_string(i) + "," + std::to_string(i % 7) + ".5\n";
  auto rows =
    to_dataset(read_data(folder.write("rows.csv", text), by_column("user")), target_use::numbers);
  const auto print = content_fingerprint(rows);
  auto other = rows;
  other.clients[5] = 0;
  EXPECT_NE(content_fingerprint(other), print) << "whose a row is decides what is trained";
  const auto data = prepare(std::move(rows), {3, {0.25, 0.1}, false});
  for (const auto* part : {&data.train, &data.test, &data.validation}) {
    ASSERT_EQ(part->clients.size(), part->row_count);
    for (size_t i = 0; i < part->row_count; ++i)
      EXPECT_EQ(static_cast<float>(part->clients[i]) + 0.5f, part->targets[i]);
  }
  EXPECT_EQ(data.train.client_names.size(), 7u);
}

TEST(client_column, of_a_file_to_test_on_means_the_same_clients) {
  temporary_folder folder;
  const auto read = [&](const std::string& name, const std::string& text) {
    return to_dataset(read_data(folder.write(name, text), by_column("user")), target_use::numbers);
  };
  auto data = prepare(read("rows.csv", "user,x,y\nb,1,1\nd,2,2\nb,3,3\n"), {});
  add_given_rows(row_part::test, read("test.csv", "user,x,y\nd,1,1\na,2,2\nc,3,3\nb,4,4\na,5,5\n"),
                 "test.csv", data);
  EXPECT_EQ(data.train.clients, (numbers{0, 1, 0}));
  EXPECT_EQ(data.test.clients[0], 1u);
  EXPECT_EQ(data.test.clients[3], 0u);
  EXPECT_GE(data.test.clients[1], 2u) << "nobody trains on rows of a";
  EXPECT_EQ(data.test.clients[1], data.test.clients[4]);
  EXPECT_NE(data.test.clients[1], data.test.clients[2]);
}

TEST(client_column, that_cannot_be_is_refused) {
  temporary_folder folder;
  const auto path = folder.write("rows.csv", "user,x,y\nb,1,1\nd,2,2\n");
  const auto reason = [&](const std::string& file, const std::string& column) {
    return test::failure_of([&] { read_data(file, by_column(column)); }).reason();
  };
  EXPECT_EQ(reason(path, "usr"), "there is no column 'usr'");
  EXPECT_EQ(reason(path, "y"), "the column 'y' is the target: it names no clients");
  EXPECT_EQ(reason(folder.write("two.csv", "user,y\na,1\n"), "user"),
            "the file has a target, and a column of clients, but no feature");
  EXPECT_TRUE(test::contains(reason(folder.write("rows.svm", "1 1:2\n"), "user"), "no CSV file"));
}

TEST(client_files, are_a_client_each_in_order_of_their_names) {
  temporary_folder folder;
  folder.write("b.csv", "x,y\n1,10\n2,20\n");
  folder.write("a.csv", "x,y\n3,30\n");
  folder.write("ab.csv", "x,y\n4,40\n5,50\n");
  folder.write(".hidden.csv", "no table");
  folder.write("notes.txt", "no table");
  const auto pattern = (std::filesystem::path{folder.path()} / "*.csv").string();
  const auto found = read_client_files(pattern, {});
  EXPECT_EQ(found.client_names, (texts{"a.csv", "ab.csv", "b.csv"}));
  EXPECT_EQ(found.clients, (numbers{0, 1, 1, 2, 2}));
  EXPECT_EQ(found.row_count, 5u);
  EXPECT_EQ(found.features, (std::vector<float>{3, 4, 5, 1, 2}));
  EXPECT_EQ(found.target_numbers, (std::vector<double>{30, 40, 50, 10, 20}));
  const auto single = (std::filesystem::path{folder.path()} / "?.csv").string();
  EXPECT_EQ(matching_files(single).size(), 2u);
}

TEST(client_files, that_do_not_go_together_are_refused_by_name) {
  temporary_folder folder;
  const auto pattern = (std::filesystem::path{folder.path()} / "*.csv").string();
  EXPECT_EQ(test::failure_of([&] { read_client_files(pattern, {}); }).code(),
            failure_code::missing_input);
  folder.write("a.csv", "x,y\n3,30\n");
  const auto odd = folder.write("b.csv", "z,y\n3,30\n");
  const auto refused = test::failure_of([&] { read_client_files(pattern, {}); });
  EXPECT_EQ(refused.code(), failure_code::bad_data);
  EXPECT_EQ(refused.where(), odd);
  // Text among numbers is of the file that has it.
  folder.write("b.csv", "x,y\n1,2\n3,much\n");
  EXPECT_EQ(test::failure_of([&] {
              to_dataset(read_client_files(pattern, {}), target_use::numbers);
            }).where(),
            odd + ":3");
  folder.write("c.csv", "x,y\n1,2\n");
  EXPECT_EQ(to_dataset(read_client_files(pattern, {}), target_use::labels).classes.size(), 3u);
}

TEST(client_files, of_texts_are_refused_because_each_has_a_vocabulary_of_its_own) {
  temporary_folder folder;
  folder.write("a.csv", "abab");
  read_options options;
  options.format = file_format::text;
  options.text.window = 1;
  const auto pattern = (std::filesystem::path{folder.path()} / "*.csv").string();
  const auto error = test::failure_of([&] { read_client_files(pattern, options); });
  EXPECT_TRUE(test::contains(error.reason(), "vocabulary"));
}

} // namespace
} // namespace troupe::read_data_test
