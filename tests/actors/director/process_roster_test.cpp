// What processes said of themselves: silence, counts, losses; and what the watch makes of it.

#include "actors/director/process_roster.hpp"
#include "actors/director/run_history.hpp"
#include "actors/director/run_membership.hpp"

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

TEST(run_watch, a_report_that_is_late_by_almost_a_pause_ends_nobody) {
  process_roster roster;
  auto quick = options_of_two();
  quick.lost_after = 500ms;
  run_watch watch{quick};
  watch.begin(begin);
  roster.on_link("a", begin);
  roster.on_link("b", begin);
  watch.on_view(begin);
  for (auto now = begin; now <= begin + 10s; now += 950ms) {
    roster.on_report(report_of("a"), now);
    if ((now - begin) % 2'850ms == 0ms)
      roster.on_report(report_of("b"), now);
    EXPECT_TRUE(watch.look_for_hung(roster, view_of_two(), now).empty());
  }
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

// How far a run has got: rows that are merged, cut and recalled, and the time of each.

/// 10 steps an epoch, every second one is evaluated on 4 test rows.
director_options options() {
  director_options result;
  result.rule.plan = {
    .row_count = 80, .batch_size = 8, .slice_count = 4, .epoch_count = 100, .step_limit = {}};
  result.rule.plan.evaluate_every = 2;
  result.rule.rows = {4, 0};
  return result;
}

batch_sums sums(double loss, uint64_t correct) {
  batch_sums result;
  result.loss_sum = 8 * loss;
  result.sample_count = 8;
  result.correct_count = correct;
  return result;
}

epoch_figures row(uint64_t version, double loss) {
  return {version, sums(loss, 4), std::nullopt, std::nullopt};
}

training_report report(uint64_t version, double seconds, bool is_row = true) {
  training_report result;
  result.version = version;
  result.seconds = seconds;
  result.is_row = is_row;
  return result;
}

TEST(run_history, a_row_has_the_time_its_shard_told_and_its_progress_begins_at_the_row_before) {
  run_history history{options()};
  EXPECT_TRUE(history.on_report(report(10, 2), moment{}));
  history.add_row(row(10, 0.5), 9);
  EXPECT_FALSE(history.on_report(report(5, 1), moment{}));
  EXPECT_EQ(history.version(), 10u);
  EXPECT_EQ(history.rows().back().seconds, 2);
  EXPECT_EQ(history.rows().back().epoch, 1u);
  EXPECT_EQ(history.rows().back().train_accuracy, 0.5);
  history.on_report(report(15, 3, false), moment{});
  const auto progress = history.progress_at(15, sums(0.25, 6), 9);
  EXPECT_EQ(progress.seconds, 3);
  EXPECT_EQ(progress.seconds_of_epoch, 1);
  EXPECT_EQ(progress.step, 5u);
  EXPECT_EQ(progress.train_loss, 0.25);
  EXPECT_EQ(history.seconds_at(99, 9), 9) << "of a version nobody told of: now";
}

TEST(run_history, a_second_row_of_a_version_adds_its_evaluation_to_the_first) {
  run_history history{options()};
  history.add_row(row(10, 0.5), 1);
  epoch_figures again{10, {}, sums(0.75, 2), std::nullopt};
  const auto progress = history.add_row(again, 1);
  ASSERT_EQ(history.rows().size(), 1u);
  EXPECT_EQ(history.rows()[0].train_loss, 0.5);
  EXPECT_EQ(history.rows()[0].train_accuracy, 0.5);
  EXPECT_EQ(history.rows()[0].test_loss, 0.75);
  EXPECT_EQ(progress.finished_epoch, history.rows()[0]);
}

TEST(run_history, rows_beyond_the_end_are_cut) {
  run_history history{options()};
  history.add_row(row(10, 0.5), 1);
  history.add_row(row(20, 0.25), 2);
  history.cut_after(15);
  ASSERT_EQ(history.rows().size(), 1u);
  EXPECT_EQ(history.rows()[0].steps, 10u);
}

TEST(run_history,
     goes_on_from_a_checkpoint_with_its_rows_and_time_but_not_the_one_of_an_interrupt) {
  run_history history{options()};
  checkpoint x;
  x.version = 13;
  x.seconds = 100;
  x.history.resize(2);
  x.history[0].steps = 10;
  x.history[0].test_loss = 0.5;
  x.history[1].steps = 13;
  history.add_row(row(10, 0.125), 1);
  history.begin(13);
  EXPECT_TRUE(history.rows().empty());
  history.recall(x);
  ASSERT_EQ(history.rows().size(), 1u) << "an undisturbed run has no row at 13";
  EXPECT_EQ(history.version(), 13u);
  history.on_report(report(20, 2), moment{});
  EXPECT_EQ(history.seconds_at(20, 9), 102);
  x.history.pop_back();
  history.keep_rows_of_undisturbed_run(x);
  EXPECT_FALSE(x.history[0].test_loss) << "the first epoch is not evaluated";
}

TEST(run_history, is_copied_and_compared) {
  run_history history{options()};
  const auto before = history;
  EXPECT_EQ(history, before);
  history.on_report(report(1, 1, false), moment{});
  EXPECT_NE(history, before);
}

} // namespace
} // namespace troupe::process_roster_test
