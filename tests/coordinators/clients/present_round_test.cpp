#include "coordinators/clients/present_round.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

using namespace troupe;
using namespace std::chrono_literals;

namespace {

const moment start{};

present_options options(size_t cohort, size_t invited, size_t min_count = 1, size_t groups = 1) {
  return {5, cohort, invited, min_count, groups, milliseconds{1'000}};
}

client_names clients(size_t count) {
  client_names result;
  for (size_t i = 0; i < count; ++i)
    result["c" + std::to_string(i)] = 1'000 + 77 * i;
  return result;
}

std::set<std::string> names_of(const std::vector<invitation>& x) {
  std::set<std::string> result;
  for (const auto& one : x)
    result.insert(one.name);
  return result;
}

TEST(present_round, waits_for_enough_clients_or_for_the_time) {
  present_round round{options(3, 4, 2)};
  round.open(0, start);
  EXPECT_TRUE(round.invite(clients(3), start).empty());
  EXPECT_EQ(round.invite(clients(4), start).size(), 4);
  EXPECT_TRUE(round.has_begun());

  round.open(1, start);
  EXPECT_TRUE(round.invite(clients(2), start + 999ms).empty());
  EXPECT_FALSE(round.is_over(start + 999ms));
  EXPECT_EQ(round.invite(clients(2), start + 1'000ms).size(), 2);
  EXPECT_FALSE(round.is_over(start + 1'001ms));

  round.open(2, start);
  EXPECT_TRUE(round.invite(clients(1), start + 1'000ms).empty());
  EXPECT_TRUE(round.is_over(start + 1'000ms)); // and void
}

TEST(present_round, invites_by_a_hash_of_the_name_and_not_by_arrival) {
  std::set<std::set<std::string>> of_rounds;
  for (uint64_t number = 0; number < 20; ++number) {
    present_round round{options(3, 3)};
    round.open(number, start);
    const auto all = names_of(round.invite(clients(10), start));
    EXPECT_EQ(all.size(), 3);
    of_rounds.insert(all);

    present_round again{options(3, 3)};
    again.open(number, start);
    EXPECT_EQ(names_of(again.invite(clients(10), start)), all);
    auto fewer = clients(10); // who is not invited may be away
    for (const auto& [name, key] : clients(10))
      if (!all.contains(name) && fewer.size() > 4)
        fewer.erase(name);
    present_round other{options(3, 3)};
    other.open(number, start);
    EXPECT_EQ(names_of(other.invite(fewer, start)), all);
  }
  EXPECT_GT(of_rounds.size(), 10);
}

TEST(present_round, the_first_updates_count) {
  present_round round{options(2, 4)};
  round.open(0, start);
  const auto all = round.invite(clients(4), start);
  round.on_update(all[3].name, true);
  EXPECT_FALSE(round.is_over(start));
  EXPECT_EQ(round.group_of(all[3].name), std::nullopt); // once
  round.on_update(all[1].name, true);
  EXPECT_TRUE(round.is_over(start));
  EXPECT_EQ(round.counted(), 2);
  EXPECT_EQ(round.missing(), 2);
}

TEST(present_round, who_is_lost_is_replaced_by_the_next_in_its_group) {
  present_round round{options(3, 3, 3, 3)};
  round.open(0, start);
  const auto here = clients(5);
  const auto all = round.invite(here, start);
  ASSERT_EQ(all.size(), 3);
  round.set_here(all[1].name, false);
  auto left = here;
  left.erase(all[1].name);
  const auto more = round.invite(left, start);
  ASSERT_EQ(more.size(), 1);
  EXPECT_EQ(more[0].group, all[1].group);
  EXPECT_FALSE(names_of(all).contains(more[0].name));
  round.set_here(all[1].name, true); // and may hand in what it computed
  EXPECT_EQ(round.group_of(all[1].name), all[1].group);
  EXPECT_TRUE(round.invite(here, start).empty());
}

TEST(present_round, a_refused_update_is_replaced_too) {
  present_round round{options(2, 2, 1, 0)};
  round.open(0, start);
  const auto all = round.invite(clients(3), start);
  ASSERT_EQ(all.size(), 2);
  EXPECT_NE(all[0].group, all[1].group);
  round.on_update(all[0].name, false);
  const auto more = round.invite(clients(3), start);
  ASSERT_EQ(more.size(), 1);
  EXPECT_EQ(more[0].group, all[0].group);
}

TEST(present_round, ends_early_when_nobody_is_left_but_only_with_enough) {
  present_round round{options(3, 3, 2)};
  round.open(0, start);
  const auto all = round.invite(clients(3), start);
  round.on_update(all[0].name, true);
  round.set_here(all[1].name, false);
  round.set_here(all[2].name, false);
  EXPECT_FALSE(round.is_over(start + 999ms)); // one of them may come back
  EXPECT_TRUE(round.is_over(start + 1'000ms));
  round.set_here(all[1].name, true);
  round.on_update(all[1].name, true);
  EXPECT_TRUE(round.is_over(start + 1ms));
}

TEST(present_round, who_comes_later_is_for_the_next_round) {
  present_round round{options(2, 2)};
  round.open(0, start);
  ASSERT_EQ(round.invite(clients(2), start).size(), 2);
  round.set_here("c0", false);
  auto here = clients(6);
  here.erase("c0");
  EXPECT_TRUE(round.invite(here, start).empty());
  EXPECT_EQ(round.group_of("c4"), std::nullopt);
}

TEST(present_round, a_hurried_round_waits_for_nobody) {
  present_round round{options(2, 3)};
  round.open(0, start);
  round.hurry(start + 1ms);
  EXPECT_TRUE(round.invite(clients(5), start + 1ms).empty());
  EXPECT_TRUE(round.is_over(start + 1ms));
  round.open(1, start);
  ASSERT_EQ(round.invite(clients(3), start).size(), 3);
  EXPECT_FALSE(round.is_over(start + 1ms));
  round.hurry(start + 1ms);
  EXPECT_TRUE(round.is_over(start + 1ms));
  round.open(2, start);
  EXPECT_FALSE(round.is_over(start + 1ms));
}

TEST(present_round, a_secret_coin_waits_until_somebody_is_here) {
  present_round round{options(4, 4)};
  round.open(0, start, [](uint64_t) { return true; });
  EXPECT_FALSE(round.is_over(start + 9'999ms));
  EXPECT_FALSE(round.has_waited_in_vain(start + 9'999ms));
  auto in_vain = round;
  EXPECT_EQ(round.invite(clients(1), start + 9'999ms).size(), 1);
  EXPECT_FALSE(round.has_waited_in_vain(start + 1h));
  EXPECT_TRUE(in_vain.is_over(start + 10s));
  EXPECT_TRUE(in_vain.has_waited_in_vain(start + 10s));
}

TEST(present_round, a_secret_coin_invites_any_number) {
  present_round round{options(4, 4)};
  round.open(0, start, [](uint64_t key) { return key % 2 == 0; });
  const auto all = round.invite(clients(20), start);
  EXPECT_EQ(all.size(), 10);
  for (size_t i = 0; i < 9; ++i)
    round.on_update(all[i].name, true);
  EXPECT_FALSE(round.is_over(start)); // the cohort's size does not end it
  round.on_update(all[9].name, true);
  EXPECT_TRUE(round.is_over(start));
}

} // namespace
