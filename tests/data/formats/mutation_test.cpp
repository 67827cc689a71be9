// Hostile files: thousands of seeded mutations of good ones. A reader either reads the result or
// throws failure; any other end of it (another exception, a crash, a sanitizer's report) is a
// fault.

#include "data/formats/arrays/read_array.hpp"
#include "data/formats/csv/csv.hpp"
#include "data/formats/libsvm/libsvm.hpp"
#include "data/model_file/safetensors.hpp"
#include "data/text/failure.hpp"
#include "tests/support/gzip_text.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::mutation_test {
namespace {

/// Bytes that mean something to one of the formats.
constexpr std::string_view
  telling_bytes("\0\x01\x7f\x80\xff\"\n\r,;{}[]:0919-+.eEn\\ \t\xef\xbb\xbf", 31);

/// Makes mutations; the same seed makes the same ones. mt19937 is the same everywhere, the
/// standard's distributions are not.
class mutator {
public:
  explicit mutator(uint32_t seed) : generator_(seed) {}

  std::string mutate(std::string text) {
    for (auto count = 1 + below(4); count > 0; --count)
      change(text);
    return text;
  }

private:
  size_t below(size_t limit) { return generator_() % limit; }
  char any_byte() {
    return below(4) ? telling_bytes[below(telling_bytes.size())] : static_cast<char>(below(256));
  }

  void change(std::string& text) {
    auto at = below(text.size() + 1), length = 1 + below(16);
    switch (below(6)) {
    case 0:
      text.insert(at, 1, any_byte());
      break;
    case 1:
      text.erase(at, length);
      break;
    case 2:
      text.insert(at, text.substr(below(text.size() + 1), length));
      break;
    case 3:
      if (below(8) == 0)
        text.resize(at);
      break;
    default:
      if (at < text.size())
        text[at] = any_byte();
    }
  }

  std::mt19937 generator_;
};

/// Reads `count` mutations of `good`; `read` is given the path. More than `least_read` of them have to be read, and
/// more than `least_refused` refused.
void expect_read_or_refused(const std::string& good, uint32_t count, size_t least_read,
                            size_t least_refused,
                            const std::function<void(const std::string&)>& read) {
  temporary_folder folder;
  size_t read_count = 0, refused_count = 0;
  for (uint32_t seed = 0; seed < count; ++seed) {
    auto path = folder.write("mutated", mutator(seed).mutate(good));
    try {
      read(path);
      ++read_count;
    } catch (const failure& error) {
      EXPECT_TRUE(error.where().starts_with(path)) << "seed " << seed << ": " << error.what();
      ++refused_count;
    } catch (const std::exception& error) {
      ADD_FAILURE() << "seed " << seed << ": " << error.what();
    }
  }
  EXPECT_GT(read_count, least_read);
  EXPECT_GT(refused_count, least_refused);
}

void check(const table& rows) {
  EXPECT_EQ(rows.features.size(), rows.row_count * rows.feature_count);
  EXPECT_EQ(rows.target_cells.size(), rows.row_count);
  EXPECT_EQ(rows.feature_names.size(), rows.feature_count);
}

void read_table(const std::string& path) {
  check(read_csv(path));
}

TEST(mutation, csv_files_are_read_or_refused) {
  expect_read_or_refused("a,\"b\"\"1\",c\r\n1,2.5,\"x\ny\"\n-3e2,+.5, z \n4,5,x\n\n", 4000, 100,
                         1000, read_table);
  expect_read_or_refused(gzip_text("a,b\n1,2\n3,4\n") + gzip_text("5,6\n7,8\n"), 2000, 0, 1000,
                         read_table);
}

TEST(mutation, csv_files_with_a_plan_are_read_or_refused) {
  csv_options options;
  options.categorical = {"0"};
  options.date = {"1"};
  options.missing = missing_rule::mean;
  options.categories_max = 3;
  options.dialect = {';', '"', ',', '#', 1};
  expect_read_or_refused(
    "notes\nb;when;x;y\n# c\nu;2024-02-29;1,5;1\n\"v\";;2;2\nu;1999-12-31;;3\n", 4000, 100, 500,
    [&](const std::string& path) { check(read_csv(path, options)); });
}

TEST(mutation, libsvm_files_are_read_or_refused) {
  expect_read_or_refused("+1 1:0.5 3:-2 # x\n# y\n-1\n+1 2:1e2 7:.5\r\n2 1:1\n", 4000, 100, 1000,
                         [](const std::string& path) { check(read_libsvm(path)); });
}

TEST(mutation, idx_files_are_read_or_refused) {
  temporary_folder folder;
  const auto labels = folder.write("labels", std::string("\0\0\x08\1\0\0\0\2\7\3", 10));
  const std::string images("\0\0\x08\3\0\0\0\2\0\0\0\2\0\0\0\2\1\2\3\4\xff\0\0\x80", 24);
  for (const auto& content : {images, gzip_text(images)})
    expect_read_or_refused(content, 3000, 10, 1000,
                           [&](const std::string& path) { check(read_array(path, {labels})); });
}

TEST(mutation, npy_files_are_read_or_refused) {
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }\n";
  const std::string values("\0\0\x80\x3f\0\0\0\xc0\0\0\0\0\xcd\xcc\xcc\x3d", 16);
  const auto file =
    std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size()) + '\0' + header + values;
  for (const auto& content : {file, gzip_text(file)})
    expect_read_or_refused(content, 4000, 100, 1000,
                           [](const std::string& path) { check(read_array(path)); });
}

TEST(mutation, safetensors_files_are_read_or_refused) {
  temporary_folder folder;
  parameter_layout layout;
  layout.add("w", {2, 3});
  layout.add("b", {2});
  std::vector<float> values(layout.size(), 1.0f);
  write_safetensors(folder.path("good"), layout, values, {{"kind", "net"}, {"classes", "a b"}});
  expect_read_or_refused(folder.read("good"), 4000, 100, 1000, [](const std::string& path) {
    auto file = read_safetensors(path);
    EXPECT_EQ(file.values.size(), file.layout.size());
  });
}

} // namespace
} // namespace troupe::mutation_test
