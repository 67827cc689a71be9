#include "data/training_rows/stored_source.hpp"

#include "data/rows_file/rows_reader.hpp"
#include "data/rows_file/rows_writer.hpp"
#include "data/text/failure.hpp"
#include "data/training_rows/synthetic.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace troupe::stored_source_test {

namespace {

dataset some_rows(bool labelled) {
  synthetic_options options;
  options.seed = 3;
  options.rows = 203;
  options.features = 5;
  options.targets = 2;
  return labelled ? make_classification(options) : make_regression(options);
}

void expect_same(const batch& a, const batch& b) {
  ASSERT_EQ(a.row_count, b.row_count);
  EXPECT_TRUE(std::ranges::equal(a.features, b.features));
  EXPECT_TRUE(std::ranges::equal(a.labels, b.labels));
  EXPECT_TRUE(std::ranges::equal(a.targets, b.targets));
  for (size_t i = 0; i < a.row_count; ++i)
    EXPECT_EQ(a.row_number(i), b.row_number(i));
}

} // namespace

TEST(chunk_split, gives_exactly_its_rows_for_testing_and_validation) {
  for (const size_t row_count : {10, 99, 1000})
    for (const size_t chunk_rows : {1, 3, 64, 5000})
      for (const part_fractions fractions : {part_fractions{0, 0}, part_fractions{0.5, 0.4},
                                             part_fractions{0.29, 0}, part_fractions{0, 0.3}}) {
        const chunk_split split{7, row_count, chunk_rows, fractions};
        size_t counts[3] = {};
        for (size_t chunk = 0; chunk < split.chunk_count(); ++chunk) {
          for (const auto part : {row_part::train, row_part::test, row_part::validation})
            ASSERT_EQ(split.begins_of(part)[chunk], counts[static_cast<size_t>(part)]);
          for (const auto part : split.parts_of(chunk))
            ++counts[static_cast<size_t>(part)];
        }
        const auto sizes = sizes_of_parts(row_count, fractions);
        EXPECT_EQ(counts[1], sizes.test);
        EXPECT_EQ(counts[2], sizes.validation);
        EXPECT_EQ(counts[0], row_count - sizes.test - sizes.validation);
      }
}

// Prepared in memory, in chunks, and in the file: the same rows, bit for bit, whatever is asked for.
TEST(stored_source, gives_the_rows_that_are_in_memory) {
  const temporary_folder folder;
  for (const bool labelled : {true, false})
    for (const double kept : {0.0, 0.2}) {
      const auto source = some_rows(labelled);
      const auto path = folder.path("rows");
      write_rows(path, source, 16);
      prepare_options options{5, kept, true, kept / 2, 16};
      const auto in_memory =
        std::make_shared<const prepared_data>(prepare(dataset{source}, options));
      const auto in_file =
        std::make_shared<const prepared_data>(prepare_stored(rows_file{path}, options));
      EXPECT_EQ(in_file->features, in_memory->features) << "standardised by the same bits";
      EXPECT_EQ(in_file->chunk_begins, in_memory->chunk_begins);
      EXPECT_EQ(in_file->test.labels, in_memory->test.labels);
      EXPECT_EQ(in_file->validation.targets, in_memory->validation.targets);
      const auto memory = rows_of(in_memory), file = rows_of(in_file);
      const std::pair<const row_source*, const row_source*> parts[] = {
        {memory.train.get(), file.train.get()},
        {memory.test.get(), file.test.get()},
        {memory.validation.get(), file.validation.get()}};
      std::mt19937 random{1};
      batch_reader one, other;
      for (const auto& [a, b] : parts) {
        ASSERT_EQ(a->row_count(), b->row_count());
        expect_same(a->range(0, a->row_count(), one), b->range(0, a->row_count(), other));
        if (a->row_count() == 0)
          continue;
        std::vector<uint32_t> ids(50);
        for (auto& id : ids)
          id = static_cast<uint32_t>(random() % a->row_count());
        expect_same(a->gather(ids, one), b->gather(ids, other));
      }
      const auto& begins = in_memory->chunk_begins;
      const std::vector<uint32_t> chunks{9, 2, 12};
      const auto window = file.train->window(chunks);
      ASSERT_TRUE(window);
      std::vector<uint32_t> ids;
      for (const auto chunk : chunks)
        for (auto row = begins[chunk]; row < begins[chunk + 1]; ++row)
          ids.push_back(static_cast<uint32_t>(row));
      expect_same(memory.train->gather(ids, one), window->gather(ids, other));
    }
}

TEST(stored_source, damage_is_told_to_all_who_want_the_chunk) {
  const temporary_folder folder;
  const auto path = folder.path("rows");
  write_rows(path, some_rows(true), 16);
  const auto data =
    std::make_shared<const prepared_data>(prepare_stored(rows_file{path}, {1, 0, false, 0, 16}));
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  const auto rows = rows_of(data);
  const std::vector<uint32_t> last{12}, ids{200};
  const auto window = rows.train->window(last);
  batch_reader reader;
  EXPECT_THROW(window->gather(ids, reader), failure);
  EXPECT_THROW(window->gather(ids, reader), failure);
  EXPECT_NO_THROW(rows.train->range(0, 16, reader));
}

TEST(chunk_split, training_rows_are_found_again_among_all) {
  const chunk_split split{5, 107, 10, {0.2, 0.1}};
  std::vector<size_t> expected, numbers;
  for (size_t chunk = 0; chunk < split.chunk_count(); ++chunk) {
    const auto parts = split.parts_of(chunk);
    for (size_t i = 0; i < parts.size(); ++i)
      if (parts[i] == row_part::train)
        expected.push_back(10 * chunk + i);
  }
  for (size_t i = 0; i < expected.size(); ++i)
    numbers.push_back(i);
  EXPECT_EQ(split.source_rows(numbers), expected);
  EXPECT_EQ(split.source_rows(std::vector<size_t>{7, 0}),
            (std::vector<size_t>{expected[7], expected[0]}));
}

} // namespace troupe::stored_source_test
