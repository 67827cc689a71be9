#include "data/training_rows/row_source.hpp"

#include "data/rows_file/rows_file.hpp"
#include "data/rows_file/rows_writer.hpp"
#include "data/text/failure.hpp"
#include "data/training_rows/part_choice.hpp"
#include "data/training_rows/stored_source.hpp"
#include "data/training_rows/synthetic.hpp"
#include "models/base/random.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace troupe::row_source_test {
namespace {

synthetic_options some_rows(size_t rows) {
  return {.rows = rows, .features = 5};
}

// The rule as it is written: sort all keys.
std::vector<row_part> parts_by_sorting(uint64_t seed, size_t row_count, const part_sizes& sizes) {
  std::vector<std::pair<uint64_t, size_t>> keys;
  for (size_t i = 0; i < row_count; ++i) {
    const auto words =
      random_sequence{seed, random_purpose::split, 0}.block(static_cast<uint32_t>(i));
    keys.emplace_back(uint64_t{words[1]} << 32 | words[0], i);
  }
  std::ranges::sort(keys);
  std::vector<row_part> result(row_count, row_part::train);
  for (size_t i = 0; i < sizes.test + sizes.validation; ++i)
    result[keys[i].second] = i < sizes.test ? row_part::test : row_part::validation;
  return result;
}

TEST(part_choice, takes_the_smallest_keys_for_testing_and_the_next_for_validation) {
  for (const size_t row_count : {2, 10, 1000, 200'000})
    for (const part_sizes sizes :
         {part_sizes{0, 0}, part_sizes{1, 0}, part_sizes{0, 1},
          part_sizes{row_count / 3, row_count / 4}, part_sizes{row_count - 1, 0}}) {
      const part_choice choice{7, row_count, sizes};
      const auto expected = parts_by_sorting(7, row_count, sizes);
      for (size_t i = 0; i < row_count; ++i)
        ASSERT_EQ(choice.of(i), expected[i]) << row_count << " rows, row " << i;
    }
}

// Enough rows that memory is given back on the way.
TEST(split, moves_each_row_to_its_part_in_order) {
  const size_t row_count = 700'000;
  const part_sizes sizes{row_count / 5, row_count / 10};
  const auto source = make_regression(some_rows(row_count), 3);
  const part_choice choice{1, row_count, sizes};
  dataset train = source, test, validation;
  split(
    train, sizes, [&](size_t row) { return choice.of(row); }, test, validation);
  size_t at[3] = {};
  const dataset* parts[] = {&train, &test, &validation};
  for (size_t i = 0; i < row_count; ++i) {
    const auto part = static_cast<size_t>(choice.of(i));
    const auto row = at[part]++;
    ASSERT_TRUE(std::ranges::equal(parts[part]->row(row), source.row(i))) << i;
    ASSERT_EQ(parts[part]->targets[row], source.targets[i]) << i;
  }
  for (size_t part = 0; part < 3; ++part) {
    EXPECT_EQ(parts[part]->row_count, at[part]);
    EXPECT_EQ(parts[part]->features.size(), at[part] * 5);
    EXPECT_EQ(parts[part]->feature_names, source.feature_names);
  }
}

TEST(rows_in_memory, may_be_told_which_rows_are_next_whatever_they_are) {
  auto dense = std::make_shared<dataset>(make_regression(some_rows(3000), 3));
  auto wide = std::make_shared<dataset>(*dense);
  wide->row_count = 3;
  wide->feature_count = 5000;
  auto sparse = std::make_shared<dataset>(*dense);
  sparse->features.clear();
  sparse->sparse.starts.assign(3001, 0);
  for (const auto& rows : {dense, wide, sparse}) {
    const rows_in_memory source{rows};
    std::vector<uint32_t> all(rows->row_count);
    std::iota(all.begin(), all.end(), 0u);
    source.expect(all);
    source.expect({});
    batch_reader reader;
    const auto found = source.gather(all, reader);
    EXPECT_EQ(found.row_count, rows->row_count);
    EXPECT_TRUE(std::ranges::equal(found.targets, std::span{rows->targets}.first(rows->row_count)));
  }
}

TEST(rows_in_memory, gives_the_same_bits_for_ranges_and_gathered_rows) {
  const auto data = std::make_shared<const prepared_data>(
    prepare(make_classification(some_rows(50), 3), {3, {0.2, 0.1}, true}));
  const auto rows = rows_of(data);
  EXPECT_EQ(rows.train->row_count(), 35u);
  EXPECT_EQ(rows.test->row_count(), 10u);
  EXPECT_EQ(rows.validation->row_count(), 5u);
  batch_reader one, other;
  const std::vector<uint32_t> ids{3, 4, 5, 6};
  const auto range = rows.train->range(3, 4, one);
  const auto gathered = rows.train->gather(ids, other);
  EXPECT_TRUE(std::ranges::equal(range.features, gathered.features));
  EXPECT_TRUE(std::ranges::equal(range.labels, gathered.labels));
  for (size_t i = 0; i < 4; ++i)
    EXPECT_EQ(range.row_number(i), gathered.row_number(i));
  EXPECT_TRUE(rows.test->range(10, 0, one).features.empty());
  EXPECT_TRUE(gathered.weights.empty());
}

// Whoever owns them, rows of every part have the same bits, and lent ones stay as they are.
TEST(rows_in_memory, are_the_same_when_they_are_lent) {
  const auto owned = make_classification(some_rows(50), 3);
  auto borrowing = owned;
  borrowing.features = {};
  borrowing.lent.values = owned.features;
  for (const auto& options :
       {prepare_options{3, {0.2, 0.1}, true}, prepare_options{3, {0.2, 0.1}, false},
        prepare_options{3, {}, true}, prepare_options{3, {}, false},
        prepare_options{3, {0.2, 0.1}, true, 8}}) {
    const auto data = std::make_shared<const prepared_data>(prepare(dataset{owned}, options));
    const auto lent = std::make_shared<const prepared_data>(prepare(dataset{borrowing}, options));
    EXPECT_EQ(lent->fingerprint, data->fingerprint);
    EXPECT_EQ(lent->features, data->features);
    EXPECT_EQ(lent->train.features.empty(), options.chunk_rows == 0);
    const auto expected = rows_of(data), found = rows_of(lent);
    for (const auto part : {&row_parts::train, &row_parts::test, &row_parts::validation}) {
      const auto& wanted = *(expected.*part);
      const auto& given = *(found.*part);
      ASSERT_EQ(given.row_count(), wanted.row_count());
      batch_reader one, other;
      const auto all = given.range(0, wanted.row_count(), one);
      EXPECT_TRUE(std::ranges::equal(all.features, wanted.range(0, all.row_count, other).features));
      for (size_t i = 0; i < all.row_count; ++i)
        EXPECT_EQ(all.row_number(i), i);
      std::vector<uint32_t> last(wanted.row_count() / 2);
      std::iota(last.rbegin(), last.rend(),
                static_cast<uint32_t>(wanted.row_count() - last.size()));
      given.expect(last);
      const auto some = given.gather(last, one);
      const auto same = wanted.gather(last, other);
      EXPECT_TRUE(std::ranges::equal(some.features, same.features));
      EXPECT_TRUE(std::ranges::equal(some.labels, same.labels));
    }
  }
  EXPECT_EQ(borrowing.lent.values.size(), 250u);
  EXPECT_TRUE(
    std::ranges::equal(borrowing.lent.values, make_classification(some_rows(50), 3).features));
}

TEST(rows_in_memory, a_rows_weight_goes_wherever_it_goes) {
  auto source = make_regression(some_rows(50), 3);
  for (const auto target : source.targets)
    source.weights.push_back(std::abs(target));
  const auto data =
    std::make_shared<const prepared_data>(prepare(std::move(source), {3, {0.2, 0.1}, false}));
  const auto rows = rows_of(data);
  batch_reader one, other, both;
  const std::vector<uint32_t> ids{7, 4, 30};
  for (const auto& part : {rows.train->range(3, 4, one), rows.train->gather(ids, other),
                           rows.test->range(0, 10, one), rows.validation->range(1, 4, one)}) {
    ASSERT_EQ(part.weights.size(), part.row_count);
    for (size_t i = 0; i < part.row_count; ++i)
      EXPECT_EQ(part.weights[i], std::abs(part.targets[i]));
  }
  const std::vector<batch> parts{rows.train->range(3, 4, one), rows.train->gather(ids, other)};
  const auto joined = both.join(parts);
  ASSERT_EQ(joined.weights.size(), 7u);
  for (size_t i = 0; i < 7; ++i)
    EXPECT_EQ(joined.weights[i], std::abs(joined.targets[i]));
}

TEST(prepare, weights_and_groups_are_part_of_the_content) {
  const auto plain = make_regression(some_rows(20), 3);
  auto weighted = plain, heavier = plain, grouped = plain;
  weighted.weights.assign(20, 1);
  heavier.weights.assign(20, 2);
  grouped.groups.assign(20, 0);
  grouped.group_names = {"a"};
  std::vector<std::string> found;
  for (const auto& source : {plain, weighted, heavier, grouped})
    found.push_back(content_fingerprint(source));
  grouped.group_names = {"b"};
  found.push_back(content_fingerprint(grouped));
  std::ranges::sort(found);
  EXPECT_EQ(std::ranges::adjacent_find(found), found.end());
}

TEST(prepare, a_careful_split_says_which_rows_of_the_source_train) {
  auto source = make_classification(some_rows(60), 3);
  const auto all = source;
  const auto found = prepare(std::move(source), {3, {0.2, 0.1, true}, false});
  ASSERT_TRUE(found.source_rows);
  ASSERT_EQ(found.source_rows->size(), found.train.row_count);
  for (size_t i = 0; i < found.train.row_count; ++i)
    EXPECT_TRUE(std::ranges::equal(found.train.row(i), all.row((*found.source_rows)[i])));
  EXPECT_FALSE(prepare(dataset{all}, {3, {0.2}, false}).source_rows) << "the numbers alone decide";
}

dataset some_rows(bool labelled) {
  auto options = some_rows(size_t{203});
  options.targets = 2;
  return labelled ? make_classification(options, 3) : make_regression(options, 3);
}

void expect_same(const batch& a, const batch& b) {
  ASSERT_EQ(a.row_count, b.row_count);
  EXPECT_TRUE(std::ranges::equal(a.features, b.features));
  EXPECT_TRUE(std::ranges::equal(a.labels, b.labels));
  EXPECT_TRUE(std::ranges::equal(a.targets, b.targets));
  for (size_t i = 0; i < a.row_count; ++i)
    EXPECT_EQ(a.row_number(i), b.row_number(i));
}

TEST(chunk_split, gives_exactly_its_rows_for_testing_and_validation) {
  for (const size_t row_count : {10, 99, 1000})
    for (const size_t chunk_rows : {1, 3, 64, 5000})
      for (const part_options fractions : {part_options{0, 0}, part_options{0.5, 0.4},
                                           part_options{0.29, 0}, part_options{0, 0.3}}) {
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
      prepare_options options{5, {kept, kept / 2}, true, 16, target_scale_kind::asinh};
      const auto in_memory =
        std::make_shared<const prepared_data>(prepare(dataset{source}, options));
      const auto in_file = std::make_shared<const prepared_data>(
        prepare_stored(std::make_shared<rows_file>(path), options));
      EXPECT_EQ(in_file->features, in_memory->features) << "standardised by the same bits";
      EXPECT_EQ(in_file->scale, in_memory->scale);
      EXPECT_EQ(in_file->scale.is_none(), labelled);
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
  const auto data = std::make_shared<const prepared_data>(
    prepare_stored(std::make_shared<rows_file>(path), {1, 0, false, 0, 16}));
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

} // namespace
} // namespace troupe::row_source_test
