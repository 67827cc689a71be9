// A checkpoint that is written by ranges: the same file in any order, whole or none.

#include "data/checkpoint/checkpoint_output.hpp"

#include "data/checkpoint/checkpoint_file.hpp"
#include "data/checkpoint/checkpoint_layout.hpp"
#include "data/text/failure.hpp"
#include "tests/support/plain_disk.hpp"
#include "tests/support/some_checkpoint.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

namespace troupe::checkpoint_output_test {
namespace {

const std::string path = "folder/file";

// 2.5 chunks a tensor.
constexpr size_t large_count = 5 * checkpoint_chunk_bytes / sizeof(float) / 2;

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
} // namespace troupe::checkpoint_output_test
