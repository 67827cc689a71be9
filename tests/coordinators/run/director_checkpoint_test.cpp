// Checkpoints in the directive of a run: when one is due, what it waits for, and what goes on from it.

#include "coordinators/run/director_rule.hpp"

#include <gtest/gtest.h>

namespace troupe::director_checkpoint_test {

namespace {

using phase = director_rule::phase;
using decisions = director_decisions;

constexpr size_t one_chunk = 100;
const batch_sums train{8, 8, 0, 0};
const batch_sums test_sums{50, 100, 0, 0};

/// 3 epochs of 2 steps.
director_rule_options six_steps(uint64_t checkpoint_every) {
  director_rule_options options;
  options.plan = {
    .row_count = 8, .batch_size = 4, .slice_count = 2, .epoch_count = 3, .step_limit = {}};
  options.checkpoint_every = checkpoint_every;
  return options;
}

director_rule begun(const director_rule_options& options) {
  director_rule rule{options};
  rule.start();
  return rule;
}

director_decision up_to(uint64_t version, bool final = false) {
  return allow_up_to{{version, final}};
}

director_decision row(uint64_t version) {
  return publish_row{{version, train, std::nullopt, std::nullopt}};
}

director_decision take(uint64_t version) {
  return take_checkpoint{version};
}

director_decision end_at(uint64_t version, stop_reason reason = stop_reason::epochs) {
  return finish_at{version, reason};
}

} // namespace

TEST(director_checkpoint, in_the_middle_of_an_epoch_is_due_when_all_shards_are_there) {
  director_rule rule{six_steps(3)};
  EXPECT_EQ(rule.start(), decisions{up_to(3)});
  EXPECT_EQ(rule.on_trained(2, train), decisions{row(2)});
  EXPECT_EQ(rule.on_marked(3), (decisions{take(3), up_to(6, true)}));
  EXPECT_EQ(rule.on_marked(3), decisions{}) << "twice";
  EXPECT_EQ(rule.on_trained(4, train), decisions{row(4)});
  EXPECT_EQ(rule.on_trained(6, train), (decisions{row(6), take(6), end_at(6)}));
  EXPECT_EQ(rule.on_marked(6), decisions{}) << "the row said so";
}

TEST(director_checkpoint, in_the_middle_of_an_epoch_waits_for_the_rows_before_it) {
  auto rule = begun(six_steps(3));
  EXPECT_EQ(rule.on_marked(3), decisions{});
  EXPECT_EQ(rule.on_trained(2, train), (decisions{row(2), take(3), up_to(6, true)}));
  auto options = six_steps(3);
  options.rows.test = one_chunk;
  auto evaluated = begun(options);
  EXPECT_EQ(evaluated.on_trained(2, train), decisions{});
  EXPECT_EQ(evaluated.on_marked(3), decisions{});
  const publish_row with_test{{2, train, test_sums, std::nullopt}};
  EXPECT_EQ(evaluated.on_evaluated(2, 0, {test_sums}),
            (decisions{with_test, take(3), up_to(6, true)}));
}

TEST(director_checkpoint, before_the_first_epoch_ends_waits_for_no_row) {
  auto rule = begun(six_steps(1));
  EXPECT_EQ(rule.on_marked(1), (decisions{take(1), up_to(2)}));
}

TEST(director_checkpoint, at_an_epochs_end_is_due_with_its_row) {
  for (const bool mark_is_first : {false, true}) {
    auto rule = begun(six_steps(2));
    if (mark_is_first) {
      EXPECT_EQ(rule.on_marked(2), decisions{}) << "its row is on its way";
    }
    EXPECT_EQ(rule.on_trained(2, train), (decisions{row(2), take(2), up_to(4)}));
    if (!mark_is_first) {
      EXPECT_EQ(rule.on_marked(2), decisions{});
    }
    EXPECT_EQ(rule.on_trained(4, train), (decisions{row(4), take(4), up_to(6, true)}));
  }
}

TEST(director_checkpoint, is_taken_at_the_end_whatever_the_step) {
  auto rule = begun(six_steps(4));
  rule.on_trained(2, train);
  EXPECT_EQ(rule.on_trained(4, train), (decisions{row(4), take(4), up_to(6, true)}));
  EXPECT_EQ(rule.on_trained(6, train), (decisions{row(6), take(6), end_at(6)}));
  auto none = begun(six_steps(0));
  none.on_trained(2, train);
  none.on_trained(4, train);
  EXPECT_EQ(none.on_trained(6, train), (decisions{row(6), end_at(6)}));
}

TEST(director_checkpoint, is_taken_where_an_interrupt_ends_training) {
  auto rule = begun(six_steps(4));
  rule.on_stop_requested();
  EXPECT_EQ(rule.on_stop_named(3), decisions{up_to(3, true)});
  rule.on_trained(2, train);
  EXPECT_EQ(rule.on_trained(3, train),
            (decisions{row(3), take(3), end_at(3, stop_reason::interrupt)}));
  auto at_once = begun(six_steps(4));
  at_once.on_stop_requested();
  EXPECT_EQ(at_once.on_stop_named(0),
            (decisions{up_to(0, true), end_at(0, stop_reason::interrupt)}))
    << "there is nothing to go on from";
}

TEST(director_checkpoint, at_an_end_that_nobody_knew_of_is_taken_once_all_know) {
  auto options = six_steps(100);
  options.stop.patience = 1;
  auto by_result = begun(options);
  by_result.on_trained(2, train);
  EXPECT_EQ(by_result.on_trained(4, train),
            (decisions{row(4), up_to(4, true), take(4), end_at(4, stop_reason::patience)}));
  options.keep_best = true;
  auto interrupted = begun(options);
  interrupted.on_trained(2, train);
  interrupted.on_stop_requested(); // while version 2 is fetched
  EXPECT_EQ(interrupted.on_kept(2),
            (decisions{up_to(2, true), take(2), end_at(2, stop_reason::interrupt)}));
}

TEST(director_checkpoint, what_a_result_ended_stays_ended) {
  auto options = six_steps(2);
  options.stop.patience = 1;
  auto ended = begun(options);
  ended.on_trained(2, train);
  ended.on_marked(2);
  ended.on_trained(4, train);
  director_rule again{options, ended.memory(4)};
  EXPECT_EQ(again.start(), (decisions{up_to(4, true), end_at(4, stop_reason::patience)}));
  options.stop = {};
  options.stop.target_loss = 1; // as much as it was
  director_rule with_target{options, ended.memory(4)};
  EXPECT_EQ(with_target.start(), (decisions{up_to(4, true), end_at(4, stop_reason::target_loss)}));
  options.stop.target_loss = 0.5;
  director_rule far_from_it{options, ended.memory(4)};
  EXPECT_EQ(far_from_it.start(), (decisions{up_to(6, true)}));
}

TEST(director_checkpoint, is_not_taken_while_replicas_hold) {
  auto rule = begun(six_steps(3));
  rule.on_trained(2, train);
  rule.on_stop_requested();
  EXPECT_EQ(rule.on_marked(3), decisions{});
  EXPECT_EQ(rule.on_stop_named(3), decisions{up_to(3, true)});
  EXPECT_EQ(rule.on_trained(3, train),
            (decisions{row(3), take(3), end_at(3, stop_reason::interrupt)}));
}

TEST(director_checkpoint, is_not_taken_when_training_diverges) {
  auto rule = begun(six_steps(3));
  EXPECT_EQ(rule.on_not_finite({1, "", {}}), decisions{end_at(1, stop_reason::diverged)});
  EXPECT_EQ(rule.on_marked(3), decisions{});
}

TEST(director_checkpoint, of_a_best_version_waits_until_that_is_kept) {
  auto options = six_steps(2);
  options.keep_best = true;
  auto rule = begun(options);
  EXPECT_EQ(rule.on_trained(2, train), (decisions{row(2), keep_version{2}}));
  EXPECT_EQ(rule.on_kept(2), (decisions{take(2), up_to(4)}));
  EXPECT_EQ(rule.memory(2).best, (best_version{2, 1}));
}

TEST(director_checkpoint, only_the_horizon_is_marked) {
  auto rule = begun(six_steps(3));
  EXPECT_EQ(rule.on_marked(1), decisions{});
  rule.on_trained(2, train);
  EXPECT_EQ(rule.on_marked(2), decisions{});
  EXPECT_EQ(rule.on_marked(3), (decisions{take(3), up_to(6, true)}));
}

TEST(director_checkpoint, a_horizon_in_the_middle_of_an_epoch_holds_back_neither_rows_nor_rules) {
  auto options = six_steps(3);
  options.stop.patience = 1;
  auto rule = begun(options);
  EXPECT_EQ(rule.on_trained(2, train), (decisions{row(2), up_to(3)})) << "the nearer one";
  EXPECT_EQ(rule.on_marked(3), (decisions{take(3), up_to(4)}));
  EXPECT_EQ(rule.on_trained(4, train),
            (decisions{row(4), up_to(4, true), take(4), end_at(4, stop_reason::patience)}));
}

TEST(director_checkpoint, where_processes_may_be_lost_replicas_wait_for_every_row) {
  auto options = six_steps(0);
  options.waits_for_rows = true;
  director_rule rule{options};
  EXPECT_EQ(rule.start(), decisions{up_to(2)});
  EXPECT_EQ(rule.on_trained(2, train), (decisions{row(2), up_to(4)}));
}

TEST(director_checkpoint, a_rule_goes_on_from_its_memory) {
  auto before = begun(six_steps(3));
  before.on_trained(2, train);
  before.on_marked(3);
  const auto memory = before.memory(3);
  EXPECT_EQ(memory.version, 3u);
  director_rule rule{six_steps(3), memory};
  EXPECT_EQ(rule.row_version(), 2u);
  EXPECT_EQ(rule.start(), decisions{up_to(6, true)});
  EXPECT_EQ(rule.on_trained(2, train), decisions{}) << "its row is out";
  EXPECT_EQ(rule.on_trained(4, train), decisions{row(4)});
  EXPECT_EQ(rule.on_trained(6, train), (decisions{row(6), take(6), end_at(6)}));
}

TEST(director_checkpoint, a_rule_without_rows_behind_it_goes_on_too) {
  director_memory memory;
  memory.version = 1;
  director_rule rule{six_steps(4), memory};
  EXPECT_EQ(rule.row_version(), 1u);
  EXPECT_EQ(rule.start(), decisions{up_to(4)});
  EXPECT_EQ(rule.on_trained(2, train), decisions{row(2)});
}

TEST(director_checkpoint, patience_and_the_best_version_are_remembered) {
  auto options = six_steps(2);
  options.keep_best = true;
  options.stop.patience = 2;
  auto before = begun(options);
  before.on_trained(2, train);
  before.on_kept(2);
  before.on_trained(4, train); // as good is not better
  director_rule rule{options, before.memory(4)};
  EXPECT_EQ(rule.best(), (best_version{2, 1}));
  EXPECT_EQ(rule.start(), decisions{up_to(6, true)});
  EXPECT_EQ(rule.on_trained(6, train),
            (decisions{row(6), take(6), end_at(2, stop_reason::patience)}));
}

TEST(director_checkpoint, from_the_end_there_is_nothing_to_train_and_nothing_to_save) {
  director_memory memory;
  memory.version = 6;
  director_rule rule{six_steps(2), memory};
  EXPECT_EQ(rule.start(), (decisions{up_to(6, true), end_at(6)}));
  EXPECT_EQ(rule.state(), phase::ending);
}

TEST(director_checkpoint, a_stop_at_the_version_it_went_on_from_ends_there) {
  director_memory memory;
  memory.version = 3;
  director_rule before_start{six_steps(2), memory};
  before_start.on_stop_requested();
  EXPECT_EQ(before_start.start(), (decisions{up_to(3, true), end_at(3, stop_reason::interrupt)}));
  director_rule rule{six_steps(2), memory};
  EXPECT_EQ(rule.start(), decisions{up_to(4)});
  EXPECT_EQ(rule.on_stop_requested(), decisions{hold_replicas{}});
  EXPECT_EQ(rule.on_stop_named(3), (decisions{up_to(3, true), end_at(3, stop_reason::interrupt)}));
}

} // namespace troupe::director_checkpoint_test
