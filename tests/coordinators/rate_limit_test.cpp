#include "troupe/coordinators/rate_limit.hpp"

#include <gtest/gtest.h>

namespace troupe {

namespace {

constexpr moment start{std::chrono::hours{1}};

TEST(rate_limit, lets_a_burst_through_and_then_its_rate) {
  rate_limit limit{10, 3};
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(limit.take(start)) << i;
  EXPECT_FALSE(limit.take(start));
  EXPECT_EQ(limit.due(start), start + milliseconds{100});
  EXPECT_FALSE(limit.take(start + milliseconds{99}));
  EXPECT_TRUE(limit.take(start + milliseconds{100}));
  EXPECT_FALSE(limit.take(start + milliseconds{100}));
}

TEST(rate_limit, saves_no_more_than_a_burst) {
  rate_limit limit{10, 3};
  const auto later = start + std::chrono::hours{1};
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(limit.take(later));
  EXPECT_FALSE(limit.take(later));
}

TEST(line_limit, tells_a_reason_once_an_interval_and_counts_the_rest) {
  line_limit limit{milliseconds{1'000}};
  EXPECT_EQ(limit.on_reason("a", start), 1u);
  EXPECT_EQ(limit.on_reason("a", start + milliseconds{1}), std::nullopt);
  EXPECT_EQ(limit.on_reason("b", start + milliseconds{1}), 1u) << "each reason has its own";
  EXPECT_EQ(limit.on_reason("a", start + milliseconds{999}), std::nullopt);
  EXPECT_EQ(limit.on_reason("a", start + milliseconds{1'000}), 3u);
}

TEST(line_limit, reasons_without_number_share_a_place) {
  line_limit limit{milliseconds{1'000}};
  size_t told = 0;
  for (int i = 0; i < 10'000; ++i)
    told += limit.on_reason(std::to_string(i), start).has_value();
  EXPECT_LE(told, line_limit::reasons_max + 1);
}

} // namespace

} // namespace troupe
