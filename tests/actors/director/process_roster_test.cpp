// What processes said of themselves: silence, counts, losses; and what the watch makes of it.

#include "actors/director/process_roster.hpp"
#include "actors/director/run_watch.hpp"

#include <gtest/gtest.h>

namespace troupe::process_roster_test {

namespace {

using namespace std::chrono_literals;

constexpr moment begin{1h};

cluster_view view_of_two() {
  cluster_view result;
  result.members = {{"a", 1, 1, 1}, {"b", 1, 2, 0}};
  result.replicas = {{0, 0, {}}, {1, 0, {}}, {1, 1, {}}};
  return result;
}

node_report report_of(const std::string& who) {
  node_report result;
  result.name = who;
  result.incarnation = 1;
  return result;
}

membership_options options_of_two() {
  membership_options result;
  result.expected = {{"a", 1, 1}, {"b", 2, 0}};
  result.lost_after = 1s;
  return result;
}

} // namespace

TEST(process_roster, who_has_said_nothing_is_silent_since_its_link_began_and_has_not_counted) {
  process_roster roster;
  const auto view = view_of_two();
  roster.on_link("a", begin);
  roster.on_link("b", begin + 1s);
  auto news = report_of("b");
  news.round = 1;
  roster.on_report(news, begin + 2s);
  roster.on_link("b", begin + 3s);
  EXPECT_FALSE(roster.has_counted(view, 1)) << "its report was of the link before";
  const auto heard = roster.heard(view, begin + 4s);
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_EQ(heard[0].silence, 4s);
  EXPECT_EQ(heard[1].silence, 1s);
  EXPECT_EQ(roster.find("b"), nullptr);
  roster.on_report(news, begin + 5s);
  auto other = report_of("a");
  other.round = 2;
  roster.on_report(other, begin + 5s);
  EXPECT_TRUE(roster.has_counted(view, 1));
  EXPECT_FALSE(roster.has_counted(view, 2));
}

TEST(process_roster, a_report_says_what_is_new) {
  process_roster roster;
  roster.on_link("a", begin);
  auto news = report_of("a");
  news.held = 3;
  news.unreachable = {"b", "c"};
  EXPECT_TRUE(roster.on_report(news, begin).moved);
  news.unreachable = {"c"};
  news.wire.bytes_sent[0] = 100;
  auto change = roster.on_report(news, begin);
  EXPECT_FALSE(change.moved);
  EXPECT_TRUE(change.sent);
  EXPECT_EQ(change.reachable, (std::vector<std::string>{"b"}));
  news.wire.bytes_sent[0] = 200;
  news.wire.resends = 1;
  EXPECT_FALSE(roster.on_report(news, begin).sent) << "it was asked for: somebody missed it";
}

TEST(process_roster, a_replica_is_lost_once) {
  process_roster roster;
  roster.on_link("b", begin);
  auto news = report_of("b");
  news.replicas_lost = 1;
  roster.on_report(news, begin);
  roster.on_report(news, begin);
  EXPECT_EQ(roster.replicas_lost(), 1u);
  roster.on_link_lost("b", 2);
  EXPECT_EQ(roster.replicas_lost(), 2u);
  EXPECT_FALSE(roster.has_link("b"));
}

TEST(run_watch, who_works_longer_than_others_ever_did_hangs_and_on_a_stop_who_is_silent) {
  process_roster roster;
  run_watch watch{options_of_two()};
  watch.begin(begin);
  roster.on_link("a", begin);
  roster.on_link("b", begin);
  auto a = report_of("a");
  a.work = {0ms, 200ms};
  auto b = report_of("b");
  b.work = {4'100ms, 0ms};
  for (const auto& news : {a, b})
    watch.on_report(roster.on_report(news, begin), news.work, begin);
  EXPECT_EQ(watch.look_for_hung(roster, view_of_two(), begin + 50ms),
            (std::vector<hung_process>{{"b", "its replicas have not answered for 4.1 s"}}));
  EXPECT_TRUE(watch.look_for_hung(roster, view_of_two(), begin + 1'100ms).empty())
    << "after a pause of its own the director judges nobody";
  b.work = {0ms, 0ms};
  for (auto now = begin + 1'150ms; now < begin + 4s; now += 50ms) {
    watch.on_report(roster.on_report(b, now), b.work, now);
    EXPECT_TRUE(watch.look_for_hung(roster, view_of_two(), now).empty());
  }
  watch.on_stop(begin + 4s);
  EXPECT_EQ(watch.look_for_hung(roster, view_of_two(), begin + 4s),
            (std::vector<hung_process>{{"a", "nothing was heard of it for 4.0 s"}}));
}

TEST(run_watch, of_whom_nothing_is_heard_where_nothing_moves_is_not_waited_for) {
  process_roster roster;
  run_watch watch{options_of_two()};
  watch.begin(begin);
  for (const auto* who : {"a", "b"}) {
    roster.on_link(who, begin);
    roster.on_report(report_of(who), begin);
  }
  watch.on_view(begin);
  for (auto now = begin; now <= begin + 3s; now += 50ms) {
    roster.on_report(report_of("a"), now);
    EXPECT_TRUE(watch.look_for_hung(roster, view_of_two(), now).empty());
  }
  auto moves = watch;
  const std::vector<hung_process> silent{{"b", "nothing was heard of it for 3.0 s"}};
  EXPECT_EQ(watch.look_for_hung(roster, view_of_two(), begin + 3'001ms), silent);
  moves.on_work(begin + 3s);
  EXPECT_TRUE(moves.look_for_hung(roster, view_of_two(), begin + 3'001ms).empty())
    << "others get on without it";
  watch.look_for_hung(roster, view_of_two(), begin + 20s);
  EXPECT_TRUE(watch.look_for_hung(roster, view_of_two(), begin + 20'050ms).empty())
    << "nobody was heard while the director stood still";
}

TEST(run_watch, a_run_stands_still_when_nobody_works_and_again_and_again_at_one_version) {
  run_watch watch{options_of_two()};
  watch.begin(begin);
  watch.on_view(begin);
  EXPECT_FALSE(watch.stands_still(5, begin + 3s));
  auto now = begin;
  for (size_t times = 1; times <= 3; ++times) {
    now += 3'001ms;
    EXPECT_TRUE(watch.stands_still(5, now));
    EXPECT_FALSE(watch.stands_still(5, now)) << "it is said once";
    EXPECT_EQ(watch.has_stood_too_often(), times == 3);
  }
  watch.on_work(now + 2s);
  EXPECT_FALSE(watch.stands_still(5, now + 3'001ms));
  EXPECT_TRUE(watch.stands_still(6, now + 6s));
  EXPECT_FALSE(watch.has_stood_too_often()) << "another version";
}

TEST(run_watch, a_stop_waits_two_seconds_for_who_is_missing) {
  run_watch watch{options_of_two()};
  EXPECT_FALSE(watch.is_stop_due(begin, begin + 1h)) << "nobody asked";
  watch.on_stop(begin + 1s);
  watch.on_stop(begin + 2s);
  EXPECT_FALSE(watch.is_stop_due(begin, begin + 2'999ms));
  EXPECT_TRUE(watch.is_stop_due(begin, begin + 3s)) << "the first time counts";
  EXPECT_FALSE(watch.is_stop_due(begin + 2s, begin + 3s));
}

TEST(run_watch, is_copied_and_compared) {
  run_watch watch{options_of_two()};
  const auto before = watch;
  EXPECT_EQ(watch, before);
  watch.on_stop(begin);
  EXPECT_NE(watch, before);
}

} // namespace troupe::process_roster_test
