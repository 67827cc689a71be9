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

} // namespace

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

} // namespace troupe::collective_rule_test
