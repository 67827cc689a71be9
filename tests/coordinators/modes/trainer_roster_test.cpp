// Who sits where; work that is given out once, and again only when whoever had it is lost; and
// evaluations, which go to another then.

#include "coordinators/modes/trainer_roster.hpp"

#include "coordinators/modes/main_model.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <stdexcept>

namespace troupe::trainer_roster_test {
namespace {

moment at(int64_t ms) {
  return moment{} + milliseconds{ms};
}

/// This many trainers, of lives 100, 101, ..
trainer_roster roster_of(size_t count) {
  trainer_roster result;
  for (size_t i = 0; i < count; ++i)
    result.join(100 + i, {"node", i});
  return result;
}

/// The place gets a piece; its task.
work_task taken(trainer_roster& x, size_t place) {
  static uint64_t ticket = 0;
  ++ticket;
  return {ticket, x.take(place, ticket, at(0))};
}

bool finish(trainer_roster& x, size_t place, const work_task& task) {
  return x.finish(place, task, at(0), {});
}

/// place: version, of all shares given since the last call.
std::vector<std::pair<size_t, uint64_t>> given(trainer_roster& x) {
  std::vector<std::pair<size_t, uint64_t>> result;
  for (const auto& one : x.take_given())
    result.emplace_back(one.place, one.share.version);
  return result;
}

using shares = std::vector<std::pair<size_t, uint64_t>>;

// Pieces 0 and 1 are of north's rows, 2 and 3 of south's; chunk 0 is north's, 1 south's, and 2 nobody's.
roster_options of_two_holdings() {
  roster_options result;
  result.homes.holders = {{{0, 2}, {2, 4}}, {{"north", 0}, {"south", 1}}};
  result.homes.plan = {.row_count = 40, .batch_size = 10, .slice_count = 4, .step_limit = {}};
  result.homes.plan.holdings = {{20, {0, 2}}, {20, {2, 4}}};
  result.homes.chunks = {{{0, 1}, 0}, {{1, 2}, 1}, {{2, 3}}};
  return result;
}

TEST(trainer_roster, gives_pieces_to_who_has_their_rows_and_passes_over_the_others) {
  trainer_roster x{of_two_holdings()};
  const auto south = x.join(1, {"south", 0});
  EXPECT_EQ(x.take(south, 1, at(0)), 2u);
  x.finish(south, {1, 2}, at(1), {});
  EXPECT_EQ(x.take(south, 2, at(1)), 3u);
  x.finish(south, {2, 3}, at(2), {});
  EXPECT_FALSE(x.has_work(south, 4, at(2))) << "what is left is north's";
  EXPECT_THROW(x.start_anew(), std::logic_error);
  const auto other = x.join(2, {"stranger", 0}), north = x.join(3, {"north", 0});
  EXPECT_FALSE(x.has_work(other, 4, at(2)));
  EXPECT_EQ(x.take(north, 3, at(2)), 0u);
  x.lose(north, at(3));
  EXPECT_FALSE(x.has_work(south, 4, at(9)));
  const auto again = x.join(4, {"north", 1});
  EXPECT_EQ(x.take(again, 4, at(9)), 0u);
  x.finish(again, {4, 0}, at(9), {});
  EXPECT_EQ(x.take(again, 5, at(9)), 1u);
  x.finish(again, {5, 1}, at(9), {});
  EXPECT_NO_THROW(x.start_anew());
}

// Of 12 steps an epoch south has the third, seventh and eleventh.
TEST(trainer_roster, a_small_holdings_steps_are_not_all_taken_before_the_others) {
  roster_options options;
  options.homes.holders = {{{}, {}}, {{"north", 0}, {"south", 1}}};
  options.homes.plan = {.row_count = 12, .epoch_count = 9, .step_limit = {}};
  options.homes.plan.holdings = {{9}, {3}};
  options.homes.are_steps = true;
  trainer_roster x{options};
  const auto north = x.join(1, {"north", 0}), south = x.join(2, {"south", 0});
  std::vector<uint64_t> done;
  const auto work = [&](size_t place) {
    if (!x.has_work(place, 100, at(0)))
      return false;
    const auto task = taken(x, place);
    EXPECT_EQ(options.homes.plan.holding_of(task.piece, 0), place == north ? 0u : 1u);
    EXPECT_TRUE(finish(x, place, task));
    done.push_back(task.piece);
    return true;
  };
  while (work(south)) {
  }
  EXPECT_LE(done.size(), 2u) << "a few ahead of north's first";
  const auto waits = taken(x, north);
  EXPECT_FALSE(x.has_work(south, 100, at(0)));
  EXPECT_TRUE(finish(x, north, waits));
  done.push_back(waits.piece);
  for (bool moves = true; moves;) {
    moves = work(north);
    moves = work(south) || moves;
  }
  std::ranges::sort(done);
  ASSERT_EQ(done.size(), 100u) << "neither waits for ever";
  EXPECT_EQ(done.back(), 99u);
  EXPECT_EQ(x.begun_count(), 100u);
}

TEST(trainer_roster, evaluates_rows_where_they_are) {
  trainer_roster x{of_two_holdings()};
  const auto south = x.join(1, {"south", 0});
  x.evaluate(7, {}, 3);
  shares given; // place, chunk
  const auto take = [&] {
    for (const auto& one : x.take_given())
      for (auto chunk = one.share.chunks.begin; chunk < one.share.chunks.end; ++chunk)
        given.push_back({one.place, chunk});
    std::ranges::sort(given);
    return std::exchange(given, {});
  };
  EXPECT_EQ(take(), (shares{{south, 1}, {south, 2}}));
  const auto other = x.join(2, {"stranger", 0});
  EXPECT_EQ(take(), shares{});
  const auto north = x.join(3, {"north", 0});
  EXPECT_EQ(take(), (shares{{north, 0}})) << "it waited for who has the rows";
  x.lose(south, at(1));
  const auto moved = take();
  EXPECT_EQ(moved.size(), 1u) << "chunk 1 waits, nobody's chunk goes to another";
  EXPECT_TRUE(moved[0].first == north || moved[0].first == other);
}

TEST(trainer_roster, who_comes_takes_the_lowest_empty_seat_or_a_new_one) {
  auto x = roster_of(3);
  EXPECT_EQ(x.find(101), 1u);
  EXPECT_EQ(x.find(7), std::nullopt);
  EXPECT_EQ(x.all_but({100, 102, 7}), (std::vector<size_t>{1}));
  x.lose(1, at(0));
  x.lose(0, at(0));
  EXPECT_EQ(x.find(101), std::nullopt);
  EXPECT_EQ(x.living_count(), 1u);
  EXPECT_EQ(x.join(7, {"other", 0}), 0u);
  EXPECT_EQ(x.join(8, {"other", 1}), 1u);
  EXPECT_EQ(x.join(9, {"other", 2}), 3u);
  EXPECT_EQ(x.place_count(), 4u);
  EXPECT_EQ(x.living_count(), 4u);
}

TEST(trainer_roster, pieces_are_begun_in_order) {
  auto x = roster_of(2);
  const auto first = taken(x, 0);
  EXPECT_EQ(first.piece, 0u);
  EXPECT_EQ(taken(x, 1).piece, 1u);
  EXPECT_FALSE(x.is_free(0));
  EXPECT_TRUE(finish(x, 0, first));
  EXPECT_TRUE(x.is_free(0));
  EXPECT_FALSE(x.has_work(0, 2));
  EXPECT_TRUE(x.has_work(0, 3));
  EXPECT_EQ(taken(x, 0).piece, 2u);
  EXPECT_EQ(x.begun_count(), 3u);
}

TEST(trainer_roster, what_a_lost_one_had_is_taken_before_anything_new) {
  auto x = roster_of(3);
  work_task last;
  for (size_t place = 0; place < 3; ++place)
    last = taken(x, place);
  EXPECT_FALSE(x.has_work(0, 3));
  x.lose(1, at(0));
  x.lose(0, at(0));
  EXPECT_TRUE(x.has_work(0, 0));
  for (const uint64_t piece : {0, 1, 3}) {
    finish(x, 2, last);
    last = taken(x, 2);
    EXPECT_EQ(last.piece, piece);
  }
  EXPECT_FALSE(x.has_work(0, 0));
}

TEST(trainer_roster, a_result_counts_from_whoever_has_the_piece) {
  auto x = roster_of(2);
  const auto task = taken(x, 0);
  EXPECT_FALSE(finish(x, 1, task)) << "another's";
  EXPECT_FALSE(finish(x, 0, {task.ticket + 1, task.piece})) << "of another order";
  EXPECT_FALSE(finish(x, 0, {task.ticket, task.piece + 1})) << "of another piece";
  EXPECT_THROW(finish(x, 9, task), std::out_of_range) << "nobody's";
  x.lose(0, at(0));
  EXPECT_FALSE(finish(x, 0, task)) << "a lost one's";
  const auto again = taken(x, 1);
  EXPECT_EQ(again.piece, task.piece);
  EXPECT_TRUE(finish(x, 1, again));
  EXPECT_FALSE(finish(x, 1, again)) << "twice";
  EXPECT_EQ(x.statistics().of(0).refused_count, 3u);
  EXPECT_EQ(x.statistics().of(1).refused_count, 2u);
  EXPECT_EQ(x.statistics().of(1).result_count, 1u);
}

TEST(trainer_roster, an_empty_seat_gets_nothing_until_somebody_comes) {
  auto x = roster_of(2);
  x.lose(0, at(0));
  const auto before = x;
  x.lose(0, at(5));
  EXPECT_EQ(x, before) << "it was known";
  EXPECT_FALSE(x.is_free(0));
  EXPECT_FALSE(x.is_free(5));
  EXPECT_THROW(x.take(0, 1, at(0)), std::logic_error);
  x.join(7, {});
  EXPECT_TRUE(x.is_free(0));
}

TEST(trainer_roster, who_waits_is_not_free_until_it_is_released_or_lost) {
  auto x = roster_of(2);
  x.wait(0);
  x.wait(1);
  EXPECT_FALSE(x.is_free(0));
  x.release({0});
  EXPECT_TRUE(x.is_free(0));
  EXPECT_FALSE(x.is_free(1));
  x.lose(1, at(0));
  x.join(7, {});
  EXPECT_TRUE(x.is_free(1)) << "somebody else sits there";
}

TEST(trainer_roster, starts_anew_only_when_all_is_done) {
  auto x = roster_of(2);
  taken(x, 0);
  EXPECT_THROW(x.start_anew(), std::logic_error);
  x.lose(0, at(0));
  EXPECT_THROW(x.start_anew(), std::logic_error);
  finish(x, 1, taken(x, 1));
  x.start_anew();
  EXPECT_EQ(taken(x, 1).piece, 0u);
}

TEST(trainer_roster, a_version_is_shared_out_among_those_who_are_there) {
  auto x = roster_of(3);
  x.lose(1, at(0));
  const numbered_model model{7, buffer{4}};
  x.evaluate(5, model, 3);
  EXPECT_EQ(x.take_given(),
            (std::vector<given_share>{{0, {5, model, {0, 1}}}, {2, {5, model, {1, 3}}}}));
  EXPECT_EQ(given(x), shares{}) << "each is told once";
  x.evaluate(6, model, 1);
  EXPECT_EQ(given(x).size(), 1u) << "nobody evaluates nothing";
}

TEST(trainer_roster, a_lost_trainers_evaluations_go_to_another) {
  auto x = roster_of(2);
  x.evaluate(1, {}, 2);
  x.evaluate(2, {}, 2);
  given(x);
  x.lose(1, at(0));
  EXPECT_EQ(given(x), (shares{{0, 1}, {0, 2}}));
  x.lose(0, at(0));
  x.evaluate(3, {}, 2);
  EXPECT_EQ(given(x), shares{}) << "nobody is there";
  x.join(7, {});
  EXPECT_EQ(given(x), (shares{{0, 1}, {0, 2}, {0, 1}, {0, 2}, {0, 3}}));
}

TEST(trainer_roster, what_is_evaluated_is_not_given_to_another) {
  auto x = roster_of(2);
  for (uint64_t version = 1; version < 5; ++version)
    x.evaluate(version, {}, 2);
  given(x);
  x.forget_evaluations(3);
  x.lose(1, at(0));
  EXPECT_EQ(given(x), (shares{{0, 3}, {0, 4}})) << "the row's version may be evaluated for the end";
}

TEST(trainer_roster, a_result_covers_what_was_given_before_its_task_though_rows_are_complete) {
  auto x = roster_of(2);
  x.evaluate(1, {}, 2);
  x.evaluate(2, {}, 2);
  const auto task = taken(x, 0);
  x.evaluate(3, {}, 2);
  x.forget_evaluations(2);
  finish(x, 0, task);
  given(x);
  x.lose(0, at(0));
  EXPECT_EQ(given(x), (shares{{1, 3}}));
}

TEST(trainer_roster, figures_bear_the_name_of_who_sat_there_last) {
  auto x = roster_of(2);
  x.take(0, 1, at(0));
  x.finish(0, {1, 0}, at(30), milliseconds{22});
  x.lose(0, at(40));
  x.lose(1, at(40));
  x.join(7, {"other", 0});
  const auto figures = x.figures();
  ASSERT_EQ(figures.size(), 2u);
  EXPECT_EQ(figures[0].who, (replica_name{"other", 0}));
  EXPECT_EQ(figures[1].who, (replica_name{"node", 1}));
  EXPECT_EQ(figures[0].figures.computed, milliseconds{22});
  EXPECT_EQ(figures[0].figures.network, milliseconds{8});
  EXPECT_EQ(figures[0].figures.lost_count, 1u);
}

TEST(trainer_roster, what_ended_everybody_who_had_it_is_left_out) {
  trainer_roster x{{{2, milliseconds{100}}, milliseconds{0}}};
  for (size_t i = 0; i < 3; ++i)
    x.join(100 + i, {"node", i});
  EXPECT_EQ(taken(x, 0).piece, 0u);
  EXPECT_FALSE(x.awaits_time());
  x.lose(0, at(0));
  EXPECT_TRUE(x.take_left_out(at(0)).empty());
  EXPECT_EQ(taken(x, 1).piece, 0u);
  x.lose(1, at(1));
  EXPECT_EQ(x.take_left_out(at(1)), (std::vector<uint64_t>{0}));
  EXPECT_TRUE(x.take_left_out(at(1)).empty());
  EXPECT_FALSE(x.has_work(0, 1));
  EXPECT_EQ(taken(x, 2).piece, 1u);
}

TEST(trainer_roster, pieces_of_processes_that_may_come_back_are_held_back) {
  trainer_roster x{{{1, milliseconds{100}}, milliseconds{0}}};
  x.join(100, {"left", 0}, 7);
  x.join(101, {"right", 0}, 8);
  EXPECT_EQ(taken(x, 0).piece, 0u);
  x.lose(0, at(0));
  EXPECT_TRUE(x.awaits_time());
  EXPECT_FALSE(x.has_work(0, 1, at(99)));
  EXPECT_EQ(taken(x, 1).piece, 1u); // the others go on meanwhile
  EXPECT_TRUE(x.take_left_out(at(99)).empty());
  x.join(102, {"left", 0}, 7); // it was its link alone
  EXPECT_TRUE(x.take_left_out(at(100)).empty());
  EXPECT_EQ(x.take(0, 99, at(100)), 0u);
}

TEST(trainer_roster, a_task_that_nobody_answers_is_given_to_another) {
  trainer_roster x{{{}, milliseconds{100}}};
  for (size_t i = 0; i < 2; ++i)
    x.join(100 + i, {"node", i});
  const auto late = taken(x, 0);
  EXPECT_TRUE(x.take_overdue(at(99)).empty());
  EXPECT_EQ(x.take_overdue(at(100)), (std::vector<std::pair<size_t, uint64_t>>{{0, late.ticket}}));
  EXPECT_TRUE(x.take_overdue(at(100)).empty());
  EXPECT_FALSE(x.is_free(0)) << "it is still at it";
  const auto again = taken(x, 1);
  EXPECT_EQ(again.piece, late.piece);
  EXPECT_FALSE(finish(x, 0, late));
  EXPECT_TRUE(x.take_returned(0));
  EXPECT_FALSE(x.take_returned(0));
  EXPECT_TRUE(x.is_free(0));
  EXPECT_TRUE(finish(x, 1, again));
}

TEST(trainer_roster, a_lease_is_longer_than_tasks_take_and_the_last_one_has_none) {
  trainer_roster x{{{}, milliseconds{100}}};
  x.join(100, {"node", 0});
  const auto alone = taken(x, 0);
  EXPECT_TRUE(x.take_overdue(at(1'000'000)).empty()) << "there is nobody else";
  EXPECT_TRUE(x.finish(0, alone, at(50), {}));
  x.join(101, {"node", 1});
  taken(x, 0);
  EXPECT_TRUE(x.take_overdue(at(999)).empty());
  EXPECT_EQ(x.take_overdue(at(1'000)).size(), 1u); // 20 times 50
}

TEST(trainer_roster, every_piece_is_finished_once_whatever_happens) {
  for (uint64_t seed = 0; seed < 2'000; ++seed) {
    std::mt19937_64 random{seed};
    auto x = roster_of(1 + random() % 4);
    std::map<uint64_t, int> done;
    std::vector<std::pair<size_t, work_task>> tasks; // also of those who are lost by now
    while (done.size() < 20) {
      const auto place = random() % x.place_count();
      const auto what = random() % 8;
      if (what == 0 && x.living_count() > 1)
        x.lose(place, at(0));
      else if (what == 1 && x.place_count() < 6)
        x.join(random(), {});
      else if (what < 5 && x.is_free(place) && x.has_work(place, 20))
        tasks.emplace_back(place, taken(x, place));
      else if (!tasks.empty())
        if (const auto& [who, task] = tasks[random() % tasks.size()]; finish(x, who, task))
          ++done[task.piece];
    }
    for (const auto& [piece, count] : done)
      ASSERT_EQ(count, 1) << "piece " << piece << ", seed " << seed;
  }
}

using advice = piece_losses::advice;

TEST(piece_losses, a_piece_is_given_out_so_often_and_then_left_out) {
  piece_losses x{{2, milliseconds{1000}}};
  x.on_lost(7, {"here", 0}, 0, at(0));
  EXPECT_EQ(x.of(7, at(0)), advice::give);
  x.on_lost(7, {"here", 1}, 0, at(1));
  EXPECT_EQ(x.of(7, at(1)), advice::leave_out);
  EXPECT_EQ(x.of(8, at(1)), advice::give);
  x.forget(7);
  EXPECT_EQ(x.of(7, at(2)), advice::give);
}

TEST(piece_losses, of_other_processes_the_end_waits_for_those_who_may_come_back) {
  piece_losses x{{2, milliseconds{1000}}};
  x.on_lost(7, {"left", 0}, 11, at(0));
  x.on_lost(7, {"right", 0}, 12, at(500));
  EXPECT_EQ(x.of(7, at(1'400)), advice::wait);
  EXPECT_EQ(x.of(7, at(1'500)), advice::leave_out);
  x.on_joined({"left", 0}, 13); // started again: it had died
  EXPECT_EQ(x.of(7, at(1'500)), advice::leave_out);
  x.on_joined({"left", 0}, 11);
  EXPECT_EQ(x.of(7, at(1'500)), advice::give);
}

TEST(piece_losses, without_attempts_nothing_is_left_out) {
  piece_losses x;
  for (int i = 0; i < 100; ++i)
    x.on_lost(7, {"here", 0}, 0, at(i));
  EXPECT_EQ(x.of(7, at(100)), advice::give);
}

// Which versions a parameter server holds, and when they are evaluated and reported.

/// Three epochs of two steps, a row after each, begun at version 0.
main_model begun_model(const evaluation_rows& rows = {4, 0}) {
  main_model x{{{.row_count = 8, .batch_size = 4, .epoch_count = 3, .step_limit = {}}, rows}};
  x.begin(0, {0, buffer{1}}, at(0));
  x.set_horizon({6, true});
  return x;
}

void adopt(main_model& x, uint64_t version) {
  x.adopt(version, {version, buffer{1}}, {1, 4, 2, 0});
}

TEST(main_model, holds_the_newest_version_and_the_one_before) {
  auto x = begun_model();
  const auto first = x.parameters();
  adopt(x, 2);
  EXPECT_TRUE(x.parameters_of(0).same_storage(first));
  EXPECT_TRUE(x.parameters_of(2).same_storage(x.parameters()));
  EXPECT_FALSE(x.parameters_of(1)) << "it never was";
  adopt(x, 3);
  EXPECT_FALSE(x.parameters_of(0));
  EXPECT_TRUE(x.parameters_of(2));
}

TEST(main_model, before_it_begins_there_is_nothing) {
  main_model x{{}};
  x.set_horizon({6, true});
  EXPECT_FALSE(x.has_begun());
  EXPECT_FALSE(x.parameters_of(0));
  EXPECT_EQ(x.step_limit(), 0u);
  EXPECT_FALSE(x.is_at_horizon());
}

TEST(main_model, steps_below_the_horizon_may_begin_unless_it_is_held_or_has_failed) {
  auto x = begun_model();
  EXPECT_EQ(x.step_limit(), 6u);
  x.hold();
  EXPECT_EQ(x.step_limit(), 0u);
  x.set_horizon({4, false});
  EXPECT_EQ(x.step_limit(), 4u);
  adopt(x, 4);
  EXPECT_TRUE(x.is_at_horizon());
  x.fail();
  EXPECT_EQ(x.step_limit(), 0u);
  EXPECT_FALSE(x.is_at_horizon());
}

TEST(main_model, figures_are_those_of_the_epoch) {
  auto x = begun_model();
  adopt(x, 1);
  adopt(x, 2);
  EXPECT_EQ(x.epoch_sums().sample_count, 8u);
  adopt(x, 3);
  EXPECT_EQ(x.epoch_sums().sample_count, 4u) << "the next epoch's";
}

TEST(main_model, a_version_is_evaluated_once_where_the_rows_say_or_training_ends) {
  auto x = begun_model();
  EXPECT_FALSE(x.take_evaluation());
  adopt(x, 2);
  EXPECT_TRUE(x.take_evaluation());
  EXPECT_FALSE(x.take_evaluation());
  adopt(x, 3);
  EXPECT_FALSE(x.take_evaluation());
  x.set_horizon({3, false});
  EXPECT_FALSE(x.take_evaluation());
  x.set_horizon({3, true});
  EXPECT_TRUE(x.take_evaluation());
  auto without_rows = begun_model({0, 0});
  adopt(without_rows, 2);
  EXPECT_FALSE(without_rows.take_evaluation());
}

TEST(main_model, rows_and_the_horizon_are_reported_once_and_progress_now_and_then) {
  auto x = begun_model();
  x.set_horizon({3, false});
  adopt(x, 1);
  EXPECT_FALSE(x.take_report(at(99)));
  const auto progress = x.take_report(at(100));
  ASSERT_TRUE(progress);
  EXPECT_FALSE(progress->is_row || progress->is_mark);
  x.on_reported(at(100));
  adopt(x, 2);
  const auto row = x.take_report(at(110));
  ASSERT_TRUE(row);
  EXPECT_TRUE(row->is_row && !row->is_mark);
  EXPECT_FALSE(x.take_report(at(120)));
  adopt(x, 3);
  const auto mark = x.take_report(at(130));
  ASSERT_TRUE(mark);
  EXPECT_TRUE(mark->is_mark && !mark->is_row);
  EXPECT_FALSE(x.take_report(at(140)));
  x.set_horizon({3, true});
  const auto end = x.take_report(at(150));
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->is_row && end->is_mark) << "where training ends there is a row";
  EXPECT_EQ(x.seconds(at(1500)), 1.5);
}

} // namespace
} // namespace troupe::trainer_roster_test
