// The promise of a checkpoint's file: what was written comes back to the bit, and a file that was
// cut anywhere or in which any bit changed is not loaded.

#include "data/checkpoint/checkpoint_file.hpp"

#include "data/checkpoint/checkpoint_layout.hpp"
#include "data/checkpoint/checkpoint_output.hpp"
#include "data/text/checksum.hpp"
#include "data/text/failure.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/plain_disk.hpp"
#include "tests/support/some_checkpoint.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

namespace troupe::checkpoint_file_test {
namespace {

const std::string path = "folder/file";

// 2.5 chunks a tensor.
constexpr size_t large_count = 5 * checkpoint_chunk_bytes / sizeof(float) / 2;

void write_to(plain_disk& where, const checkpoint& x) {
  where.files.erase(path);
  write_checkpoint(where, path, x);
}

// Why the file is refused; empty when it is loaded.
std::string refusal_of(const plain_disk& where) {
  try {
    checkpoint_file{where, path}.read();
  } catch (const failure& error) {
    EXPECT_EQ(error.code(), failure_code::bad_data);
    EXPECT_EQ(error.where(), path);
    EXPECT_FALSE(error.hint().empty());
    return error.reason();
  }
  return {};
}

TEST(checkpoint_file, what_was_written_comes_back_to_the_bit) {
  plain_disk where;
  for (const size_t count : {size_t{0}, size_t{1}, size_t{16}, large_count})
    for (const size_t slots : {0, 1, 3})
      for (const bool best : {false, true}) {
        const auto x = some_checkpoint(12, {count, slots, best && count > 0, "job"});
        write_to(where, x);
        EXPECT_EQ(where.files[path].size(), checkpoint_file_bytes(x, count));
        EXPECT_TRUE(same(checkpoint_file(where, path).read(), x)) << count << " " << slots;
      }
}

// As it was written before: the record at byte 40, padded, before the tensors.
TEST(checkpoint_file, of_the_first_format_is_read) {
  plain_disk where;
  for (const size_t count : {size_t{0}, size_t{5}, large_count}) {
    const auto x = some_checkpoint(12, {count, 1, count > 5, "job"});
    write_to(where, x);
    auto& bytes = where.files[path];
    uint32_t record_bytes = 0;
    std::memcpy(&record_bytes, bytes.data() + 12, sizeof record_bytes);
    const auto tail = bytes.end() - 24;
    std::vector<std::byte> record(tail - record_bytes, tail);
    record.resize((40 + record.size() + 63) / 64 * 64 - 40);
    std::vector<std::byte> old(bytes.begin(), bytes.begin() + 24);
    old[8] = std::byte{1};
    const auto padded = static_cast<uint32_t>(record.size());
    const uint64_t size = bytes.size() - 24 - record_bytes + record.size();
    std::memcpy(old.data() + 12, &padded, sizeof padded);
    std::memcpy(old.data() + 16, &size, sizeof size);
    auto checked = old;
    checked.insert(checked.end(), record.begin(), record.end());
    const auto start_sum = checksum_of(checked);
    old.insert(old.end(), start_sum.begin(), start_sum.end());
    old.insert(old.end(), record.begin(), record.end());
    old.insert(old.end(), bytes.begin() + 64, tail - record_bytes);
    const auto tensors = static_cast<std::ptrdiff_t>(4 * count * (count > 5 ? 3 : 2));
    checked.assign(start_sum.begin(), start_sum.end());
    checked.insert(checked.end(), bytes.begin() + 64 + tensors, tail - record_bytes);
    const auto end_sum = checksum_of(checked);
    old.insert(old.end(), end_sum.begin(), end_sum.end());
    old.insert(old.end(), bytes.end() - 8, bytes.end());
    bytes = old;
    EXPECT_TRUE(same(checkpoint_file(where, path).read(), x)) << count;
    bytes[70] ^= std::byte{1};
    EXPECT_TRUE(refusal_of(where).starts_with("the checksum of bytes 0 to 24 and 40 to "));
  }
}

TEST(checkpoint_file, doubles_that_are_no_numbers_keep_their_bits) {
  plain_disk where;
  auto x = some_checkpoint(1);
  x.seconds = std::bit_cast<double>(0x7ff8000000000123);
  x.optimizer_numbers = {std::bit_cast<double>(0xfff0000000000000), x.seconds};
  write_to(where, x);
  EXPECT_TRUE(same(checkpoint_file(where, path).read(), x));
}

TEST(checkpoint_file, its_head_is_everything_but_the_tensors) {
  plain_disk where;
  const auto x = some_checkpoint(12, {5, 2, true, "job"});
  write_to(where, x);
  const checkpoint_file file{where, path};
  EXPECT_EQ(file.parameter_count(), 5u);
  EXPECT_EQ(file.slot_count(), 2u);
  EXPECT_TRUE(file.has_best_parameters());
  auto expected = x;
  expected.parameters = expected.best_parameters = {};
  expected.slots.clear();
  EXPECT_TRUE(same(file.head(), expected));
}

TEST(checkpoint_file, tensors_lie_at_multiples_of_64_bytes) {
  plain_disk where;
  auto x = some_checkpoint(12, {16, 0, false, ""});
  for (size_t letters = 0; letters < 70; ++letters) {
    x.job_sha256.assign(letters, 'x');
    write_to(where, x);
    const auto& bytes = where.files[path];
    const auto values = std::as_bytes(x.parameters.values());
    const auto found = std::search(bytes.begin(), bytes.end(), values.begin(), values.end());
    EXPECT_EQ((found - bytes.begin()) % 64, 0) << letters;
    EXPECT_TRUE(same(checkpoint_file(where, path).read(), x));
  }
}

TEST(checkpoint_file, a_range_of_a_tensor_is_that_of_the_whole) {
  plain_disk where;
  const auto x = some_checkpoint(12, {large_count, 1, true, "job"});
  write_to(where, x);
  const auto stored = checkpoint_file{where, path}.contents();
  constexpr size_t chunk = checkpoint_chunk_bytes / sizeof(float);
  const std::pair<size_t, size_t> ranges[] = {
    {0, 0},          {0, 1},         {chunk - 1, 2},       {chunk, chunk},
    {3, 2 * chunk},  {2 * chunk, 5}, {large_count - 1, 1}, {large_count, 0},
    {0, large_count}};
  for (const auto& [first, count] : ranges) {
    std::vector<float> parameters(count), slot(count), best(count);
    stored.parameters.read(first, parameters);
    stored.slots[0].read(first, slot);
    stored.best_parameters.read(first, best);
    const auto equal = [&](const std::vector<float>& a, const stored_tensor& b) {
      const auto part = b.values().subspan(first, count);
      return std::equal(a.begin(), a.end(), part.begin(), part.end());
    };
    EXPECT_TRUE(equal(parameters, x.parameters)) << first << " " << count;
    EXPECT_TRUE(equal(slot, x.slots[0])) << first << " " << count;
    EXPECT_TRUE(equal(best, x.best_parameters)) << first << " " << count;
  }
  std::vector<float> two(2);
  EXPECT_THROW(stored.parameters.read(large_count - 1, two), std::out_of_range);
  EXPECT_THROW(stored.parameters.read(large_count + 1, {}), std::out_of_range);
  EXPECT_EQ(stored.slots.size(), 1u);
  EXPECT_FALSE(stored.parameters.is_in_memory());
}

TEST(checkpoint_file, damage_elsewhere_does_not_stop_a_range_from_being_read) {
  plain_disk where;
  write_to(where, some_checkpoint(12, {large_count, 0, false, "job"}));
  auto& bytes = where.files[path];
  bytes[64 + 4 * large_count - 9] ^= std::byte{1}; // in the third chunk
  const checkpoint_file file{where, path};
  const auto parameters = file.contents().parameters;
  std::vector<float> some(10);
  for (size_t time = 0; time < 2; ++time) {
    EXPECT_NO_THROW(parameters.read(7, some));
    EXPECT_THROW(parameters.read(large_count - 10, some), failure);
  }
  EXPECT_THROW(parameters.whole(), failure);
  EXPECT_THROW(file.verify(), failure);
}

TEST(checkpoint_file, cut_at_any_byte_it_is_not_loaded) {
  plain_disk where;
  write_to(where, some_checkpoint(12));
  const auto whole = where.files[path];
  for (size_t size = 0; size < whole.size(); ++size) {
    where.files[path].assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_NE(refusal_of(where), "") << size;
  }
  where.files[path] = whole;
  where.files[path].push_back(std::byte{0});
  EXPECT_NE(refusal_of(where), "") << "a byte too many";
}

TEST(checkpoint_file, with_any_bit_flipped_it_is_not_loaded) {
  plain_disk where;
  write_to(where, some_checkpoint(12));
  auto& bytes = where.files[path];
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    const auto mask = std::byte{1} << (bit % 8);
    bytes[bit / 8] ^= mask;
    EXPECT_NE(refusal_of(where), "") << "bit " << bit;
    bytes[bit / 8] ^= mask;
  }
  EXPECT_EQ(refusal_of(where), "");
}

TEST(checkpoint_file, a_large_one_with_a_bit_flipped_is_not_loaded) {
  plain_disk where;
  write_to(where, some_checkpoint(12, {large_count, 1, true, "job"}));
  auto& bytes = where.files[path];
  std::mt19937_64 random{7};
  for (int i = 0; i < 100; ++i) {
    const auto bit = random() % (8 * bytes.size());
    const auto mask = std::byte{1} << (bit % 8);
    bytes[bit / 8] ^= mask;
    EXPECT_NE(refusal_of(where), "") << "bit " << bit;
    bytes[bit / 8] ^= mask;
  }
}

TEST(checkpoint_file, the_end_of_another_one_does_not_fit) {
  plain_disk where;
  write_to(where, some_checkpoint(12));
  const auto one = where.files[path];
  write_to(where, some_checkpoint(13));
  auto& other = where.files[path];
  ASSERT_EQ(one.size(), other.size());
  for (size_t half = 1; half < one.size(); half += 3) {
    auto mixed = one;
    std::copy(other.begin() + static_cast<std::ptrdiff_t>(half), other.end(),
              mixed.begin() + static_cast<std::ptrdiff_t>(half));
    if (mixed == one || mixed == other)
      continue;
    const auto kept = std::exchange(other, mixed);
    EXPECT_NE(refusal_of(where), "") << half;
    other = kept;
  }
}

TEST(checkpoint_file, the_reason_names_the_byte) {
  plain_disk where;
  write_to(where, some_checkpoint(12, {large_count, 1, false, "job"}));
  auto& bytes = where.files[path];
  const auto reason_with_flip = [&](size_t byte) {
    bytes[byte] ^= std::byte{4};
    const auto result = refusal_of(where);
    bytes[byte] ^= std::byte{4};
    return result;
  };
  EXPECT_EQ(reason_with_flip(1), "it is no checkpoint: byte 0 does not begin with TROUPECP");
  EXPECT_EQ(reason_with_flip(8), "format version 6 at byte 8; this program reads 1 and 2");
  EXPECT_TRUE(reason_with_flip(16).ends_with(std::to_string(bytes.size() ^ 4)));
  EXPECT_TRUE(reason_with_flip(30).starts_with("the checksum of bytes 0 to 24 and "));
  EXPECT_TRUE(
    reason_with_flip(bytes.size() - 30).starts_with("the checksum of bytes 0 to 24 and "));
  EXPECT_EQ(reason_with_flip(60), "bytes 40 to 64 are not zeros");
  EXPECT_TRUE(test::contains(reason_with_flip(bytes.size() - 1), "end mark"));
  const auto table = 64 + 4 * 2 * large_count;
  EXPECT_TRUE(reason_with_flip(bytes.size() - 24).starts_with("the checksum of the checksums"));
  EXPECT_TRUE(reason_with_flip(table).starts_with("the checksum of the checksums"));
  EXPECT_TRUE(reason_with_flip(table - 1).ends_with("(optimizer slot 0) is wrong"));
}

// Somebody's own file, right in all its checksums, that promises more than it holds.
TEST(checkpoint_file, tensors_that_do_not_fill_the_file_are_refused_before_memory_is_asked_for) {
  plain_disk where;
  const auto x = some_checkpoint(12);
  write_to(where, x);
  const auto whole = where.files[path];
  const auto record_bytes = static_cast<size_t>(whole[12]) + 256 * static_cast<size_t>(whole[13]);
  const auto begin = whole.size() - 24 - record_bytes;
  const auto counts = begin + 8 + x.job_sha256.size() + 8 + x.arithmetic.size() + 8 + 8;
  constexpr uint64_t one = 1, none = 0;
  const std::pair<uint64_t, uint64_t> shapes[] = {
    {4, 2},     {6, 2},         {5, 1},     {5, 3},         {one << 40, 2}, {one << 62, 2},
    {5, ~none}, {5, ~none - 1}, {0, ~none}, {0, one << 60}, {0, 2}};
  for (const auto& shape : shapes) {
    auto& bytes = where.files[path] = whole;
    std::memcpy(bytes.data() + counts, &shape.first, 8);
    std::memcpy(bytes.data() + counts + 8, &shape.second, 8);
    std::vector<std::byte> checked(bytes.begin(), bytes.begin() + 24);
    const auto record = std::span(bytes).subspan(begin, record_bytes);
    checked.insert(checked.end(), record.begin(), record.end());
    const auto checksum = checksum_of(checked);
    std::copy(checksum.begin(), checksum.end(), bytes.begin() + 24);
    EXPECT_EQ(refusal_of(where), "the tensors that the record names do not fill the file")
      << shape.first << " x " << shape.second;
  }
}

TEST(checkpoint_file, tensors_of_different_sizes_are_refused) {
  plain_disk where;
  auto x = some_checkpoint(12);
  x.slots[1] = some_tensor(4, 1);
  EXPECT_THROW(write_to(where, x), std::invalid_argument);
  x = some_checkpoint(12);
  x.best_parameters = some_tensor(6, 1);
  EXPECT_THROW(write_to(where, x), std::invalid_argument);
}

TEST(checkpoint_file, a_missing_file_is_told_as_missing) {
  const plain_disk where;
  const auto error = test::failure_of([&] { checkpoint_file{where, path}; });
  EXPECT_EQ(error.code(), failure_code::missing_input);
  EXPECT_EQ(error.where(), path);
}

// Records that were not written by us: whatever stands in them, they are refused with the byte.

std::vector<std::byte> record_of(const checkpoint& x) {
  return checkpoint_record(x, shape_of(x));
}

std::string refusal_of(std::span<const std::byte> bytes) {
  try {
    parse_checkpoint_record(bytes, "file", 40);
  } catch (const failure& error) {
    EXPECT_EQ(error.code(), failure_code::bad_data);
    EXPECT_EQ(error.where(), "file");
    return error.reason();
  }
  return {};
}

TEST(checkpoint_record, what_was_written_is_read) {
  const auto x = some_checkpoint(3, {7, 2, true, "job"});
  const auto found = parse_checkpoint_record(record_of(x), "file", 40);
  EXPECT_EQ(found.shape, (checkpoint_shape{7, 2, true}));
  EXPECT_EQ(found.shape.tensor_count(), 4u);
  auto head = x;
  head.parameters = head.best_parameters = {};
  head.slots.clear();
  EXPECT_TRUE(same(found.head, head));
}

TEST(checkpoint_record, cut_at_any_byte_it_is_refused) {
  const auto whole = record_of(some_checkpoint(3));
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(refusal_of(std::span(whole).first(size)), "") << size;
}

TEST(checkpoint_record, some_zeros_may_follow_and_nothing_else) {
  auto bytes = record_of(some_checkpoint(3));
  bytes.resize(bytes.size() + 63);
  EXPECT_EQ(refusal_of(bytes), "");
  bytes.back() = std::byte{1};
  EXPECT_TRUE(refusal_of(bytes).starts_with("something follows the record (byte "));
  bytes.back() = std::byte{0};
  bytes.push_back(std::byte{0});
  EXPECT_TRUE(refusal_of(bytes).starts_with("something follows the record (byte "));
}

TEST(checkpoint_record, lengths_are_held_against_what_is_there) {
  auto bytes = record_of(some_checkpoint(3));
  const auto huge = ~uint64_t{0};
  std::memcpy(bytes.data(), &huge, sizeof(huge)); // of the first text
  EXPECT_EQ(refusal_of(bytes), "a length is beyond the record's end (byte 48)");
  // A list's first item would already be beyond the end: a false length costs nothing.
  auto x = some_checkpoint(3);
  x.replicas.clear();
  x.plateau = {};
  x.reductions.clear();
  for (auto& row : x.history) { // else it would not be the last
    row.metrics.clear();
    row.hash.reset();
  }
  bytes = record_of(x);
  std::memcpy(bytes.data() + bytes.size() - 8, &huge, sizeof(huge));
  EXPECT_TRUE(refusal_of(bytes).starts_with("a length is beyond"));
}

TEST(checkpoint_record, flags_are_those_that_are_written) {
  auto x = some_checkpoint(3);
  x.job_sha256 = x.arithmetic = "";
  auto bytes = record_of(x);
  bytes[6 * 8] = std::byte{16}; // after two texts, version, term and two counts
  EXPECT_EQ(refusal_of(bytes), "flags that nobody writes (byte 89)");
}

// A checkpoint that is written by ranges: the same file in any order, whole or none.

// 2.5 chunks a tensor.

// Whoever has a part of a tensor gives it when it has it.
TEST(checkpoint_output, written_by_ranges_in_any_order_it_is_the_one_written_whole) {
  plain_disk where;
  const auto x = some_checkpoint(12, {large_count, 1, true, "job"});
  write_checkpoint(where, path, x);
  const auto whole = where.files[path];
  for (uint64_t seed = 0; seed < 5; ++seed) {
    std::mt19937_64 random{seed};
    std::vector<std::pair<uint64_t, size_t>> ranges; // part, first element
    const size_t size = 1 + random() % (large_count / 3);
    for (uint64_t part = 0; part < 2; ++part)
      for (size_t first = 0; first < large_count; first += size)
        ranges.emplace_back(part, first);
    std::ranges::shuffle(ranges, random);
    where.files.erase(path);
    checkpoint_output out{where, path, large_count};
    for (const auto& [part, first] : ranges) {
      const auto& tensor = part == 0 ? x.parameters : x.slots[0];
      out.write(part, first, tensor.values().subspan(first, std::min(size, large_count - first)));
    }
    auto rest = x; // with as many slots, which nobody looks at
    rest.parameters = {};
    rest.slots.assign(1, {});
    out.finish(rest);
    EXPECT_EQ(where.files[path], whole) << seed;
  }
}

TEST(checkpoint_output, with_a_gap_it_does_not_become_whole) {
  plain_disk where;
  const auto x = some_checkpoint(12, {10, 1, false, "job"});
  checkpoint_output out{where, path, 10};
  out.write(0, 0, x.parameters.values());
  out.write(1, 0, x.slots[0].values().first(4));
  out.write(1, 5, x.slots[0].values().last(5));
  EXPECT_THROW(out.finish(x), std::logic_error);
  EXPECT_THROW(checkpoint_file(where, path), failure);
  EXPECT_THROW(out.write(1, 9, x.slots[0].values().first(2)), std::out_of_range);
  out.write(1, 4, x.slots[0].values().subspan(4, 1));
  out.finish(x);
  EXPECT_TRUE(same(checkpoint_file(where, path).read(), x));
}

TEST(checkpoint_output, with_elements_that_came_twice_it_does_not_become_whole) {
  plain_disk where;
  const auto x = some_checkpoint(12, {10, 0, false, "job"});
  checkpoint_output out{where, path, 10};
  out.write(0, 0, x.parameters.values().first(6));
  out.write(0, 4, x.parameters.values().last(6));
  EXPECT_THROW(out.finish(x), std::logic_error);
}

// The checksums are of what the disk gives back: they must not bless what it got wrong.
TEST(checkpoint_output, of_which_a_bit_flips_before_it_is_whole_is_not_finished) {
  plain_disk where;
  const auto x = some_checkpoint(12, {large_count, 1, true, "job"});
  std::mt19937_64 random{3};
  for (size_t i = 0; i < 20; ++i) {
    where.files.erase(path);
    checkpoint_output out{where, path, large_count};
    out.write(1, 0, x.slots[0].values());
    out.write(0, 1000, x.parameters.values().subspan(1000));
    out.write(0, 0, x.parameters.values().first(1000));
    auto& bytes = where.files[path];
    const auto bit = 8 * 64 + random() % (8 * (bytes.size() - 64));
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    try {
      out.finish(x);
      FAIL() << bit;
    } catch (const disk_error& error) {
      EXPECT_EQ(error.operation(), "read back what was written to the file");
    }
    EXPECT_THROW(checkpoint_file(where, path), failure);
  }
}

} // namespace
} // namespace troupe::checkpoint_file_test
