// The six operations by hand, what each member sends, and what comes late, early or twice.

#include "coordinators/collective/collective_rule.hpp"
#include "tests/support/collective_group.hpp"

#include <gtest/gtest.h>

namespace troupe::collective_rule_test {
namespace {

using test::collective_group;
using test::view_of;
using enum collective_kind;
using floats = std::vector<float>;

collective_options among(size_t member_count, size_t one_stage_bytes_max = 0) {
  return {member_count, milliseconds{1'000}, one_stage_bytes_max};
}

/// Member k has the k-th of `values`; all call with `root`.
collective_group run(const collective_options& options, collective_kind kind,
                     const std::vector<floats>& values, uint64_t root = 0) {
  collective_group group{options};
  group.call_all([&](size_t k) { return collective_call{0, kind, root, view_of(values[k])}; });
  group.settle();
  return group;
}

/// What each member has in the end.
std::vector<floats> results(const collective_group& group) {
  std::vector<floats> result;
  for (size_t k = 0; k < group.members.size(); ++k) {
    EXPECT_EQ(group.end(k).problem, "");
    result.push_back(group.values(k));
  }
  return result;
}

using all = std::vector<floats>;

const all three{{1, 2, 3, 4}, {10, 20, 30, 40}, {100, 200, 300, 400}};

TEST(collective_rule, all_reduce_gives_everybody_the_sum) {
  const floats sum{111, 222, 333, 444};
  EXPECT_EQ(results(run(among(3), all_reduce, three)), (all{sum, sum, sum}));
  EXPECT_EQ(results(run(among(3, 16), all_reduce, three)), (all{sum, sum, sum}));
  EXPECT_EQ(results(run(among(2), all_reduce, {{1, 2}, {3, 4}})), (all{{4, 6}, {4, 6}}));
}

TEST(collective_rule, reduce_scatter_gives_everybody_a_part_of_the_sum) {
  EXPECT_EQ(results(run(among(3), reduce_scatter, three)), (all{{111}, {222}, {333, 444}}));
}

TEST(collective_rule, all_gather_gives_everybody_what_all_have_in_member_order) {
  const floats joined{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(results(run(among(3), all_gather, {{1}, {2, 3, 4}, {5, 6}})),
            (all{joined, joined, joined}));
}

TEST(collective_rule, broadcast_gives_everybody_what_the_root_has) {
  for (uint64_t root = 0; root < 3; ++root) {
    all values{{}, {9}, {9, 9}}; // others' do not count
    values[root] = three[root];
    EXPECT_EQ(results(run(among(3), broadcast, values, root)),
              (all{three[root], three[root], three[root]}));
  }
}

TEST(collective_rule, scatter_gives_everybody_a_part_of_what_the_root_has) {
  EXPECT_EQ(results(run(among(3), scatter, {{9}, three[1], {}}, 1)), (all{{10}, {20}, {30, 40}}));
}

TEST(collective_rule, a_barrier_is_passed_when_everybody_has_come) {
  collective_group group{among(3)};
  group.call(2, {});
  group.call(0, {});
  group.settle();
  EXPECT_TRUE(group.ends.empty());
  group.call(1, {});
  group.settle();
  EXPECT_EQ(results(group), (all{{}, {}, {}}));
}

TEST(collective_rule, sums_run_along_the_tree_over_members) {
  const float big = 1e8f; // big + 1 is big
  EXPECT_EQ(results(run(among(3), all_reduce, {{big}, {-big}, {1}}))[0], floats{1});
  EXPECT_EQ(results(run(among(3), all_reduce, {{big}, {1}, {-big}}))[0], floats{0});
  EXPECT_EQ(results(run(among(4), all_reduce, {{big}, {1}, {-big}, {1}}))[0], floats{0});
  EXPECT_EQ(results(run(among(5), all_reduce, {{big}, {1}, {-big}, {1}, {3}}))[0], floats{3});
}

TEST(collective_rule, one_member_has_it_at_once_and_sends_nothing) {
  for (const auto kind : {all_reduce, reduce_scatter, all_gather, broadcast, scatter}) {
    collective_group group{among(1)};
    group.call(0, {0, kind, 0, view_of({1, 2})});
    EXPECT_EQ(results(group), (all{{1, 2}})) << name_of(kind);
    EXPECT_EQ(group.bytes[0], 0u);
  }
}

TEST(collective_rule, fewer_values_than_members_and_none_at_all_work) {
  const auto few = [](size_t count) {
    all result;
    for (size_t k = 0; k < 5; ++k)
      result.emplace_back(count, static_cast<float>(k + 1));
    return result;
  };
  for (size_t count = 0; count < 5; ++count) {
    const floats sum(count, 15);
    EXPECT_EQ(results(run(among(5), all_reduce, few(count))), (all{sum, sum, sum, sum, sum}));
    const floats third(count, 3);
    EXPECT_EQ(results(run(among(5), broadcast, few(count), 2)),
              (all{third, third, third, third, third}));
    for (const auto& group :
         {run(among(5), reduce_scatter, few(count)), run(among(5), scatter, few(count), 4)}) {
      size_t given = 0;
      for (const auto& part : results(group))
        given += part.size();
      EXPECT_EQ(given, count);
    }
  }
}

TEST(collective_rule, members_send_as_many_bytes_as_the_table_says) {
  const size_t n = 4;
  const size_t bytes = 48 * sizeof(float);
  const auto sent = [&](collective_kind kind, size_t count, size_t one_stage_bytes_max = 0) {
    return run(among(n, one_stage_bytes_max), kind, all(n, floats(count)), 1).bytes;
  };
  const auto each = [](size_t x) { return std::vector<size_t>(n, x); };
  EXPECT_EQ(sent(reduce_scatter, 48), each(bytes * 3 / 4));
  EXPECT_EQ(sent(all_gather, 12), each(bytes * 3 / 4));
  EXPECT_EQ(sent(all_reduce, 48), each(bytes * 2 * 3 / 4));
  EXPECT_EQ(sent(all_reduce, 48, bytes), each(bytes * 3));
  EXPECT_EQ(sent(scatter, 48), (std::vector<size_t>{0, bytes * 3 / 4, 0, 0}));
  EXPECT_EQ(sent(broadcast, 48),
            (std::vector<size_t>{bytes * 2 / 3, bytes, bytes * 2 / 3, bytes * 2 / 3}));
  EXPECT_EQ(sent(barrier, 0), each(0));
  EXPECT_EQ(run(among(2), all_reduce, all(2, floats(48))).bytes, std::vector<size_t>(2, bytes));
}

// ---- What comes late, early, twice ----

TEST(collective_rule, a_part_that_comes_twice_or_late_changes_nothing) {
  collective_group group{among(3)};
  group.call_all([&](size_t k) { return collective_call{0, all_reduce, 0, view_of(three[k])}; });
  const auto first = group.bag;
  for (const auto& letter : first) {
    group.arrive(letter);
    group.arrive(letter);
  }
  const auto second = group.bag;
  group.settle();
  EXPECT_EQ(results(group)[0], (floats{111, 222, 333, 444}));
  for (const auto& letter : second)
    group.arrive(letter);
  EXPECT_TRUE(group.bag.empty());
}

TEST(collective_rule, a_part_that_comes_early_is_kept_until_its_round_begins) {
  collective_group group{among(2)};
  for (uint64_t round = 0; round < 3; ++round)
    group.call(0, {round, all_reduce, 0, view_of({1})});
  auto all_of_them = group.bag;
  group.bag.clear();
  for (size_t k = 3; k-- > 0;) {
    group.arrive(all_of_them[k]);
    group.arrive(all_of_them[k]);
  }
  for (uint64_t round = 0; round < 3; ++round) {
    group.call(1, {round, all_reduce, 0, view_of({static_cast<float>(round)})});
    EXPECT_EQ(group.values(1, round), floats{static_cast<float>(1 + round)});
  }
}

TEST(collective_rule, rounds_may_be_left_out_but_rise) {
  collective_group group{among(2)};
  group.call(0, {3, broadcast, 0, view_of({1})});
  group.call(0, {7, broadcast, 0, view_of({2})});
  group.settle();
  group.call(1, {7, broadcast, 0, {}});
  EXPECT_EQ(group.values(1, 7), floats{2});
  EXPECT_EQ(group.members[1].refusal({7, barrier, 0, {}}), "rounds rise, and the last one was 7");
  EXPECT_EQ(group.members[1].refusal({8, broadcast, 2, {}}), "there is no root 2 among 2 members");
  EXPECT_EQ(group.members[1].refusal({8, broadcast, 1, {}}), "");
  EXPECT_THROW(group.call(1, {3, barrier, 0, {}}), std::invalid_argument);
}

TEST(collective_rule, what_came_for_rounds_left_out_is_not_kept) {
  collective_group group{among(2)};
  for (uint64_t round = 0; round < 5 * early_rounds_max; ++round) {
    group.call(0, {round, broadcast, 0, view_of({1})});
    group.settle();
    if (round % early_rounds_max == 1) {
      group.call(1, {round, broadcast, 0, {}});
      EXPECT_EQ(group.values(1, round), floats{1});
    }
  }
}

TEST(collective_rule, who_runs_too_far_ahead_is_lost) {
  collective_group group{among(2)};
  for (uint64_t round = 0; round < early_rounds_max; ++round)
    group.call(0, {round, broadcast, 0, view_of({1})});
  group.settle();
  group.call(1, {0, broadcast, 0, {}});
  EXPECT_EQ(group.values(1, 0), floats{1});
  for (uint64_t round = early_rounds_max; round < early_rounds_max + 2; ++round)
    group.call(0, {round, broadcast, 0, view_of({1})});
  group.settle();
  group.call(1, {1, broadcast, 0, {}}); // it is here
  EXPECT_EQ(group.values(1, 1), floats{1});
  group.call(1, {early_rounds_max + 1, broadcast, 0, {}});
  EXPECT_EQ(group.end(1, early_rounds_max + 1).problem,
            "member 0 is lost: it is more than 64 rounds ahead");
}

TEST(collective_rule, memory_of_results_is_used_again_once_nobody_reads_them) {
  collective_group group{among(1)};
  const auto place_of = [&](uint64_t round) {
    group.call(0, {round, all_reduce, 0, view_of(floats(8))});
    return group.end(0, round).values.values().data();
  };
  const auto* const first = place_of(0);
  EXPECT_NE(place_of(1), first);
  group.ends.erase({0, 0});
  EXPECT_EQ(place_of(2), first);
}

// Rounds that fail: who is of another mind, what is damaged, who is lost or late; always by name.

constexpr milliseconds deadline{1'000};

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

} // namespace
} // namespace troupe::collective_rule_test
