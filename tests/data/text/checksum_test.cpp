// Checksums are those of XXH3, whichever instructions the processor has.

#include "data/text/checksum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <string>
#include <string_view>
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

using bytes = std::array<unsigned char, 32>;

uint32_t crc_of(const bytes& content) {
  return crc32c_of(std::as_bytes(std::span{content}));
}

// RFC 3720, appendix B.4.
TEST(crc32c, is_that_of_the_standard) {
  bytes rising{}, falling{}, ones{};
  std::iota(rising.begin(), rising.end(), 0);
  std::iota(falling.rbegin(), falling.rend(), 0);
  ones.fill(0xFF);
  const std::string_view digits = "123456789"; // the check value
  EXPECT_EQ(crc32c_of(std::as_bytes(std::span{digits})), 0xE3069283);
  EXPECT_EQ(crc32c_of(std::span<const std::byte>{}), 0u);
  EXPECT_EQ(crc_of({}), 0x8A9136AA);
  EXPECT_EQ(crc_of(ones), 0x62A8AB43);
  EXPECT_EQ(crc_of(rising), 0x46DD794E);
  EXPECT_EQ(crc_of(falling), 0x113FDB5C);
}

// Expected values: the examples of FIPS 180-4 (NIST, "SHA256.pdf" of the cryptographic toolkit).

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

constexpr std::string_view digest_of_abc =
  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(digest, published_vectors_are_met) {
  EXPECT_EQ(sha256_hex(bytes_of("abc")), digest_of_abc);
  EXPECT_EQ(sha256_hex({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex(bytes_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(bytes_of(std::string(1000000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(digest, pieces_give_the_digest_of_the_whole_and_reading_does_not_end_it) {
  sha256 digest;
  digest.update(bytes_of("a"));
  digest.update({});
  digest.update(bytes_of("b"));
  EXPECT_NE(digest.hex(), digest_of_abc);
  digest.update(bytes_of("c"));
  for (int again = 0; again < 2; ++again)
    EXPECT_EQ(digest.hex(), digest_of_abc);
}

} // namespace
} // namespace troupe::checksum_test
