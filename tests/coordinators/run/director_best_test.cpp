// Keeping the best version: what is watched, when a version is kept, and which one a run ends with.

#include "coordinators/run/director_rule.hpp"
#include "coordinators/step/checkpoint_rule.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace troupe::director_best_test {
namespace {

using phase = director_rule::phase;
using decisions = director_decisions;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

batch_sums of(double loss, uint64_t rows = 8) {
  return {loss * static_cast<double>(rows), rows, 0, 0};
}

/// 4 epochs of 2 steps.
director_rule_options four_epochs() {
  timeline plan{
    .row_count = 8, .batch_size = 4, .slice_count = 2, .epoch_count = 4, .step_limit = {}};
  return {plan, {}, {}, true};
}

director_rule_options with_validation() {
  auto result = four_epochs();
  result.rows = {.test = 300, .validation = 100}; // chunks 0 and 1, chunk 2
  return result;
}

director_rule begun(const director_rule_options& options) {
  director_rule rule{options};
  EXPECT_EQ(rule.start(), decisions{(allow_up_to{{2, false}})});
  return rule;
}

director_decision up_to(uint64_t version, bool final = false) {
  return allow_up_to{{version, final}};
}

director_decision row(uint64_t version, double loss) {
  return publish_row{{version, of(loss), std::nullopt, std::nullopt}};
}

director_decision keep(uint64_t version) {
  return keep_version{version};
}

director_decision end_with(uint64_t version, stop_reason reason = stop_reason::epochs) {
  return finish_at{version, reason};
}

/// A row whose training loss is watched.
decisions trained(director_rule& rule, uint64_t version, double loss) {
  return rule.on_trained(version, of(loss));
}

/// Trains to `version`, which is better than all before it, and has it kept.
void improve(director_rule& rule, uint64_t version, double loss) {
  EXPECT_EQ(trained(rule, version, loss), (decisions{row(version, loss), keep(version)}));
  EXPECT_EQ(rule.on_kept(version), decisions{up_to(version + 2, version + 2 == 8)});
}

TEST(director_best, replicas_wait_until_a_better_version_is_kept) {
  auto rule = begun(four_epochs());
  EXPECT_EQ(trained(rule, 2, 3), (decisions{row(2, 3), keep(2)})) << "no horizon beside it";
  EXPECT_EQ(rule.state(), phase::keeping);
  EXPECT_FALSE(rule.best()) << "not before it is there";
  EXPECT_EQ(rule.on_kept(2), decisions{up_to(4)});
  EXPECT_EQ(rule.state(), phase::training);
  EXPECT_EQ(rule.best(), (best_version{2, 3}));
}

TEST(director_best, the_first_version_with_the_least_loss_is_the_result) {
  auto rule = begun(four_epochs());
  improve(rule, 2, 3);
  improve(rule, 4, 1);
  EXPECT_EQ(trained(rule, 6, 1), (decisions{row(6, 1), up_to(8, true)})) << "as good is not better";
  EXPECT_EQ(trained(rule, 8, 2), (decisions{row(8, 2), end_with(4)}));
  EXPECT_EQ(rule.end_version(), 8u);
  EXPECT_EQ(rule.best(), (best_version{4, 1}));
}

TEST(director_best, the_last_version_is_kept_before_the_end_when_it_is_the_best) {
  auto rule = begun(four_epochs());
  improve(rule, 2, 3);
  trained(rule, 4, 3);
  trained(rule, 6, 3);
  EXPECT_EQ(trained(rule, 8, 2), (decisions{row(8, 2), keep(8)}));
  EXPECT_EQ(rule.on_kept(8), decisions{end_with(8)});
  EXPECT_EQ(rule.state(), phase::ending);
}

TEST(director_best, validation_rows_are_watched_before_test_rows_and_these_before_training_rows) {
  for (const auto& [rows, watched] :
       {std::pair{evaluation_rows{0, 0}, 3.0}, std::pair{evaluation_rows{250, 0}, 2.0},
        std::pair{evaluation_rows{0, 250}, 1.0}, std::pair{evaluation_rows{250, 250}, 1.0}}) {
    auto options = four_epochs();
    options.rows = rows;
    auto rule = begun(options);
    std::vector<batch_sums> chunks;
    if (rows.test.row_count() > 0)
      chunks.push_back(of(2, 250));
    if (rows.validation.row_count() > 0)
      chunks.push_back(of(1, 250));
    rule.on_evaluated(2, 0, chunks);
    EXPECT_EQ(trained(rule, 2, 3).back(), keep(2));
    rule.on_kept(2);
    EXPECT_EQ(rule.best(), (best_version{2, watched}));
  }
}

TEST(director_best, chunks_of_test_and_validation_rows_are_told_apart) {
  auto rule = begun(with_validation());
  trained(rule, 2, 8);
  EXPECT_EQ(rule.on_evaluated(2, 1, {of(3, 44), of(1, 100)}), decisions{}) << "one is missing";
  const publish_row expected{{2, of(8), batch_sums{3 * 300, 300, 0, 0}, of(1, 100)}};
  EXPECT_EQ(rule.on_evaluated(2, 0, {of(3, 256)}), (decisions{expected, keep(2)}));
}

TEST(director_best, what_is_no_number_or_infinite_is_never_the_best) {
  auto rule = begun(four_epochs());
  // A NaN equals nothing, so the row is not compared.
  EXPECT_EQ(trained(rule, 2, nan).back(), up_to(4));
  EXPECT_EQ(trained(rule, 4, infinity), (decisions{row(4, infinity), up_to(6)}));
  EXPECT_EQ(trained(rule, 6, nan).back(), up_to(8, true));
  EXPECT_EQ(trained(rule, 8, nan).back(), end_with(8)) << "without a best one, the last one";
}

TEST(director_best, versions_that_the_timeline_does_not_evaluate_are_not_candidates) {
  auto options = four_epochs();
  options.plan.evaluate_every = 2;
  director_rule rule{options};
  EXPECT_EQ(rule.start(), decisions{up_to(4)});
  EXPECT_EQ(trained(rule, 2, 0), decisions{row(2, 0)});
  EXPECT_EQ(trained(rule, 4, 5), (decisions{row(4, 5), keep(4)}));
}

TEST(director_best, patience_ends_training_with_the_best_version) {
  auto options = four_epochs();
  options.stop.patience = 2;
  auto rule = begun(options);
  improve(rule, 2, 1);
  EXPECT_EQ(trained(rule, 4, 2), (decisions{row(4, 2), up_to(6)}));
  EXPECT_EQ(trained(rule, 6, 2), (decisions{row(6, 2), end_with(2, stop_reason::patience)}));
  EXPECT_EQ(rule.end_version(), 6u);
}

TEST(director_best, the_tolerance_of_patience_does_not_make_a_worse_version_the_best) {
  auto options = four_epochs();
  options.stop = {.target_loss = {}, .patience = 1, .tolerance = 0.5};
  auto rule = begun(options);
  improve(rule, 2, 1);
  EXPECT_EQ(trained(rule, 4, 0.75), (decisions{row(4, 0.75), keep(4)}));
  EXPECT_EQ(rule.on_kept(4), decisions{end_with(4, stop_reason::patience)});
}

TEST(director_best, a_target_is_met_by_the_best_version_once_it_is_kept) {
  auto options = four_epochs();
  options.stop.target_loss = 1;
  auto rule = begun(options);
  EXPECT_EQ(trained(rule, 2, 1), (decisions{row(2, 1), keep(2)}));
  EXPECT_EQ(rule.on_kept(2), decisions{end_with(2, stop_reason::target_loss)});
}

TEST(director_best, an_interrupt_yields_the_best_version) {
  auto rule = begun(four_epochs());
  improve(rule, 2, 1);
  rule.on_stop_requested();
  EXPECT_EQ(rule.on_stop_named(3), decisions{up_to(3, true)});
  EXPECT_EQ(trained(rule, 3, 0), (decisions{row(3, 0), end_with(2, stop_reason::interrupt)}))
    << "half an epoch is not compared with whole ones";
  EXPECT_EQ(rule.end_version(), 3u);
}

TEST(director_best, an_interrupt_before_the_first_evaluation_yields_the_version_it_stopped_at) {
  auto rule = begun(four_epochs());
  rule.on_stop_requested();
  rule.on_stop_named(1);
  EXPECT_EQ(trained(rule, 1, 0), (decisions{row(1, 0), end_with(1, stop_reason::interrupt)}));
}

TEST(director_best, an_interrupt_while_a_version_is_being_kept_ends_with_it) {
  auto rule = begun(four_epochs());
  trained(rule, 2, 1);
  EXPECT_EQ(rule.on_stop_requested(), decisions{}) << "every replica waits already";
  EXPECT_EQ(rule.on_stop_requested(), decisions{});
  EXPECT_EQ(rule.on_kept(2), decisions{end_with(2, stop_reason::interrupt)});
}

TEST(director_best, an_interrupt_while_the_last_version_is_being_kept_changes_nothing) {
  auto rule = begun(four_epochs());
  for (uint64_t version : {2u, 4u, 6u})
    improve(rule, version, 9 - static_cast<double>(version));
  trained(rule, 8, 1);
  EXPECT_EQ(rule.on_stop_requested(), decisions{});
  EXPECT_EQ(rule.on_kept(8), decisions{end_with(8)});
}

TEST(director_best, an_interrupt_at_an_evaluated_version_has_it_judged_and_kept) {
  auto rule = begun(four_epochs());
  rule.on_stop_requested();
  trained(rule, 2, 1);
  EXPECT_EQ(rule.on_stop_named(2), (decisions{up_to(2, true), row(2, 1), keep(2)}));
  EXPECT_EQ(rule.on_stop_requested(), decisions{}) << "asked twice is as good as once";
  EXPECT_EQ(rule.on_kept(2), decisions{end_with(2, stop_reason::interrupt)});
}

TEST(director_best, a_run_that_diverges_yields_the_best_version) {
  auto rule = begun(four_epochs());
  improve(rule, 2, 1);
  EXPECT_EQ(rule.on_not_finite({3, "", {}}), decisions{end_with(2, stop_reason::diverged)});
  EXPECT_EQ(rule.end_version(), 3u);
  auto at_once = begun(four_epochs());
  EXPECT_EQ(at_once.on_not_finite({1, "", {}}), decisions{end_with(1, stop_reason::diverged)});
}

TEST(director_best, a_version_that_a_shard_cannot_reach_is_not_the_best) {
  auto rule = begun(four_epochs());
  improve(rule, 2, 3);
  trained(rule, 4, 1);
  EXPECT_EQ(rule.on_not_finite({3, "", {}}), decisions{end_with(2, stop_reason::diverged)});
  EXPECT_EQ(rule.on_kept(4), decisions{}) << "too late";
  EXPECT_EQ(rule.best(), (best_version{2, 3}));
}

TEST(director_best, a_shard_that_cannot_reach_the_last_version_is_the_reason) {
  auto rule = begun(four_epochs());
  improve(rule, 2, 1);
  for (uint64_t version : {4u, 6u, 8u})
    trained(rule, version, 2);
  ASSERT_EQ(rule.state(), phase::ending);
  EXPECT_EQ(rule.on_not_finite({8, "", {}}), decisions{}) << "beyond the end";
  EXPECT_EQ(rule.on_not_finite({7, "", {}}), decisions{end_with(2, stop_reason::diverged)});
}

TEST(director_best, only_the_version_that_was_asked_for_is_kept) {
  auto rule = begun(four_epochs());
  EXPECT_EQ(rule.on_kept(2), decisions{}) << "nobody asked";
  trained(rule, 2, 3);
  EXPECT_EQ(rule.on_kept(4), decisions{});
  EXPECT_EQ(rule.on_kept(0), decisions{});
  EXPECT_EQ(rule.state(), phase::keeping);
  rule.on_kept(2);
  EXPECT_EQ(rule.on_kept(2), decisions{}) << "twice";
}

TEST(director_best, nothing_is_kept_when_nobody_asks_for_it) {
  auto options = with_validation();
  options.keep_best = false;
  director_rule rule{options};
  EXPECT_EQ(rule.start(), decisions{up_to(8, true)});
  rule.on_evaluated(2, 0, {of(2, 256), of(2, 44), of(1, 100)});
  EXPECT_EQ(trained(rule, 2, 3).size(), 1u) << "its row";
  EXPECT_EQ(rule.state(), phase::training);
}

// Checkpoints while a run goes on: when one is due, what it waits for, and what goes on from it.

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

director_rule started(const director_rule_options& options) {
  director_rule rule{options};
  rule.start();
  return rule;
}

director_decision row(uint64_t version) {
  return publish_row{{version, train, std::nullopt, std::nullopt}};
}

director_decision take(uint64_t version) {
  return take_checkpoint{version};
}

TEST(director_checkpoint, in_the_middle_of_an_epoch_is_due_when_all_shards_are_there) {
  director_rule rule{six_steps(3)};
  EXPECT_EQ(rule.start(), decisions{up_to(3)});
  EXPECT_EQ(rule.on_trained(2, train), decisions{row(2)});
  EXPECT_EQ(rule.on_marked(3), (decisions{take(3), up_to(6, true)}));
  EXPECT_EQ(rule.on_marked(3), decisions{}) << "twice";
  EXPECT_EQ(rule.on_trained(4, train), decisions{row(4)});
  EXPECT_EQ(rule.on_trained(6, train), (decisions{row(6), take(6), end_with(6)}));
  EXPECT_EQ(rule.on_marked(6), decisions{}) << "the row said so";
}

TEST(director_checkpoint, in_the_middle_of_an_epoch_waits_for_the_rows_before_it) {
  auto rule = started(six_steps(3));
  EXPECT_EQ(rule.on_marked(3), decisions{});
  EXPECT_EQ(rule.on_trained(2, train), (decisions{row(2), take(3), up_to(6, true)}));
  auto options = six_steps(3);
  options.rows.test = one_chunk;
  auto evaluated = started(options);
  EXPECT_EQ(evaluated.on_trained(2, train), decisions{});
  EXPECT_EQ(evaluated.on_marked(3), decisions{});
  const publish_row with_test{{2, train, test_sums, std::nullopt}};
  EXPECT_EQ(evaluated.on_evaluated(2, 0, {test_sums}),
            (decisions{with_test, take(3), up_to(6, true)}));
}

TEST(director_checkpoint, before_the_first_epoch_ends_waits_for_no_row) {
  auto rule = started(six_steps(1));
  EXPECT_EQ(rule.on_marked(1), (decisions{take(1), up_to(2)}));
}

TEST(director_checkpoint, at_an_epochs_end_is_due_with_its_row) {
  for (const bool mark_is_first : {false, true}) {
    auto rule = started(six_steps(2));
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
  auto rule = started(six_steps(4));
  rule.on_trained(2, train);
  EXPECT_EQ(rule.on_trained(4, train), (decisions{row(4), take(4), up_to(6, true)}));
  EXPECT_EQ(rule.on_trained(6, train), (decisions{row(6), take(6), end_with(6)}));
  auto none = started(six_steps(0));
  none.on_trained(2, train);
  none.on_trained(4, train);
  EXPECT_EQ(none.on_trained(6, train), (decisions{row(6), end_with(6)}));
}

TEST(director_checkpoint, is_taken_where_an_interrupt_ends_training) {
  auto rule = started(six_steps(4));
  rule.on_stop_requested();
  EXPECT_EQ(rule.on_stop_named(3), decisions{up_to(3, true)});
  rule.on_trained(2, train);
  EXPECT_EQ(rule.on_trained(3, train),
            (decisions{row(3), take(3), end_with(3, stop_reason::interrupt)}));
  auto at_once = started(six_steps(4));
  at_once.on_stop_requested();
  EXPECT_EQ(at_once.on_stop_named(0),
            (decisions{up_to(0, true), end_with(0, stop_reason::interrupt)}))
    << "there is nothing to go on from";
}

// Without an interval: where a run that was stopped goes on, and nowhere else.
TEST(director_checkpoint, without_an_interval_is_taken_at_a_stop_alone) {
  auto options = six_steps(checkpoint_at_stop);
  auto ended = started(options);
  ended.on_trained(2, train);
  ended.on_trained(4, train);
  EXPECT_EQ(ended.on_trained(6, train), (decisions{row(6), end_with(6)}));
  auto stopped = started(options);
  stopped.on_stop_requested();
  EXPECT_EQ(stopped.on_stop_named(3), decisions{up_to(3, true)});
  stopped.on_trained(2, train);
  EXPECT_EQ(stopped.on_trained(3, train),
            (decisions{row(3), take(3), end_with(3, stop_reason::interrupt)}));
  auto at_the_end = started(options);
  at_the_end.on_trained(2, train);
  at_the_end.on_trained(4, train);
  at_the_end.on_stop_requested();
  at_the_end.on_stop_named(6);
  EXPECT_EQ(at_the_end.on_trained(6, train), (decisions{row(6), end_with(6)}));
  options.stop.patience = 1;
  auto by_result = started(options);
  by_result.on_trained(2, train);
  EXPECT_EQ(by_result.on_trained(4, train),
            (decisions{row(4), end_with(4, stop_reason::patience)}));
  options.keep_best = true;
  auto while_kept = started(options);
  while_kept.on_trained(2, train);
  while_kept.on_stop_requested();
  EXPECT_EQ(while_kept.on_kept(2),
            (decisions{up_to(2, true), take(2), end_with(2, stop_reason::interrupt)}));
}

TEST(director_checkpoint, is_the_same_for_those_who_copy_and_those_who_ask) {
  const auto plan = six_steps(0).plan;
  for (const uint64_t every : {uint64_t{0}, uint64_t{4}, checkpoint_at_stop})
    for (uint64_t version = 1; version <= 6; ++version)
      for (const horizon_rule& horizon :
           {horizon_rule{6, true}, horizon_rule{3, true}, horizon_rule{4, false}}) {
        const bool is_end = horizon.final && version == horizon.version;
        const bool expected = every == checkpoint_at_stop ? is_end && version < 6
                                                          : every == 4 && (version == 4 || is_end);
        EXPECT_EQ(is_checkpointed(version, horizon, every, plan), expected)
          << every << ' ' << version << ' ' << horizon.version;
      }
}

TEST(director_checkpoint, at_an_end_that_nobody_knew_of_is_taken_once_all_know) {
  auto options = six_steps(100);
  options.stop.patience = 1;
  auto by_result = started(options);
  by_result.on_trained(2, train);
  EXPECT_EQ(by_result.on_trained(4, train),
            (decisions{row(4), up_to(4, true), take(4), end_with(4, stop_reason::patience)}));
  options.keep_best = true;
  auto interrupted = started(options);
  interrupted.on_trained(2, train);
  interrupted.on_stop_requested(); // while version 2 is fetched
  EXPECT_EQ(interrupted.on_kept(2),
            (decisions{up_to(2, true), take(2), end_with(2, stop_reason::interrupt)}));
}

TEST(director_checkpoint, what_a_result_ended_stays_ended) {
  auto options = six_steps(2);
  options.stop.patience = 1;
  auto ended = started(options);
  ended.on_trained(2, train);
  ended.on_marked(2);
  ended.on_trained(4, train);
  director_rule again{options, ended.memory(4)};
  EXPECT_EQ(again.start(), (decisions{up_to(4, true), end_with(4, stop_reason::patience)}));
  options.stop = {};
  options.stop.target_loss = 1; // as much as it was
  director_rule with_target{options, ended.memory(4)};
  EXPECT_EQ(with_target.start(),
            (decisions{up_to(4, true), end_with(4, stop_reason::target_loss)}));
  options.stop.target_loss = 0.5;
  director_rule far_from_it{options, ended.memory(4)};
  EXPECT_EQ(far_from_it.start(), (decisions{up_to(6, true)}));
}

TEST(director_checkpoint, is_not_taken_while_replicas_hold) {
  auto rule = started(six_steps(3));
  rule.on_trained(2, train);
  rule.on_stop_requested();
  EXPECT_EQ(rule.on_marked(3), decisions{});
  EXPECT_EQ(rule.on_stop_named(3), decisions{up_to(3, true)});
  EXPECT_EQ(rule.on_trained(3, train),
            (decisions{row(3), take(3), end_with(3, stop_reason::interrupt)}));
}

TEST(director_checkpoint, is_not_taken_when_training_diverges) {
  auto rule = started(six_steps(3));
  EXPECT_EQ(rule.on_not_finite({1, "", {}}), decisions{end_with(1, stop_reason::diverged)});
  EXPECT_EQ(rule.on_marked(3), decisions{});
}

TEST(director_checkpoint, of_a_best_version_waits_until_that_is_kept) {
  auto options = six_steps(2);
  options.keep_best = true;
  auto rule = started(options);
  EXPECT_EQ(rule.on_trained(2, train), (decisions{row(2), keep_version{2}}));
  EXPECT_EQ(rule.on_kept(2), (decisions{take(2), up_to(4)}));
  EXPECT_EQ(rule.memory(2).best, (best_version{2, 1}));
}

TEST(director_checkpoint, only_the_horizon_is_marked) {
  auto rule = started(six_steps(3));
  EXPECT_EQ(rule.on_marked(1), decisions{});
  rule.on_trained(2, train);
  EXPECT_EQ(rule.on_marked(2), decisions{});
  EXPECT_EQ(rule.on_marked(3), (decisions{take(3), up_to(6, true)}));
}

TEST(director_checkpoint, a_horizon_in_the_middle_of_an_epoch_holds_back_neither_rows_nor_rules) {
  auto options = six_steps(3);
  options.stop.patience = 1;
  auto rule = started(options);
  EXPECT_EQ(rule.on_trained(2, train), (decisions{row(2), up_to(3)})) << "the nearer one";
  EXPECT_EQ(rule.on_marked(3), (decisions{take(3), up_to(4)}));
  EXPECT_EQ(rule.on_trained(4, train),
            (decisions{row(4), up_to(4, true), take(4), end_with(4, stop_reason::patience)}));
}

TEST(director_checkpoint, where_processes_may_be_lost_replicas_wait_for_every_row) {
  auto options = six_steps(0);
  options.waits_for_rows = true;
  director_rule rule{options};
  EXPECT_EQ(rule.start(), decisions{up_to(2)});
  EXPECT_EQ(rule.on_trained(2, train), (decisions{row(2), up_to(4)}));
}

TEST(director_checkpoint, a_rule_goes_on_from_its_memory) {
  auto before = started(six_steps(3));
  before.on_trained(2, train);
  before.on_marked(3);
  const auto memory = before.memory(3);
  EXPECT_EQ(memory.version, 3u);
  director_rule rule{six_steps(3), memory};
  EXPECT_EQ(rule.row_version(), 2u);
  EXPECT_EQ(rule.start(), decisions{up_to(6, true)});
  EXPECT_EQ(rule.on_trained(2, train), decisions{}) << "its row is out";
  EXPECT_EQ(rule.on_trained(4, train), decisions{row(4)});
  EXPECT_EQ(rule.on_trained(6, train), (decisions{row(6), take(6), end_with(6)}));
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
  auto before = started(options);
  before.on_trained(2, train);
  before.on_kept(2);
  before.on_trained(4, train); // as good is not better
  director_rule rule{options, before.memory(4)};
  EXPECT_EQ(rule.best(), (best_version{2, 1}));
  EXPECT_EQ(rule.start(), decisions{up_to(6, true)});
  EXPECT_EQ(rule.on_trained(6, train),
            (decisions{row(6), take(6), end_with(2, stop_reason::patience)}));
}

TEST(director_checkpoint, from_the_end_there_is_nothing_to_train_and_nothing_to_save) {
  director_memory memory;
  memory.version = 6;
  director_rule rule{six_steps(2), memory};
  EXPECT_EQ(rule.start(), (decisions{up_to(6, true), end_with(6)}));
  EXPECT_EQ(rule.state(), phase::ending);
}

TEST(director_checkpoint, a_stop_at_the_version_it_went_on_from_ends_there) {
  director_memory memory;
  memory.version = 3;
  director_rule before_start{six_steps(2), memory};
  before_start.on_stop_requested();
  EXPECT_EQ(before_start.start(), (decisions{up_to(3, true), end_with(3, stop_reason::interrupt)}));
  director_rule rule{six_steps(2), memory};
  EXPECT_EQ(rule.start(), decisions{up_to(4)});
  EXPECT_EQ(rule.on_stop_requested(), decisions{hold_replicas{}});
  EXPECT_EQ(rule.on_stop_named(3),
            (decisions{up_to(3, true), end_with(3, stop_reason::interrupt)}));
}

} // namespace
} // namespace troupe::director_best_test
