#include "actors/protocol/payload.hpp"

#include "coordinators/exchange/link_limits.hpp"
#include "tests/support/payloads.hpp"

#include <caf/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace troupe::payload_test {

namespace {

using test::payload_of;

std::vector<char> saved(payload x) {
  std::vector<char> bytes;
  caf::binary_serializer sink{nullptr, bytes};
  EXPECT_FALSE(sink(x));
  return bytes;
}

caf::error load(const std::vector<char>& bytes, payload& into) {
  caf::binary_deserializer source{nullptr, bytes};
  return source(into);
}

} // namespace

TEST(payload, is_a_span_of_its_buffer) {
  buffer storage{4};
  std::ranges::copy(std::vector<float>{1, 2, 3, 4}, storage.values().begin());
  const payload part{storage, 1, 2};
  EXPECT_EQ(part.values()[0], 2);
  EXPECT_EQ(part.values().size(), 2u);
  payload loaded;
  ASSERT_FALSE(load(saved(part), loaded));
  EXPECT_EQ(loaded, part);
  EXPECT_THROW((payload{storage, 3, 2}), std::invalid_argument);
  EXPECT_THROW((payload{storage, 5, 0}), std::invalid_argument);
}

TEST(payload, memory_of_pieces_that_came_is_used_again) {
  const auto bytes = saved(payload{buffer{piece_elements_max}, 0, piece_elements_max});
  const float* place = nullptr;
  {
    payload first;
    EXPECT_FALSE(load(bytes, first));
    place = first.values().data();
    payload second;
    EXPECT_FALSE(load(bytes, second));
    EXPECT_NE(second.values().data(), place) << "while the first is in use";
  }
  payload third;
  payload fourth;
  EXPECT_FALSE(load(bytes, third) || load(bytes, fourth));
  EXPECT_TRUE(third.values().data() == place || fourth.values().data() == place);
  EXPECT_EQ(third.values().size(), piece_elements_max);
}

TEST(payload, values_of_a_narrow_format_take_half_the_bytes) {
  const auto wide = payload_of({1, -0.0f, 2.5f, INFINITY, 0x1p-133f, NAN});
  const payload narrow{float_view{wide}.with_format(number_format::bf16)};
  const auto bytes = saved(narrow);
  EXPECT_EQ(saved(wide).size() - bytes.size(), wide.size() * sizeof(uint16_t));
  payload loaded;
  ASSERT_FALSE(load(bytes, loaded));
  EXPECT_TRUE(loaded.intact());
  EXPECT_EQ(loaded, wide);
  EXPECT_EQ(loaded.format(), number_format::bf16) << "it may be passed on";
  auto other = bytes;
  other[2 * sizeof(uint64_t)] = static_cast<char>(number_format_count);
  EXPECT_TRUE(load(other, loaded)) << "there is no such format";
  other = bytes;
  other[2 * sizeof(uint64_t)] = static_cast<char>(number_format::float32);
  EXPECT_TRUE(load(other, loaded)) << "so many bytes are not there";
  // Who says that values are narrow which are not is not believed.
  payload wrong;
  ASSERT_FALSE(load(
    saved(payload{float_view{payload_of({1.0001f})}.with_format(number_format::bf16)}), wrong));
  EXPECT_FALSE(wrong.intact());
}

TEST(payload, a_flipped_bit_is_noticed) {
  auto bytes = saved(payload_of({1, 2, 3}));
  bytes.back() ^= 1;
  payload loaded;
  EXPECT_FALSE(load(bytes, loaded));
  EXPECT_FALSE(loaded.intact());
  payload sound;
  EXPECT_FALSE(load(saved(payload_of({1, 2, 3})), sound));
  EXPECT_TRUE(sound.intact());
}

} // namespace troupe::payload_test
