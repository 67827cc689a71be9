// From which version a term begins when copies of spans lie in others' memory.

#include "coordinators/membership/cut_rule.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace troupe::cut_rule_test {

using namespace std::chrono_literals;
using held = std::vector<std::vector<held_copy>>;

/// Members a, b, .. with a shard each of so many blocks.
cluster_view view_of(const std::vector<size_t>& blocks) {
  cluster_view view;
  size_t begin = 0;
  for (size_t m = 0; m < blocks.size(); ++m) {
    view.members.push_back({std::string(1, static_cast<char>('a' + m)), m + 1, 1, 1});
    view.shards.push_back({m, 0, {begin, begin + blocks[m]}});
    begin += blocks[m];
  }
  return view;
}

cluster_view planned(const std::vector<size_t>& blocks, const copy_options& options) {
  auto view = view_of(blocks);
  plan_copies(view, options);
  return view;
}

TEST(cut_rule, copies_are_a_twentieth_of_what_an_owner_sends) {
  for (size_t n = 2; n <= 9; ++n)
    for (size_t slots = 0; slots <= 2; ++slots)
      for (size_t deputies = 1; deputies <= 2; ++deputies) {
        const auto view = planned(std::vector<size_t>(n, 5), {deputies, 0, slots});
        const auto count = std::min(deputies, n - 1);
        EXPECT_EQ(view.deputies, count);
        const auto span = 1.0 / static_cast<double>(n);
        const auto copied = static_cast<double>(count * (1 + slots)) * span;
        const auto sent = 2 * (1 - span);
        const auto every = static_cast<double>(view.copy_every);
        EXPECT_LE(copied / every, sent / 20 + 1e-9);
        EXPECT_TRUE(every == 1 || copied / (every - 1) > sent / 20 - 1e-9);
      }
  EXPECT_EQ(planned({5, 5, 5, 5}, {1, 0, 2}).copy_every, 10u);
  EXPECT_EQ(planned({5, 5, 5, 5}, {1, 3, 2}).copy_every, 3u);
}

TEST(cut_rule, nothing_is_copied_where_one_process_has_all_or_nobody_wants_it) {
  for (const auto& view :
       {planned({5}, {1, 4, 0}), planned({5, 0, 0}, {2, 4, 0}), planned({5, 5}, {0, 4, 0})}) {
    EXPECT_EQ(view.deputies, 0u);
    EXPECT_EQ(view.copy_every, 0u);
    EXPECT_TRUE(deputies_of(view, 0).empty());
    EXPECT_FALSE(next_copy(view, 0));
  }
}

TEST(cut_rule, deputies_own_the_next_spans_and_are_other_processes) {
  auto view = planned({5, 5, 0, 5}, {2, 4, 0});
  EXPECT_EQ(deputies_of(view, 0), (std::vector<size_t>{1, 3}));
  EXPECT_EQ(deputies_of(view, 1), (std::vector<size_t>{3, 0}));
  EXPECT_EQ(deputies_of(view, 3), (std::vector<size_t>{0, 1}));
  view.shards[1].member = 0; // two shards of one process
  plan_copies(view, {2, 4, 0});
  EXPECT_EQ(deputies_of(view, 0), (std::vector<size_t>{3}));
  EXPECT_EQ(deputies_of(view, 3), (std::vector<size_t>{0}));
}

TEST(cut_rule, older_copies_are_not_needed_once_the_next_ones_are_everywhere) {
  auto view = planned({5, 5}, {1, 10, 0});
  view.start_version = 25;
  EXPECT_EQ(next_copy(view, 25), 30u);
  EXPECT_EQ(next_copy(view, 30), 40u);
  EXPECT_EQ(copies_needed_from(view, 29), 0u); // those of the term before
  EXPECT_EQ(copies_needed_from(view, 30), 25u);
  EXPECT_EQ(copies_needed_from(view, 39), 25u);
  EXPECT_EQ(copies_needed_from(view, 40), 30u);
  view.copy_every = 0;
  EXPECT_EQ(copies_needed_from(view, 25), 0u);
  EXPECT_EQ(copies_needed_from(view, 26), 26u);
}

TEST(cut_rule, the_newest_version_that_is_whole_counts) {
  const held members{
    {{20, {{0, 5}}}, {30, {{0, 5}}}}, {{20, {{0, 10}}}, {30, {{5, 9}}}}, {{10, {{0, 10}}}}};
  const auto found = newest_cut(members, 10, {0, 100});
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, (cut{20, {{0, {0, 5}}, {1, {5, 10}}}}));
  EXPECT_EQ(newest_cut(members, 10, {0, 20})->version, 10u);
  EXPECT_FALSE(newest_cut(members, 10, {21, 100}));
  EXPECT_FALSE(newest_cut(members, 11, {0, 100}));
  EXPECT_FALSE(newest_cut({}, 10, {0, 100}));
}

TEST(cut_rule, blocks_beyond_the_model_count_for_nothing) {
  const auto found = newest_cut({{{7, {{3, 900}, {0, 4}}}}}, 10, {0, 100});
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, (cut{7, {{0, {3, 10}}, {0, {0, 3}}}}));
}

