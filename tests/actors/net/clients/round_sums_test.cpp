#include "actors/net/clients/round_sums.hpp"

#include "data/text/checksum.hpp"
#include "models/base/rounding.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <span>

using namespace troupe;

namespace {

constexpr size_t size = 7;

const_buffer model_of(float first) {
  const buffer result{size};
  for (size_t i = 0; i < size; ++i)
    result.values()[i] = first + 0.1f * static_cast<float>(i);
  return result;
}

client_update update_of(const std::string& name, uint64_t group, float first, uint64_t rows = 5) {
  client_update result{name, group, rows, 0.5, 3, {}, model_of(first)};
  result.announced = sha256_hex(std::as_bytes(result.values.values()));
  return result;
}

federated_options rules() {
  federated_options result;
  result.cohort.cohort_size = 8;
  result.update_range = 10;
  result.weight_max = 6;
  return result;
}

round_sums sums_from(const const_buffer& start) {
  round_sums result{rules(), rules().bounds(8)};
  result.begin(start);
  return result;
}

TEST(round_sums, the_order_of_arrival_does_not_show) {
  const default_rounding rounding;
  std::vector<client_update> all;
  for (size_t i = 0; i < 8; ++i)
    all.push_back(update_of("c" + std::to_string(i), i % 3, 0.3f * static_cast<float>(i), i + 1));
  std::mt19937 random{1};
  std::optional<gathered_round> first;
  for (int run = 0; run < 20; ++run) {
    auto sums = sums_from(model_of(1));
    for (const auto& x : all)
      EXPECT_EQ(sums.add(x), receipt_kind::counted);
    auto found = sums.take({});
    if (!first)
      first = found;
    EXPECT_EQ(*found.who, *first->who);
    EXPECT_EQ(found.figures, first->figures);
    EXPECT_EQ(found.groups, first->groups);
    EXPECT_EQ(found.correct_counts, first->correct_counts);
    std::ranges::shuffle(all, random);
  }
  ASSERT_EQ(first->groups.size(), 3);
  EXPECT_EQ(first->groups[0].count(), 3);
  EXPECT_EQ(first->groups[0].weight(), 1 + 4 + 6); // of c0, c3 and c6, capped
  EXPECT_EQ(first->who->group_ends, (std::vector<size_t>{3, 6, 8}));
  EXPECT_EQ(first->who->named[3].name, "c1");
  EXPECT_EQ(group_positions(*first->who, 3, 1), (index_range{3, 6}));
}

TEST(round_sums, what_is_no_update_is_refused_and_adds_nothing) {
  const default_rounding rounding;
  auto sums = sums_from(model_of(1));
  auto altered = update_of("a", 0, 2);
  altered.announced[0] = altered.announced[0] == 'a' ? 'b' : 'a';
  EXPECT_EQ(sums.add(altered), receipt_kind::altered);
  EXPECT_EQ(sums.add(update_of("b", 0, 12)), receipt_kind::out_of_range);
  EXPECT_EQ(sums.add(update_of("c", 0, std::numeric_limits<float>::quiet_NaN())),
            receipt_kind::not_finite);
  EXPECT_EQ(sums.add(update_of("d", 0, 2, 0)), receipt_kind::not_finite);
  EXPECT_EQ(sums.add(update_of("e", 0, 2, ~uint64_t{0})), receipt_kind::not_finite);
  auto odd = update_of("f", 0, 2);
  odd.loss = std::numeric_limits<double>::infinity();
  EXPECT_EQ(sums.add(odd), receipt_kind::not_finite);
  auto liar = update_of("g", 0, 2);
  liar.correct = ~uint64_t{0};
  EXPECT_EQ(sums.add(liar), receipt_kind::counted);
  const auto found = sums.take({.invited = 9, .dropped = 1});
  EXPECT_EQ(found.groups.at(0).count(), 1);
  EXPECT_EQ(found.correct_counts.at(0), 5); // at most its rows
  EXPECT_EQ(found.who->named.size(), 6);    // liars are named
  EXPECT_EQ(found.who->invited, 9);
  EXPECT_EQ(found.figures[0].verdict, update_verdict::out_of_range);
  EXPECT_EQ(found.figures[5].verdict, update_verdict::counted);
  EXPECT_TRUE(sums.take({}).groups.empty()); // the next round begins from nothing
}

TEST(round_sums, private_updates_are_clipped_and_weigh_one) {
  const default_rounding rounding;
  auto options = rules();
  options.privacy = private_sum_rule{.clip_norm = 0.5, .noise = 1};
  round_sums sums{options, options.bounds(8)};
  sums.begin(model_of(1));
  EXPECT_EQ(sums.add(update_of("a", 0, 3, 50)), receipt_kind::counted);
  const auto found = sums.take({});
  EXPECT_EQ(found.groups[0].weight(), 1);
  const auto mean = found.groups[0].mean_onto(model_of(1).values());
  EXPECT_NEAR(measure_update(model_of(1).values(), mean).norm, 0.5, 1e-5);
}

} // namespace
