#include "coordinators/membership/lost_work.hpp"

#include "coordinators/membership/membership_rule.hpp"
#include "coordinators/membership/work_watch.hpp"
#include "tests/support/membership.hpp"

#include <gtest/gtest.h>

namespace troupe::lost_work_test {
namespace {

using namespace std::chrono_literals;

moment at(milliseconds time) {
  return moment{} + time;
}

member process(const std::string& name, uint64_t life = 1, uint64_t incarnation = 1) {
  return {name, incarnation, 1, 1, life};
}

/// Members in order; the slices of each.
cluster_view view_of(uint64_t number, const std::vector<std::pair<member, index_range>>& entries) {
  cluster_view result;
  result.id = {1, number};
  for (size_t i = 0; i < entries.size(); ++i) {
    result.members.push_back(entries[i].first);
    result.replicas.push_back({i, 0, entries[i].second});
  }
  return result;
}

const auto a = process("a"), b = process("b"), c = process("c"), d = process("d");

/// a is lost at step 17, then b with what a had, then c.
class Chain : public testing::Test {
protected:
  void SetUp() override {
    all_report(view_of(1, {{a, {0, 1}}, {b, {1, 2}}, {c, {2, 3}}, {d, {3, 4}}}), std::nullopt, 17);
    rule.on_lost(a, at(0ms));
    all_report(view_of(2, {{b, {0, 2}}, {c, {2, 3}}, {d, {3, 4}}}), 17, 17);
    rule.on_lost(b, at(100ms));
    all_report(view_of(3, {{c, {0, 3}}, {d, {3, 4}}}), 17, 17);
  }

  void all_report(const cluster_view& view, std::optional<uint64_t> left, uint64_t version) {
    rule.on_view(view);
    for (const auto& who : view.members)
      rule.on_report(who.name, view.id, left, version);
  }

