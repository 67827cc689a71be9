#include "troupe/data/text/crc32c.hpp"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <string_view>

namespace troupe::crc32c_test {
namespace {

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
  EXPECT_EQ(crc_of({}), 0x8A9136AA);
  EXPECT_EQ(crc_of(ones), 0x62A8AB43);
  EXPECT_EQ(crc_of(rising), 0x46DD794E);
  EXPECT_EQ(crc_of(falling), 0x113FDB5C);
}

TEST(crc32c, of_nine_digits_is_the_check_value) {
  const std::string_view digits = "123456789";
  EXPECT_EQ(crc32c_of(std::as_bytes(std::span{digits})), 0xE3069283);
  EXPECT_EQ(crc32c_of({}), 0u);
}

} // namespace
} // namespace troupe::crc32c_test
