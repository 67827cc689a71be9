// Rounds that fail: who is of another mind, what is damaged, who is lost or late; always by name.

#include "coordinators/collective/collective_rule.hpp"
#include "tests/support/collective_group.hpp"

#include <gtest/gtest.h>

namespace troupe::collective_failure_test {
namespace {

using test::collective_group;
using test::view_of;
using enum collective_kind;
using floats = std::vector<float>;

constexpr milliseconds deadline{1'000};

collective_options among(size_t member_count, size_t one_stage_bytes_max = 0) {
  return {member_count, deadline, one_stage_bytes_max};
}

/// What both of two members say when they call so, whoever calls first.
std::string problem(const collective_call& own, const collective_call& other) {
  collective_group group{among(2)};
  group.call(0, own);
  group.call(1, other);
  group.settle();
  EXPECT_EQ(group.end(0).values.size() + group.end(1).values.size(), 0u);
  collective_group reversed{among(2)};
  reversed.call(1, other);
  reversed.settle();
  reversed.call(0, own);
  reversed.settle();
  EXPECT_EQ(reversed.end(0), group.end(0)) << "early as in time";
  EXPECT_EQ(reversed.end(1).problem, group.end(0).problem) << "who has not ended is told";
  return group.end(0).problem;
}

} // namespace

TEST(collective_failure, a_member_of_another_mind_ends_the_round_by_name) {
  const auto two = view_of({1, 2});
  EXPECT_EQ(problem({0, all_reduce, 0, two}, {0, reduce_scatter, 0, two}),
            "member 1 calls reduce-scatter where member 0 calls all-reduce");
  EXPECT_EQ(problem({0, all_reduce, 0, two}, {0, all_reduce, 0, view_of({1})}),
            "member 1 has values: 1 where member 0 has values: 2");
  EXPECT_EQ(problem({0, all_gather, 0, two}, {0, barrier, 0, {}}),
            "member 1 calls barrier where member 0 calls all-gather");
  EXPECT_EQ(problem({0, broadcast, 1, {}}, {0, all_gather, 0, two}),
            "member 1 calls all-gather where member 0 calls broadcast");
}

TEST(collective_failure, another_root_ends_the_round_of_who_waits) {
  collective_group group{among(3)};
  group.call(0, {0, scatter, 0, view_of({1, 2, 3})}); // ends at once: a root waits for nobody
  group.call(1, {0, scatter, 2, {}});
  group.call(2, {0, scatter, 0, {}});
  group.settle();
  EXPECT_EQ(group.end(1).problem, "member 0 names root 0 where member 1 names root 2");
  EXPECT_EQ(group.values(0), floats{1});
  EXPECT_EQ(group.values(2), floats{3});
}

TEST(collective_failure, a_part_that_the_operation_does_not_have_ends_the_round) {
  const auto part = [](collective_stage stage, size_t size) {
    return collective_part{0, 1, all_reduce, 0, stage, 4, view_of(floats(size))};
  };
  const auto end_by = [&](const collective_options& options,
                          const std::vector<collective_part>& parts) {
    collective_group group{options};
    group.call(0, {0, all_reduce, 0, view_of({1, 2, 3, 4})});
    for (const auto& one : parts)
      group.arrive({0, one});
    return group.end(0).problem;
  };
  using enum collective_stage;
  EXPECT_EQ(end_by(among(3), {part(collective_stage::scatter, 2)}),
            "member 1 sends 2 values where 1 belong");
  EXPECT_EQ(end_by(among(3), {part(gather, 1), part(gather, 2)}),
            "member 1 sends 2 values where 1 belong");
  EXPECT_EQ(end_by(among(3, 16), {part(gather, 4)}),
            "member 1 sends a part that all-reduce does not have");
}

TEST(collective_failure, two_parts_for_one_place_that_differ_end_the_round) {
  for (const bool early : {false, true}) {
    collective_group group{among(3)};
    if (!early)
      group.call(0, {0, all_gather, 0, view_of({1})});
    for (const size_t size : {2, 3})
      group.arrive({0, collective_part{0, 1, all_gather, 0, collective_stage::gather, size,
                                       view_of(floats(size))}});
    if (early)
      group.call(0, {0, all_gather, 0, view_of({1})});
    EXPECT_EQ(group.end(0).problem, early ? "member 1 sends two parts that differ"
                                          : "member 1 sends 3 values where 2 belong");
  }
}

TEST(collective_failure, a_damaged_part_ends_the_round_and_damaged_values_begin_none) {
  const auto storage = buffer{1};
  const float_view damaged{storage, 1, 7, [](std::span<const float>) -> uint64_t { return 8; }};
  collective_group group{among(2)};
  EXPECT_EQ(group.members[0].refusal({0, all_gather, 0, damaged}),
            "the values were damaged on their way");
  group.call(0, {0, all_gather, 0, view_of({1})});
  group.arrive({0, collective_part{0, 1, all_gather, 0, collective_stage::gather, 1, damaged}});
  EXPECT_EQ(group.end(0).problem, "a part of member 1 was damaged on its way");
}

TEST(collective_failure, a_lost_member_ends_open_rounds_and_later_ones_by_name) {
  for (const auto kind : {all_reduce, reduce_scatter, all_gather, barrier}) {
    collective_group group{among(3)};
    group.call(0, {0, kind, 0, view_of({1, 2, 3})});
    group.lose(2);
    group.settle();
    group.call(1, {0, kind, 0, view_of({1, 2, 3})});
    for (const size_t k : {0, 1})
      EXPECT_EQ(group.end(k).problem, "member 2 is lost: why") << name_of(kind);
    group.call(0, {1, kind, 0, view_of({1, 2, 3})});
    EXPECT_EQ(group.end(0, 1).problem, "member 2 is lost: why") << name_of(kind);
  }
}

TEST(collective_failure, a_member_that_ends_after_its_last_round_takes_nobody_with_it) {
  collective_group group{among(3, 0)};
  group.call_all([](size_t) { return collective_call{}; });
  while (!group.ends.contains({0, 0}))
    group.deliver(group.bag.back().to == 0 ? group.bag.size() - 1 : 0);
  // Its own parts arrive before the news of its end.
  for (size_t k = group.bag.size(); k-- > 0;)
    if (std::get<collective_part>(group.bag[k].what).from == 0)
      group.deliver(k);
  group.lose(0);
  group.settle();
  for (size_t k = 0; k < 3; ++k)
    EXPECT_EQ(group.end(k).problem, "");
}

TEST(collective_failure, a_root_does_not_send_to_a_lost_member_as_if_nothing_were) {
  collective_group group{among(3)};
  group.lose(2);
  group.call(1, {0, broadcast, 0, {}});
  group.call(0, {0, broadcast, 0, view_of({1, 2, 3})});
  EXPECT_EQ(group.end(0).problem, "member 2 is lost: why");
  EXPECT_EQ(group.end(1).problem, "member 2 is lost: why");
}

TEST(collective_failure, a_deadline_ends_the_round_and_names_who_is_missing) {
  collective_group group{among(4)};
  group.call(3, {0, all_reduce, 0, view_of(floats(8))});
  group.pass(milliseconds{1});
  group.call(0, {0, all_reduce, 0, view_of(floats(8))});
  group.settle();
  group.pass(deadline - milliseconds{2});
  EXPECT_TRUE(group.ends.empty());
  group.pass(milliseconds{1});
  EXPECT_EQ(group.end(3).problem, "member 3 waited 1000 ms for member 1, 2");
  EXPECT_TRUE(group.members[0].has_open_rounds());
  group.settle();
  EXPECT_EQ(group.end(0).problem, "member 3 waited 1000 ms for member 1, 2");
  group.call(1, {0, all_reduce, 0, view_of(floats(8))});
  EXPECT_EQ(group.end(1).problem, "member 3 waited 1000 ms for member 1, 2") << "it heard early";
  EXPECT_FALSE(group.members[0].has_open_rounds());
}

TEST(collective_failure, a_deadline_of_one_stage_names_who_is_missing_too) {
  collective_group group{among(3)};
  group.call(0, {0, all_gather, 0, {}});
  group.call(2, {0, all_gather, 0, {}});
  group.settle();
  group.pass(deadline);
  EXPECT_EQ(group.end(0).problem, "member 0 waited 1000 ms for member 1");
}

TEST(collective_failure, parts_and_news_of_nobody_are_ignored) {
  collective_group group{among(2)};
  group.call(0, {0, barrier, 0, {}});
  for (const uint64_t from : {0, 2}) {
    group.arrive({0, collective_part{0, from, barrier, 0, collective_stage::gather, 0, {}}});
    group.members[0].on_lost(from, "why");
  }
  group.arrive({0, collective_failure{0, 2, "why"}});
  EXPECT_TRUE(group.ends.empty());
  EXPECT_THROW(collective_rule({2}, 2), std::invalid_argument);
}

} // namespace troupe::collective_failure_test
