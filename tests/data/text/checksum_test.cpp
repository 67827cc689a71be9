// Checksums are those of XXH3, whichever instructions the processor has.

#include "troupe/data/text/checksum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

// The same functions once more, compiled for any processor.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace troupe::checksum_test {

namespace {

std::vector<std::byte> bytes_of(size_t count) {
  std::vector<std::byte> result;
  for (size_t i = 0; i < count; ++i)
    result.push_back(static_cast<std::byte>(i * i + 7 * i));
  return result;
}

} // namespace

// The values of no bytes at all are published with the algorithm.
TEST(checksum, of_nothing_is_the_published_one) {
  EXPECT_EQ(short_checksum_of({}), 0x2D06800538D394C2u);
  EXPECT_EQ(checksum_of({})[0], std::byte{0x99});
  EXPECT_EQ(checksum_of({})[15], std::byte{0x7f});
}

TEST(checksum, is_the_same_with_any_instructions) {
  const auto bytes = bytes_of(20'000);
  for (size_t count = 0; count <= bytes.size(); count += 1 + count / 7) {
    const auto part = std::span{bytes}.first(count);
    EXPECT_EQ(short_checksum_of(part), XXH3_64bits(part.data(), part.size())) << count;
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(part.data(), part.size()));
    const auto found = checksum_of(part);
    EXPECT_EQ(std::memcmp(found.data(), canonical.digest, found.size()), 0) << count;
  }
}

TEST(checksum, of_bytes_that_come_part_by_part_is_that_of_the_whole) {
  const auto bytes = bytes_of(5'000);
  running_checksum running;
  for (size_t step = 1; step < bytes.size(); step += 1 + step) {
    for (size_t first = 0; first < bytes.size(); first += step)
      running.add(std::span{bytes}.subspan(first, std::min(step, bytes.size() - first)));
    EXPECT_EQ(running.take(), short_checksum_of(bytes)) << step;
  }
  EXPECT_EQ(running.take(), short_checksum_of({}));
}

} // namespace troupe::checksum_test
