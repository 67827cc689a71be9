#include "coordinators/links/rate_limit.hpp"

#include <gtest/gtest.h>

namespace troupe::rate_limit_test {

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

TEST(reported_once, a_reason_is_told_again_after_a_success_only) {
  reported_once told;
  EXPECT_TRUE(told.on_reason("a", "refused"));
  EXPECT_FALSE(told.on_reason("a", "refused"));
  EXPECT_TRUE(told.on_reason("a", "silent"));
  EXPECT_TRUE(told.on_reason("b", "refused"));
  told.on_success("a");
  EXPECT_TRUE(told.on_reason("a", "refused"));
  EXPECT_FALSE(told.on_reason("b", "refused"));
}

TEST(reported_once, whoever_words_ever_new_reasons_is_not_heard_any_more) {
  reported_once told;
  size_t count = 0;
  for (int i = 0; i < 1'000; ++i)
    count += told.on_reason("a", std::to_string(i));
  EXPECT_EQ(count, reported_once::reasons_max);
  EXPECT_TRUE(told.on_reason("b", "refused"));
}

} // namespace

} // namespace troupe::rate_limit_test
