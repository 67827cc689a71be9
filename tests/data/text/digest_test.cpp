// Expected values: the examples of FIPS 180-4 (NIST, "SHA256.pdf" of the cryptographic toolkit).

#include "data/text/digest.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace troupe::digest_test {

namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

constexpr std::string_view digest_of_abc =
  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

} // namespace

TEST(digest, published_vectors_are_met) {
  EXPECT_EQ(sha256_hex(bytes_of("abc")), digest_of_abc);
  EXPECT_EQ(sha256_hex({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex(bytes_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(bytes_of(std::string(1000000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(digest, pieces_give_the_digest_of_the_whole) {
  sha256 digest;
  digest.update(bytes_of("a"));
  digest.update({});
  digest.update(bytes_of("bc"));
  EXPECT_EQ(digest.hex(), digest_of_abc);
}

TEST(digest, reading_the_digest_does_not_end_it) {
  sha256 digest;
  digest.update(bytes_of("ab"));
  auto early = digest.hex();
  digest.update(bytes_of("c"));
  EXPECT_NE(early, digest_of_abc);
  EXPECT_EQ(digest.hex(), digest_of_abc);
  EXPECT_EQ(digest.hex(), digest_of_abc);
}

} // namespace troupe::digest_test
