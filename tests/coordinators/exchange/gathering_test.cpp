// What has come and what is missing: span sets, versions, gradients, and when to ask.

#include "troupe/coordinators/exchange/gradient_gathering.hpp"
#include "troupe/coordinators/exchange/repair_clock.hpp"
#include "troupe/coordinators/exchange/version_gathering.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

namespace troupe {

namespace {

using ranges = std::vector<index_range>;
using enum gather_verdict;
using whole = std::optional<version_gathering::whole_version>;

span_set set_of(const ranges& parts) {
  span_set result;
  for (const auto& part : parts)
    result.add(part);
  return result;
}

/// Three shards; the middle one has no span.
version_gathering three_shards(std::optional<uint64_t> first) {
  return {{{0, 10}, {10, 10}, {10, 30}}, first};
}

/// Steps of 4 and 2 rows in 4 slices: in odd steps slices 1 and 3 have rows.
timeline four_slices() {
  return {.row_count = 6, .batch_size = 4, .slice_count = 4, .epoch_count = 9, .step_limit = {}};
}

} // namespace

// ---- span_set ----

TEST(span_set, ranges_that_touch_or_overlap_become_one) {
  EXPECT_EQ(set_of({{4, 6}, {0, 2}}).ranges(), (ranges{{0, 2}, {4, 6}})) << "sorted";
  EXPECT_EQ(set_of({{0, 2}, {2, 4}}).ranges(), (ranges{{0, 4}}));
  EXPECT_EQ(set_of({{2, 4}, {0, 2}}).ranges(), (ranges{{0, 4}}));
  EXPECT_EQ(set_of({{0, 2}, {4, 6}, {8, 9}, {1, 5}}).ranges(), (ranges{{0, 6}, {8, 9}}));
  EXPECT_EQ(set_of({{3, 4}, {0, 9}}).ranges(), (ranges{{0, 9}}));
  EXPECT_EQ(set_of({{0, 1}, {8, 9}, {4, 5}}).ranges(), (ranges{{0, 1}, {4, 5}, {8, 9}}));
}

TEST(span_set, says_whether_something_was_new) {
  span_set set;
  EXPECT_TRUE(set.add({2, 6}));
  EXPECT_FALSE(set.add({2, 6}));
  EXPECT_FALSE(set.add({3, 4}));
  EXPECT_TRUE(set.add({5, 7}));
  EXPECT_FALSE(set.add({9, 9})) << "nothing is never new";
  EXPECT_EQ(set.ranges(), (ranges{{2, 7}}));
}

TEST(span_set, names_the_gaps) {
  const auto set = set_of({{2, 4}, {6, 8}});
  EXPECT_EQ(set.missing_in({0, 10}), (ranges{{0, 2}, {4, 6}, {8, 10}}));
  EXPECT_EQ(set.missing_in({3, 7}), (ranges{{4, 6}}));
  EXPECT_EQ(set.missing_in({2, 4}), ranges{});
  EXPECT_EQ(set.missing_in({4, 6}), (ranges{{4, 6}}));
  EXPECT_TRUE(set.contains({6, 7}));
  EXPECT_FALSE(set.contains({3, 5}));
  EXPECT_TRUE(set.contains({5, 5}));
}

TEST(span_set, is_a_set_of_numbers) {
  EXPECT_TRUE(rc::check([](const std::vector<std::pair<uint8_t, uint8_t>>& parts) {
    span_set set;
    std::set<size_t> numbers;
    for (const auto& [begin, size] : parts) {
      const index_range part{begin, begin + size % 16u};
      const auto before = numbers.size();
      for (auto i = part.begin; i < part.end; ++i)
        numbers.insert(i);
      RC_ASSERT(set.add(part) == (numbers.size() > before));
    }
    size_t count = 0;
    for (size_t i = 0; i < set.ranges().size(); ++i) {
      const auto& range = set.ranges()[i];
      RC_ASSERT(range.begin < range.end);
      RC_ASSERT((i == 0 || set.ranges()[i - 1].end < range.begin)); // no short cut in one
      count += range.size();
      RC_ASSERT(numbers.contains(range.begin) && numbers.contains(range.end - 1));
    }
    RC_ASSERT(count == numbers.size());
    size_t missing = 0;
    for (const auto& gap : set.missing_in({0, 300}))
      missing += gap.size();
    RC_ASSERT(missing + count == 300u);
  }));
}

// ---- version_gathering ----

TEST(version_gathering, a_version_is_held_when_every_span_is_whole) {
  auto rule = three_shards(3);
  EXPECT_EQ(rule.wanted(), 3u);
  EXPECT_EQ(rule.missing(), (ranges{{0, 10}, {10, 30}}));
  EXPECT_EQ(rule.offer(3, {12, 20}), accepted);
  EXPECT_EQ(rule.missing(), (ranges{{0, 10}, {10, 12}, {20, 30}}));
  EXPECT_EQ(rule.offer(3, {0, 12}), accepted) << "across the bounds of shards";
  EXPECT_EQ(rule.take_whole(), whole{});
  EXPECT_FALSE(rule.held());
  EXPECT_EQ(rule.offer(3, {20, 30}), accepted);
  EXPECT_EQ(rule.take_whole(), (whole{{3, false}}));
  EXPECT_EQ(rule.take_whole(), whole{}) << "told once";
  EXPECT_EQ(rule.held(), 3u);
  EXPECT_EQ(rule.wanted(), 4u);
  EXPECT_EQ(rule.missing(), (ranges{{0, 10}, {10, 30}}));
}

TEST(version_gathering, names_what_it_does_not_take) {
  auto rule = three_shards(3);
  EXPECT_EQ(rule.offer(2, {0, 10}), stale);
  EXPECT_EQ(rule.offer(3, {5, 5}), malformed);
  EXPECT_EQ(rule.offer(3, {7, 5}), malformed);
  EXPECT_EQ(rule.offer(3, {29, 31}), malformed);
  EXPECT_EQ(rule.offer(3, {0, 10}), accepted);
  EXPECT_EQ(rule.offer(3, {2, 8}), known);
  rule.offer(3, {10, 30});
  EXPECT_EQ(rule.offer(3, {0, 10}), stale) << "held";
}

TEST(version_gathering, what_came_early_of_the_next_version_counts_there) {
  auto rule = three_shards(0);
  EXPECT_EQ(rule.offer(1, {10, 30}), accepted);
  rule.offer(0, {0, 10});
  EXPECT_EQ(rule.take_whole(), whole{});
  rule.offer(0, {10, 30});
  EXPECT_EQ(rule.take_whole(), (whole{{0, false}}));
  EXPECT_EQ(rule.missing(), (ranges{{0, 10}}));
  rule.offer(1, {0, 10});
  EXPECT_EQ(rule.take_whole(), (whole{{1, false}}));
}

TEST(version_gathering, one_that_is_whole_leaves_older_ones_behind) {
  auto rule = three_shards(0);
  rule.offer(0, {0, 10});
  rule.offer(2, {0, 10});
  EXPECT_EQ(rule.wanted(), 0u) << "until another one is whole";
  rule.offer(2, {10, 30});
  EXPECT_EQ(rule.take_whole(), (whole{{2, true}}));
  EXPECT_EQ(rule.held(), 2u);
  EXPECT_EQ(rule.wanted(), 3u);
  EXPECT_EQ(rule.offer(0, {10, 30}), stale);
  rule.offer(3, {0, 30});
  EXPECT_EQ(rule.take_whole(), (whole{{3, false}})) << "the next one follows";
}

TEST(version_gathering, keeps_nothing_of_what_is_behind) {
  const auto taken = [](std::optional<uint64_t> first, bool hears_of_others) {
    auto rule = three_shards(first);
    if (hears_of_others)
      rule.offer(2, {0, 10});
    rule.offer(3, {0, 30});
    rule.take_whole();
    return rule;
  };
  EXPECT_EQ(taken(1, true), taken(1, false));
  EXPECT_EQ(taken({}, true), taken({}, false));
}

TEST(version_gathering, gathers_the_newest_three_versions) {
  auto rule = three_shards(4);
  for (const uint64_t version : {5, 6, 7})
    EXPECT_EQ(rule.offer(version, {0, 10}), accepted);
  EXPECT_EQ(rule.offer(4, {0, 10}), stale) << "although it was wanted";
  EXPECT_EQ(rule.offer(8, {0, 10}), accepted);
  EXPECT_EQ(rule.offer(5, {10, 30}), stale) << "it made room";
  EXPECT_EQ(rule.offer(6, {10, 20}), accepted);
  EXPECT_EQ(rule.offer(6, {20, 30}), accepted) << "the first of it is still here";
  EXPECT_EQ(rule.take_whole(), (whole{{6, true}}));
  rule.offer(7, {10, 30});
  EXPECT_EQ(rule.take_whole(), (whole{{7, false}}));
  EXPECT_EQ(rule.missing(), (ranges{{10, 30}}));
}

TEST(version_gathering, who_was_not_told_of_a_version_hears_of_a_jump) {
  auto rule = three_shards(0);
  rule.offer(0, {0, 30});
  rule.offer(1, {0, 30});
  EXPECT_EQ(rule.take_whole(), (whole{{1, true}}));
}

TEST(version_gathering, a_joiner_takes_the_first_version_that_is_whole) {
  auto rule = three_shards(std::nullopt);
  EXPECT_FALSE(rule.wanted());
  rule.offer(8, {0, 10});
  rule.offer(7, {10, 30});
  EXPECT_EQ(rule.missing(), (ranges{{0, 10}, {10, 30}})) << "everything: it cannot know";
  EXPECT_EQ(rule.take_whole(), whole{});
  rule.offer(7, {0, 10});
  EXPECT_EQ(rule.held(), 7u);
  EXPECT_EQ(rule.take_whole(), (whole{{7, true}}));
  EXPECT_EQ(rule.missing(), (ranges{{10, 30}}));
}

// ---- gradient_gathering ----

TEST(gradient_gathering, a_node_is_whole_when_all_elements_of_the_span_are_here) {
  gradient_gathering rule{four_slices(), {10, 30}, 0};
  using result = gradient_gathering::offer_result;
  EXPECT_EQ(rule.offer(0, {0, 1}, {10, 20}), (result{accepted, false}));
  EXPECT_EQ(rule.offer(0, {1, 2}, {20, 30}), (result{accepted, false})) << "of another node";
  EXPECT_EQ(rule.offer(0, {0, 1}, {12, 20}), (result{known, false}));
  EXPECT_EQ(rule.offer(0, {0, 1}, {20, 30}), (result{accepted, true}));
  EXPECT_EQ(rule.offer(0, {0, 1}, {20, 30}), (result{known, false})) << "whole once";
}

TEST(gradient_gathering, names_what_it_does_not_take) {
  gradient_gathering rule{four_slices(), {10, 30}, 2};
  const auto verdict = [&](uint64_t step, tree_node node, index_range elements) {
    return rule.offer(step, node, elements).verdict;
  };
  EXPECT_EQ(verdict(1, {0, 1}, {10, 30}), stale);
  EXPECT_EQ(verdict(3, {0, 1}, {10, 30}), early);
  EXPECT_EQ(verdict(2, {1, 3}, {10, 30}), malformed) << "no node";
  EXPECT_EQ(verdict(2, {0, 1}, {9, 30}), malformed);
  EXPECT_EQ(verdict(2, {0, 1}, {10, 31}), malformed);
  EXPECT_EQ(verdict(2, {0, 1}, {15, 15}), malformed);
  EXPECT_EQ(verdict(2, {0, 1}, {20, 15}), malformed);
}

TEST(gradient_gathering, misses_slices_with_rows_that_no_whole_node_covers) {
  gradient_gathering rule{four_slices(), {10, 30}, 0};
  EXPECT_EQ(rule.missing({{0, 4}}), (ranges{{0, 4}}));
  rule.offer(0, {0, 2}, {10, 30});
  rule.offer(0, {2, 3}, {10, 29});
  EXPECT_EQ(rule.missing({{0, 4}}), (ranges{{2, 4}}));
  EXPECT_EQ(rule.missing({{0, 1}, {3, 4}}), (ranges{{3, 4}})) << "only of those asked about";
  rule.offer(0, {2, 3}, {29, 30});
  EXPECT_EQ(rule.missing({{0, 4}}), (ranges{{3, 4}}));
  gradient_gathering odd{four_slices(), {10, 30}, 1};
  EXPECT_EQ(odd.missing({{0, 4}}), (ranges{{1, 2}, {3, 4}})) << "the others have no rows";
}

TEST(gradient_gathering, begins_anew_with_each_version) {
  gradient_gathering rule{four_slices(), {10, 30}, 0};
  rule.offer(0, {0, 4}, {10, 30});
  const auto before = rule;
  rule.advance(0);
  EXPECT_EQ(rule, before) << "no news";
  rule.advance(2);
  EXPECT_EQ(rule.version(), 2u);
  EXPECT_EQ(rule.missing({{0, 4}}), (ranges{{0, 4}}));
}

// ---- repair_clock ----

TEST(repair_clock, asks_after_200_ms_then_half_as_often_up_to_2_s) {
  repair_clock clock;
  const moment start{milliseconds{1000}};
  clock.restart(start);
  std::vector<int64_t> asked;
  for (int64_t ms = 0; ms < 8000; ++ms)
    if (clock.due(start + milliseconds{ms}))
      asked.push_back(ms);
  EXPECT_EQ(asked, (std::vector<int64_t>{200, 600, 1400, 3000, 5000, 7000}));
}

TEST(repair_clock, whatever_comes_starts_it_anew) {
  repair_clock clock;
  const moment start{};
  clock.restart(start);
  EXPECT_TRUE(clock.due(start + milliseconds{200}));
  clock.restart(start + milliseconds{300});
  EXPECT_FALSE(clock.due(start + milliseconds{499}));
  EXPECT_TRUE(clock.due(start + milliseconds{500}));
}

} // namespace troupe