  lost_work rule{{3, 5s}};
};

TEST_F(Chain, slices_that_three_were_lost_with_end_the_run_when_nobody_comes_back) {
  EXPECT_FALSE(rule.in_doubt(at(150ms)));
  rule.on_lost(c, at(200ms));
  EXPECT_TRUE(rule.in_doubt(at(200ms)));
  EXPECT_TRUE(rule.in_doubt(at(5'199ms)));
  EXPECT_EQ(rule.verdict(at(5'199ms)), std::nullopt);
  EXPECT_FALSE(rule.in_doubt(at(5'200ms)));
  EXPECT_EQ(rule.verdict(at(5'200ms)), (deadly_work{17, {0}, {"a", "b", "c"}}));
}

TEST_F(Chain, who_comes_back_in_the_same_life_was_not_dead) {
  rule.on_lost(c, at(200ms));
  rule.on_joined(process("b", 1, 7));
  EXPECT_FALSE(rule.in_doubt(at(300ms)));
  EXPECT_EQ(rule.verdict(at(60s)), std::nullopt);
}

TEST_F(Chain, who_is_started_again_was) {
  rule.on_lost(c, at(200ms));
  rule.on_joined(process("b", 2, 7));
  EXPECT_TRUE(rule.in_doubt(at(300ms)));
  EXPECT_TRUE(rule.verdict(at(60s)));
}

TEST_F(Chain, a_step_that_is_done_was_not_deadly) {
  EXPECT_TRUE(rule.is_careful());
  rule.on_report("d", {1, 3}, 17, 18);
  EXPECT_FALSE(rule.is_careful());
  rule.on_lost(c, at(200ms));
  EXPECT_FALSE(rule.in_doubt(at(200ms)));
}

TEST_F(Chain, losses_at_other_steps_are_of_another_chain) {
  rule.on_lost(c, at(200ms));
  rule.on_report("d", {1, 3}, 17, 16); // it stands at 16: a roll-back had brought them there
  EXPECT_TRUE(rule.in_doubt(at(300ms)));
  rule.on_view(view_of(4, {{d, {0, 4}}}));
  rule.on_report("d", {1, 4}, 16, 16);
  EXPECT_FALSE(rule.in_doubt(at(400ms)));
  EXPECT_EQ(rule.verdict(at(60s)), std::nullopt);
}

TEST_F(Chain, steps_are_compared_over_terms) {
  rule.on_lost(c, at(200ms));
  auto next = view_of(1, {{d, {0, 4}}});
  next.id.term = 2;
  rule.on_view(next);
  rule.on_report("d", next.id, 17, 3); // from a checkpoint
  EXPECT_EQ(rule.verdict(at(60s)), (deadly_work{17, {0}, {"a", "b", "c"}}));
}

TEST(lost_work, machines_that_fail_together_are_no_chain) {
  lost_work rule{{3, 5s}};
  rule.on_view(view_of(1, {{a, {0, 1}}, {b, {1, 2}}, {c, {2, 3}}, {d, {3, 4}}}));
  for (const auto& who : {a, b, c, d})
    rule.on_report(who.name, {1, 1}, std::nullopt, 17);
  rule.on_lost(a, at(0ms));
  rule.on_view(view_of(2, {{b, {0, 2}}, {c, {2, 3}}, {d, {3, 4}}}));
  rule.on_lost(b, at(0ms)); // it has not said that it has this view
  rule.on_view(view_of(3, {{c, {0, 3}}, {d, {3, 4}}}));
  rule.on_lost(c, at(0ms));
  EXPECT_FALSE(rule.in_doubt(at(1ms)));
  EXPECT_EQ(rule.verdict(at(60s)), std::nullopt);
}

TEST(lost_work, other_slices_are_other_work) {
  lost_work rule{{2, 5s}};
  rule.on_view(view_of(1, {{a, {0, 1}}, {b, {1, 2}}, {c, {2, 3}}}));
  for (const auto& who : {a, b, c})
    rule.on_report(who.name, {1, 1}, std::nullopt, 17);
  rule.on_lost(a, at(0ms));
  rule.on_view(view_of(2, {{b, {1, 2}}, {c, {0, 1}}}));
  for (const auto& who : {b, c})
    rule.on_report(who.name, {1, 2}, 17, 17);
  rule.on_lost(b, at(0ms));
  EXPECT_EQ(rule.verdict(at(60s)), std::nullopt);
}

TEST(lost_work, nothing_counts_where_lives_are_unknown_or_attempts_are_off) {
  for (const bool is_off : {false, true}) {
    lost_work rule{{is_off ? size_t{0} : size_t{1}, 5s}};
    const auto who = process("a", is_off ? 1 : 0);
    rule.on_view(view_of(1, {{who, {0, 1}}, {b, {1, 2}}}));
    rule.on_report("a", {1, 1}, std::nullopt, 17);
    rule.on_lost(who, at(0ms));
    EXPECT_FALSE(rule.is_careful());
  }
}

using namespace test;
using test::at;

TEST(work_watch, a_piece_is_measured_against_the_longest_that_ended) {
  work_watch watch{1s};
  EXPECT_FALSE(watch.hangs({9min, 0ms}, false)) << "nobody knows how long the first takes";
  EXPECT_TRUE(watch.hangs({11min, 0ms}, false));
  watch.on_report({0ms, 50ms}, at(1s));
  EXPECT_FALSE(watch.hangs({3s, 50ms}, false)) << "3 x lost_after at least";
  EXPECT_TRUE(watch.hangs({3001ms, 50ms}, false));
  watch.on_report({0ms, 6s}, at(2s));
  EXPECT_FALSE(watch.hangs({120s, 6s}, false)) << "slices of 6 s are no fault";
  EXPECT_TRUE(watch.hangs({121s, 6s}, false));
}

TEST(work_watch, who_stops_a_run_waits_less) {
  work_watch watch{1s};
  EXPECT_TRUE(watch.hangs({2001ms, 0ms}, true));
  watch.on_report({0ms, 6s}, at(1s));
  EXPECT_FALSE(watch.hangs({18s, 6s}, true));
  EXPECT_TRUE(watch.hangs({18'001ms, 6s}, true));
}

TEST(work_watch, a_run_stands_still_when_nothing_moves_and_nobody_works) {
  work_watch watch{1s};
  watch.on_moved(at(10s));
  EXPECT_FALSE(watch.stands_still(at(13s)));
  EXPECT_TRUE(watch.stands_still(at(13'001ms)));
  watch.on_report({499ms, 0ms}, at(13s));
  EXPECT_TRUE(watch.stands_still(at(13'001ms))) << "so little holds nobody up";
  watch.on_report({500ms, 0ms}, at(13s));
  EXPECT_FALSE(watch.stands_still(at(16s)));
}

TEST(work_watch, a_long_step_is_no_news) {
  work_watch watch{1s};
  EXPECT_FALSE(watch.works_as_usual({3s, 0ms}));
  watch.on_report({0ms, 6s}, at(1s));
  EXPECT_TRUE(watch.works_as_usual({7s, 6s}));
  EXPECT_FALSE(watch.works_as_usual({19s, 6s}));
  EXPECT_FALSE(watch.works_as_usual({0ms, 6s}));
}

TEST(membership_rule, who_hangs_is_taken_out_and_admitted_once_it_works_again) {
  auto rule = running();
  EXPECT_EQ(texts_of(rule.on_hung("a", "it hangs", at(10))),
            (texts{"turn away a1", "view 1.2 from 0: b r0..4, s s0..1, t s1..2"}));
  rule.on_joined(replica("a", 2), at(20));
  rule.on_fitness("a", {.hangs = true}, at(20));
  EXPECT_EQ(texts_of(rule.on_tick(at(5000))), texts{}) << "it hangs still";
  EXPECT_EQ(texts_of(rule.on_fitness("a", {}, at(5001))),
            (texts{"view 1.3 from 0: a r0..2, b r2..4, s s0..1, t s1..2"}));
}

TEST(membership_rule, who_hangs_with_spans_costs_a_term) {
  auto rule = running();
  rule.on_restarts(8, {});
  const auto decisions = rule.on_hung("t", "it hangs", at(10));
  EXPECT_EQ(texts_of(decisions), (texts{"turn away t1", "persist 2"}));
  EXPECT_EQ(reason_of(decisions[1]), "t was taken out: it hangs with its spans");
}

TEST(membership_rule, the_directors_own_process_does_not_go_for_hanging) {
  auto options = two_and_two();
  options.home = "s";
  auto rule = running(options);
  EXPECT_EQ(texts_of(rule.on_hung("s", "it hangs", at(10))), texts{});
}

TEST(membership_rule, a_circle_is_broken_by_a_new_term) {
  auto rule = running();
  rule.on_restarts(4, {});
  EXPECT_EQ(texts_of(rule.on_standstill("nothing moved", at(10))), (texts{"persist 2"}));
  EXPECT_EQ(texts_of(rule.on_term_persisted(2)),
            (texts{"restart 2.1 from 4: a r0..2, b r2..4, s s0..1, t s1..2"}));
}

TEST(membership_rule, terms_of_a_director_without_a_disk_rise_with_time) {
  using namespace std::chrono_literals;
  EXPECT_EQ(term_floor(0, 5s), 5000u);
  EXPECT_EQ(term_floor(9000, 5s), 9000u) << "the clock was set back";
  EXPECT_EQ(term_floor(3, -5s), 3u);
}

} // namespace
} // namespace troupe::lost_work_test
