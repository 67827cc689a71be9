// All stand at a version, for a term that begins there.

#include "coordinators/run/director_rule.hpp"

#include "tests/coordinators/run/director_story.hpp"

#include <gtest/gtest.h>

namespace troupe::director_cut_test {
namespace {

using namespace test;
using phase = director_rule::phase;

TEST(director_cut, all_stand_at_a_version_between_rows_once_it_is_reached) {
  story run{six_steps()};
  EXPECT_EQ(run.cut(), "") << "training has not begun";
  run.start();
  EXPECT_EQ(run.cut(), "hold");
  EXPECT_EQ(run.cut(), "") << "again";
  EXPECT_EQ(run.named(3), "up to 3, a cut");
  EXPECT_EQ(run.marked(3), "") << "the row of version 2 is not complete";
  EXPECT_EQ(run.trained(2), "row 2 8/8; begin anew at 3");
  EXPECT_EQ(run.rule.state(), phase::training);
}

TEST(director_cut, a_row_at_it_is_complete_and_kept_before) {
  director_rule rule{{six_steps(), no_rule, {.test = two_chunks}, true}};
  rule.start();
  rule.on_cut_requested();
  EXPECT_EQ(text(rule.on_trained(2, sums(8))), "") << "while all hold no row completes";
  EXPECT_EQ(text(rule.on_stop_named(2)), "up to 2, a cut");
  EXPECT_EQ(text(rule.on_evaluated(2, 0, {sums(1, 150), sums(1, 150)})),
            "row 2 8/8 test 2/300; keep 2");
  EXPECT_EQ(text(rule.on_stop_named(2)), "up to 2, a cut") << "in another view";
  EXPECT_EQ(text(rule.on_kept(2)), "begin anew at 2");
}

TEST(director_cut, where_all_stand_already_a_term_can_begin_at_once) {
  story run{six_steps(), target_half};
  run.start();
  run.trained(2);
  run.cut();
  EXPECT_EQ(run.named(2), "up to 2, a cut; begin anew at 2") << "no further report comes";
  EXPECT_EQ(run.named(3), "up to 3, a cut") << "a shard was at 3 when it heard of 2";
  EXPECT_EQ(run.marked(3), "begin anew at 3");
  story first{six_steps()};
  first.start();
  first.cut();
  EXPECT_EQ(first.named(0), "up to 0, a cut; begin anew at 0");
  director_memory between; // the row of version 2 is known, and a checkpoint of version 3
  between.version = 3;
  between.last_row = epoch_figures{2, {}, std::nullopt, std::nullopt};
  director_rule later{{six_steps(), no_rule, {}}, between};
  later.start();
  later.on_cut_requested();
  EXPECT_EQ(text(later.on_stop_named(3)), "up to 3, a cut; begin anew at 3");
}

TEST(director_cut, at_the_last_version_training_ends) {
  story run{six_steps()};
  run.start();
  run.trained(2);
  run.trained(4);
  run.cut();
  EXPECT_EQ(run.named(6), "up to 6, final");
  EXPECT_EQ(run.stop(), "");
  EXPECT_EQ(run.trained(6), "row 6 8/8; finish at 6: epochs");
}

TEST(director_cut, a_result_that_ends_training_comes_first) {
  story run{six_steps(), target_half};
  run.start();
  run.cut();
  run.named(2);
  EXPECT_EQ(run.trained(2, 1), "row 2 1/8; finish at 2: target-loss");
}

TEST(director_cut, a_stop_wins_with_the_same_hold) {
  story held{six_steps()};
  held.start();
  held.cut();
  EXPECT_EQ(held.stop(), "") << "they hold already";
  EXPECT_EQ(held.named(3), "up to 3, final");
  held.trained(2);
  EXPECT_EQ(held.trained(3), "row 3 8/8; finish at 3: interrupt");
  story named{six_steps()};
  named.start();
  named.cut();
  named.named(3);
  EXPECT_EQ(named.stop(), "up to 3, final") << "all reach it";
  named.trained(2);
  EXPECT_EQ(named.trained(3), "row 3 8/8; finish at 3: interrupt");
  EXPECT_EQ(named.cut(), "");
}

// Until that term all wait for copies of the version, which a last horizon would not make.
TEST(director_cut, once_a_term_is_ordered_a_stop_waits_for_it) {
  story run{six_steps()};
  run.start();
  run.cut();
  run.trained(2);
  EXPECT_EQ(run.named(2), "up to 2, a cut; row 2 8/8; begin anew at 2");
  EXPECT_EQ(run.stop(), "") << "the term ends as it begins";
  EXPECT_EQ(run.named(3), "up to 3, a cut") << "a shard was at 3 when it heard of 2";
}

TEST(director_cut, a_checkpoint_that_is_due_where_a_term_begins_is_made) {
  director_memory memory;
  memory.version = 3;
  memory.is_saved = false;
  const auto start = [&](uint64_t every) {
    return text(director_rule({six_steps(), no_rule, {}, false, false, every}, memory).start());
  };
  EXPECT_EQ(start(3), "checkpoint 3; up to 6, final");
  EXPECT_EQ(start(2), "up to 4");
  memory.is_saved = true;
  EXPECT_EQ(start(3), "up to 6, final");
}

TEST(director_cut, a_stop_while_the_version_is_being_kept_ends_training_there) {
  director_rule rule{{six_steps(), no_rule, {}, true}};
  rule.start();
  rule.on_cut_requested();
  rule.on_stop_named(2);
  EXPECT_EQ(text(rule.on_trained(2, sums(8))), "row 2 8/8; keep 2");
  EXPECT_EQ(text(rule.on_cut_requested()), "") << "no time for it";
  EXPECT_EQ(text(rule.on_stop_requested()), "");
  EXPECT_EQ(text(rule.on_kept(2)), "finish at 2: interrupt");
}

} // namespace
} // namespace troupe::director_cut_test