TEST(cut_rule, all_who_were_there_are_asked_until_they_answer) {
  auto last = planned({5, 5, 5}, {1, 4, 0});
  for (auto& who : last.members)
    who.life = 100 + who.incarnation;
  auto members = last.members;
  members[2].life = 77;
  members[2].incarnation = 9; // came anew, with nothing
  members[1].incarnation = 8; // its link was lost
  cut_question question;
  const moment start{10s};
  EXPECT_EQ(question.due(last, members, 3, false, start), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(question.due(last, members, 3, false, start + 199ms).empty());
  EXPECT_FALSE(question.is_over(start));
  question.on_answer("a", {2, {{4, {{0, 5}}}}}); // of an earlier question
  question.on_answer("a", {3, {}});
  question.on_answer("a", {3, {{8, {{0, 5}}}}}); // the last counts
  question.on_answer("c", {3, {{8, {{0, 5}}}}}); // it was not asked
  EXPECT_EQ(question.due(last, members, 3, false, start + 200ms), (std::vector<std::string>{"b"}));
  EXPECT_FALSE(question.is_over(start + 999ms));
  EXPECT_TRUE(question.is_over(start + 1s));
  question.on_lost("b");
  EXPECT_TRUE(question.is_over(start + 200ms));
  EXPECT_EQ(question.answers_of(members), (held{{{8, {{0, 5}}}}, {}, {}}));
  question.on_lost("a");
  EXPECT_EQ(question.answers_of(members), (held{{}, {}, {}}));
}

TEST(cut_rule, nobody_is_asked_where_nothing_is_copied) {
  cut_question question;
  EXPECT_TRUE(question.due(std::nullopt, view_of({5}).members, 1, false, moment{}).empty());
  EXPECT_TRUE(question.due(view_of({5, 5}), view_of({5, 5}).members, 1, false, moment{}).empty());
  EXPECT_TRUE(question.is_over(moment{}));
}

TEST(cut_rule, where_all_stand_everybody_is_waited_for_however_long_it_takes) {
  const auto last = view_of({5, 5}); // nothing is copied
  cut_question question;
  EXPECT_EQ(question.due(last, last.members, 2, true, moment{}),
            (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(question.is_over(moment{1h}));
  EXPECT_EQ(question.due(last, last.members, 2, true, moment{1h}).size(), 2u);
  question.on_answer("a", {2, {}});
  question.on_answer("b", {2, {}});
  EXPECT_TRUE(question.is_over(moment{1h}));
}

// Owners that run ahead of each other as the rule permits, and lose one of them at any moment.
RC_GTEST_PROP(cut_rule, whoever_is_lost_at_most_two_copies_are_undone, ()) {
  const auto owners = *rc::gen::inRange<size_t>(2, 6);
  auto view = planned(std::vector<size_t>(owners, 2),
                      {*rc::gen::inRange<size_t>(1, 3), *rc::gen::inRange<uint64_t>(1, 6), 1});
  struct owner {
    uint64_t version = 0;
    std::map<uint64_t, std::set<size_t>> copies; ///< of its span: who has it
    std::optional<uint64_t> under_way;
  };
  std::vector<owner> all(owners);
  const auto whole = [&] { // in each process a little later, so at least here
    return std::ranges::min_element(all, {}, &owner::version)->version;
  };
  const auto lose = [&](size_t lost) {
    held answers(owners);
    for (size_t k = 0; k < owners; ++k)
      for (const auto& [version, holders] : all[k].copies)
        for (const auto m : holders)
          if (m != lost && version >= copies_needed_from(view, whole()))
            answers[m].push_back({version, {view.shards[k].blocks}});
    uint64_t newest = 0;
    for (const auto& one : all)
      newest = std::max(newest, one.version);
    const auto found = newest_cut(answers, 2 * owners, {0, 1'000'000});
    const auto start = found ? found->version : 0;
    RC_ASSERT(newest <= start + 2 * view.copy_every);
  };
  const auto moves = *rc::gen::container<std::vector<std::pair<size_t, bool>>>(
    rc::gen::pair(rc::gen::inRange<size_t>(0, owners), rc::gen::arbitrary<bool>()));
  for (const auto& [who, steps] : moves) {
    auto& one = all[who];
    const auto deputies = deputies_of(view, who);
    if (steps) { // a step needs the version before whole; a copy, the last one at the deputies
      const auto next = one.version + 1;
      const bool is_copy = next % view.copy_every == 0;
      if (one.version > whole() || (is_copy && one.under_way))
        continue;
      one.version = next;
      if (is_copy) {
        one.copies[next] = {who};
        one.under_way = next;
      }
    } else if (one.under_way) {
      one.copies[*one.under_way].insert(deputies.begin(), deputies.end());
      one.under_way.reset();
    }
    for (size_t lost = 0; lost < owners; ++lost)
      lose(lost);
  }
}

} // namespace troupe::cut_rule_test
