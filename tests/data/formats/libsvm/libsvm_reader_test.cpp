// The part-by-part reader of libsvm files: the same rows and complaints as the reader of whole
// files.

#include "troupe/data/formats/libsvm/libsvm_reader.hpp"

#include "troupe/data/formats/libsvm/libsvm.hpp"
#include "troupe/data/text/failure.hpp"
#include "troupe/tests/support/joined_rows.hpp"
#include "troupe/tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace troupe::libsvm_reader_test {

namespace {

std::string place_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const failure& error) {
    EXPECT_EQ(error.code(), failure_code::bad_data);
    return error.where().substr(error.where().rfind('/') + 1) + " " + error.reason();
  }
  return "accepted";
}

} // namespace

TEST(libsvm_reader, parts_are_the_rows_of_the_whole_whatever_their_size) {
  std::string text = "# a comment\n";
  for (int i = 0; i < 50; ++i)
    text += "class" + std::to_string(i % 3) + " 2:" + std::to_string(i * 0.25) +
            (i % 2 ? " 5:1\n" : "\n");
  const temporary_folder folder;
  const auto path = folder.write("rows.svm", text);
  for (size_t base : {0, 1}) {
    const auto whole = read_libsvm(path, {.index_base = base});
    for (size_t rows_max : {1, 7, 50, 1000}) {
      libsvm_reader reader(path, base, whole.feature_count);
      const auto all = test::joined_rows(reader, rows_max);
      EXPECT_EQ(all.features, whole.features);
      EXPECT_EQ(all.target_cells, whole.target_cells);
      EXPECT_EQ(all.lines.front(), 2u);
      EXPECT_EQ(all.lines.back(), 51u);
      EXPECT_EQ(reader.feature_names(), whole.feature_names);
      EXPECT_EQ(reader.column_names().back(), whole.target_name);
    }
  }
}

TEST(libsvm_reader, sparse_parts_are_the_sparse_rows_of_the_whole) {
  const temporary_folder folder;
  const auto path = folder.write("rows.svm", "1 1:5 9:2\n2\n1 2:1\n2 9:4\n");
  for (const size_t bits : {0, 4}) {
    libsvm_options options;
    options.form = row_form::sparse;
    options.hash_bits = bits;
    const auto whole = read_libsvm(path, options);
    libsvm_reader reader(path, 1, whole.feature_count, {true, bits});
    EXPECT_EQ(reader.column_names(), (std::vector<std::string>{"label"}));
    table_chunk rows;
    sparse_matrix all{{0}, {}, {}};
    while (reader.next(rows, 3)) {
      EXPECT_TRUE(rows.features.empty());
      EXPECT_EQ(rows.rows().sparse.row_count(), rows.row_count);
      for (size_t i = 1; i < rows.sparse.starts.size(); ++i)
        all.starts.push_back(all.features.size() + rows.sparse.starts[i]);
      all.features.insert(all.features.end(), rows.sparse.features.begin(),
                          rows.sparse.features.end());
      all.values.insert(all.values.end(), rows.sparse.values.begin(), rows.sparse.values.end());
    }
    EXPECT_EQ(all, whole.sparse);
  }
}

TEST(libsvm_reader, rows_have_as_many_features_as_the_model_takes) {
  const temporary_folder folder;
  libsvm_reader reader(folder.write("rows.svm", "1 1:5\n2 2:1\n3 4:1\n"), 1, 3);
  table_chunk rows;
  ASSERT_TRUE(reader.next(rows, 2));
  EXPECT_EQ(rows.features, (std::vector<float>{5, 0, 0, 0, 1, 0}));
  EXPECT_EQ(place_of([&] { reader.next(rows, 2); }),
            "rows.svm:3:3 the index '4' is too large: there may be 3 features");
}

TEST(libsvm_reader, a_target_is_told_by_its_line) {
  const temporary_folder folder;
  libsvm_reader reader(folder.write("rows.svm", "# none\n1 1:5\n2 2:1\n"), 1, 3);
  table_chunk rows;
  ASSERT_TRUE(reader.next(rows, 2));
  EXPECT_EQ(place_of([&] { reader.fail_at_target(rows, 1, "bad", ""); }), "rows.svm:3 bad");
}

TEST(libsvm_reader, files_without_rows_are_refused) {
  const temporary_folder folder;
  libsvm_reader reader(folder.write("rows.svm", "# none\n"), 1, 3);
  table_chunk rows;
  EXPECT_EQ(place_of([&] { reader.next(rows, 2); }), "rows.svm:1:1 the file is empty");
}

} // namespace troupe::libsvm_reader_test
