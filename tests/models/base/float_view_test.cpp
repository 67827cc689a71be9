#include "models/base/float_view.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <stdexcept>

namespace troupe::float_view_test {

namespace {

buffer counting(size_t size) {
  const buffer result{size};
  std::iota(result.values().begin(), result.values().end(), 0.0f);
  return result;
}

uint64_t count_of(std::span<const float> values) {
  return values.size();
}

} // namespace

TEST(float_view, is_a_span_that_keeps_its_buffer) {
  float_view view;
  EXPECT_EQ(view.size(), 0u);
  {
    const auto storage = counting(10);
    view = {storage, 2, 5};
    EXPECT_TRUE(view.storage().same_storage(storage));
  }
  EXPECT_EQ(view.offset(), 2u);
  ASSERT_EQ(view.values().size(), 5u);
  EXPECT_EQ(view.values()[4], 6);
  EXPECT_EQ(view.part(1, 2).values()[0], 3);
  EXPECT_EQ(view.part(1, 2).size(), 2u);
}

TEST(float_view, must_lie_within_its_buffer) {
  const auto storage = counting(4);
  EXPECT_NO_THROW((float_view{storage, 4, 0}));
  EXPECT_THROW((float_view{storage, 0, 5}), std::invalid_argument);
  EXPECT_THROW((float_view{storage, 5, 0}), std::invalid_argument);
  EXPECT_THROW((float_view{storage, 3, SIZE_MAX}), std::invalid_argument);
}

TEST(float_view, is_intact_when_its_checksum_is_the_one_it_was_sent_with) {
  const auto storage = counting(4);
  EXPECT_TRUE((float_view{storage, 0, 4}.intact())) << "it never left the process";
  EXPECT_FALSE((float_view{storage, 0, 4}.received_checksum()));
  const float_view good{storage, 3, 3, count_of};
  EXPECT_TRUE(good.intact());
  EXPECT_EQ(good.received_checksum(), 3u);
  EXPECT_EQ(good.size(), 3u) << "the first of the buffer";
  EXPECT_FALSE((float_view{storage, 3, 4, count_of}.intact()));
}

TEST(float_view, is_compared_bit_by_bit) {
  const auto storage = counting(4);
  EXPECT_EQ((float_view{storage, 1, 2}), (float_view{counting(3), 1, 2}));
  EXPECT_NE((float_view{storage, 1, 2}), (float_view{storage, 2, 2}));
  EXPECT_NE((float_view{storage, 1, 2}), (float_view{storage, 1, 3}));
  storage.values()[0] = -0.0f;
  EXPECT_NE((float_view{storage, 0, 1}), (float_view{counting(1), 0, 1}));
  storage.values()[0] = std::nanf("");
  EXPECT_EQ((float_view{storage, 0, 1}), (float_view{storage, 0, 1}));
}

} // namespace troupe::float_view_test
