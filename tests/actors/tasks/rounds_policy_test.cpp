// The strategy `parameters` as a whole run: the bits follow from the job, whoever computes.

#include "actors/run/train.hpp"
#include "actors/tasks/parameter_server.hpp"
#include "actors/tasks/rounds_policy.hpp"
#include "coordinators/job/training_modes.hpp"
#include "data/records/trainer_table.hpp"
#include "tests/support/played_node.hpp"
#include "tests/support/server_oracle.hpp"
#include "tests/support/training.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace troupe::rounds_policy_test {
namespace {

/// 150 training rows in steps of 32 (the last has 22), five members, rounds of two steps.
job merging_job() {
  auto x = test::small_job();
  x.training.strategy = strategy_kind::parameters;
  x.training.slices.reset();
  x.training.members = 5;
  x.training.local_steps = 2;
  x.training.replicas = 2;
  return x;
}

std::vector<float> trained(const job& x, size_t threads = 2) {
  return test::values_of(test::train_on(threads, x).parameters);
}

TEST(rounds_policy, bits_do_not_depend_on_replicas_threads_or_the_order_of_messages) {
  auto x = merging_job();
  x.training.replicas = 1;
  const auto expected = trained(x, 1);
  for (size_t replicas = 1; replicas <= 6; ++replicas) {
    x.training.replicas = replicas;
    EXPECT_EQ(trained(x), expected) << replicas;
    for (uint64_t seed = 0; seed < 4; ++seed)
      EXPECT_EQ(test::train_in_order(x, seed).parameters, expected) << replicas << ' ' << seed;
  }
}

TEST(rounds_policy, what_is_part_of_the_job_changes_the_bits) {
  const auto expected = trained(merging_job());
  for (const auto& change : std::vector<std::function<void(job&)>>{
         [](job& x) { x.training.members = 4; }, [](job& x) { x.training.local_steps = 1; },
         [](job& x) { x.merge.members.rule = merge_rule::average; },
         [](job& x) { x.merge.members.rule = merge_rule::median; },
         [](job& x) { x.merge.elastic_alpha = 0.1; },
         [](job& x) { x.merge.averaging.kind = averaging_kind::mean; },
         [](job& x) { x.merge.flipped_members = 1; },
         [](job& x) { x.merge.outer = outer_options(outer_kind::sgd, 0.7, 0.9, true); }}) {
    auto x = merging_job();
    change(x);
    EXPECT_NE(trained(x), expected);
  }
}

TEST(rounds_policy, rounds_of_one_plain_step_are_synchronous_steps_to_rounding) {
  auto x = merging_job();
  x.optimizer = {};
  x.optimizer.learning_rate = 0.1;
  x.training.local_steps = 1;
  const auto merged = trained(x);
  auto gradients = x;
  gradients.training.strategy = strategy_kind::gradients;
  gradients.training.members.reset();
  gradients.training.local_steps.reset();
  gradients.training.slices = 5;
  const auto stepped = trained(gradients);
  ASSERT_EQ(merged.size(), stepped.size());
  for (size_t i = 0; i < merged.size(); ++i)
    EXPECT_NEAR(merged[i], stepped[i], 1e-5) << i;
}

TEST(rounds_policy, a_run_leaves_what_any_run_leaves) {
  const auto result = test::train_on(2, merging_job());
  ASSERT_EQ(result.history.size(), 3u);
  EXPECT_EQ(result.history[0].steps, 5u);
  EXPECT_TRUE(result.history[1].test_accuracy);
  EXPECT_LT(result.history[2].train_loss, result.history[0].train_loss);
  EXPECT_EQ(result.summary.strategy, "parameters");
  EXPECT_EQ(result.summary.samples, 3u * 150);
  EXPECT_EQ(result.summary.steps, 15u);
  EXPECT_EQ(result.summary.stopped_by, "epochs");
  EXPECT_TRUE(result.summary.reproducible);
  ASSERT_EQ(result.summary.trainers.size(), 2u);
  // Three rounds an epoch of five members each.
  EXPECT_EQ(result.summary.trainers[0].results + result.summary.trainers[1].results, 45u);
  EXPECT_EQ(result.summary.trainers[1].process, "local");
  EXPECT_EQ(result.summary.trainers[1].replica, 1u);
  EXPECT_EQ(result.statistics, trainer_table(result.summary.trainers));
}

TEST(rounds_policy, results_are_evaluated_where_the_rows_say) {
  auto x = merging_job();
  const auto whole = test::train_on(2, x);
  for (uint64_t steps : {5, 10}) {
    x.training.steps = steps;
    const auto part = test::train_on(1, x);
    const auto& row = whole.history.at(steps / 5 - 1);
    EXPECT_EQ(part.summary.test_loss, row.test_loss);
    EXPECT_EQ(part.summary.train_loss, row.train_loss);
  }
}

TEST(rounds_policy, every_rule_learns) {
  auto x = merging_job();
  x.training.epochs = 12;
  for (const auto rule :
       {merge_rule::average, merge_rule::weighted, merge_rule::median, merge_rule::trimmed_mean,
        merge_rule::krum, merge_rule::multi_krum, merge_rule::geometric_median}) {
    x.merge.members.rule = rule;
    x.merge.members.faulty_count = rule == merge_rule::krum || rule == merge_rule::multi_krum;
    const auto result = test::train_on(2, x);
    EXPECT_LT(*result.history.back().train_loss, 0.7 * *result.history.front().train_loss)
      << name_of(rule);
  }
}

TEST(rounds_policy, a_reversed_member_spoils_the_mean_and_not_the_median) {
  auto x = merging_job();
  x.training.epochs = 12;
  x.merge.flipped_members = 1;
  const auto loss_with = [&](merge_rule rule) {
    x.merge.members.rule = rule;
    x.merge.members.faulty_count = rule == merge_rule::krum;
    const auto result = test::train_on(2, x);
    return result.problem ? INFINITY : *result.summary.test_loss;
  };
  const auto held = loss_with(merge_rule::median);
  EXPECT_GT(loss_with(merge_rule::average), 2 * held);
  EXPECT_LT(loss_with(merge_rule::krum), 2 * held);
}

TEST(rounds_policy, stops_at_the_end_of_a_round) {
  auto x = merging_job();
  x.training.epochs = 1'000'000;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    test::ordered_company run{x};
    std::mt19937_64 random{seed};
    run.begin();
    for (int k = 0; k < 150; ++k)
      run.step(random);
    run.self()->send(run.actors().director(), atom::stop_v);
    run.run(random);
    const auto outcome = run.outcome();
    EXPECT_EQ(outcome.finished.reason, static_cast<uint8_t>(stop_reason::interrupt));
    const auto version = outcome.finished.version;
    EXPECT_TRUE(version % 5 == 0 || version % 5 == 2 || version % 5 == 4) << version;
    auto same = x;
    same.training.steps = version;
    if (version > 0) {
      EXPECT_EQ(outcome.parameters, test::train_in_order(same, 0).parameters) << seed;
    }
  }
}

TEST(rounds_policy, ends_with_the_last_finite_model_when_a_member_diverges) {
  auto x = merging_job();
  x.optimizer = {};
  x.optimizer.learning_rate = 1e30;
  const auto result = test::train_on(2, x);
  ASSERT_TRUE(result.problem);
  EXPECT_NE(result.problem->find("member"), std::string::npos) << *result.problem;
  for (auto value : result.parameters.values())
    ASSERT_TRUE(std::isfinite(value));
}

TEST(rounds_policy, best_version_and_patience_work_on_merged_models) {
  auto x = merging_job();
  x.data.validation_fraction = 0.2;
  x.training.epochs = 200;
  x.training.patience = 3;
  const auto result = test::train_on(2, x);
  EXPECT_EQ(result.summary.stopped_by, "patience");
  ASSERT_TRUE(result.summary.best_version);
  EXPECT_EQ(*result.summary.best_version % 4, 0u); // an epoch of 110 rows has four steps
  EXPECT_EQ(test::train_in_order(x, 1).parameters, test::values_of(result.parameters));
}

TEST(rounds_policy, lost_trainers_do_not_show_in_the_bits) {
  auto x = merging_job();
  x.training.replicas = 3;
  for (const auto kind : {optimizer_kind::sgd, optimizer_kind::adam}) {
    x.optimizer.kind = kind;
    const auto expected = test::train_in_order(x, 0);
    for (uint64_t seed = 0; seed < 24; ++seed) {
      test::server_oracle oracle{x.training, 3};
      company_options options;
      hooks_of(options).on_trainer = [&](const trainer_event& news) { oracle.on(news); };
      const auto outcome = test::train_with_losses(x, seed, 1 + seed % 2, options);
      oracle.on_end(outcome.finished.version);
      EXPECT_EQ(outcome.parameters, expected.parameters) << seed;
      EXPECT_EQ(oracle.violations(), std::vector<std::string>{}) << seed;
      EXPECT_EQ(oracle.count(trainer_event::kind::used), 45u) << seed;
      EXPECT_EQ(outcome.finished.replicas_lost, 1 + seed % 2) << seed;
      ASSERT_EQ(outcome.finished.history.size(), expected.finished.history.size());
      for (size_t i = 0; i < expected.finished.history.size(); ++i) {
        EXPECT_EQ(outcome.finished.history[i].test_loss, expected.finished.history[i].test_loss);
        EXPECT_EQ(outcome.finished.history[i].train_loss, expected.finished.history[i].train_loss);
      }
    }
  }
}

TEST(rounds_policy, without_a_trainer_the_run_ends_with_a_reason) {
  auto x = merging_job();
  x.training.epochs = 1'000'000;
  const auto outcome = test::train_with_losses(x, 1, 2);
  EXPECT_TRUE(outcome.finished.failed);
  EXPECT_NE(outcome.finished.problem.find("the last that was left"), std::string::npos)
    << outcome.finished.problem;
}

// What a parameter server tells its trainers, whatever its mode. Trainers, director and node are played; the
// policy is that of local rounds.

using test::note;

constexpr size_t parameter_count = 3;

struct heard_by_trainer {
  std::vector<trainer_task> tasks;
  std::vector<evaluation_task> evaluations;
};

task_taker_actor::behavior_type played_trainer(task_taker_actor::pointer, heard_by_trainer* notes) {
  return {note(notes->tasks), note(notes->evaluations)};
}

/// One member, whose rounds are epochs of one step, and three trainers: the last two have no work.
class one_member : public test::testing_system {
public:
  one_member() {
    server_options options;
    options.plan = {
      .row_count = 4, .batch_size = 4, .slice_count = 1, .epoch_count = 9, .step_limit = {}};
    options.rows = {3 * 256, 0}; // a chunk for each
    options.policy = std::make_shared<rounds_policy>(
      rounds_policy_options{options.plan, {.member_count = 1, .local_steps = 1}});
    options.parameter_count = parameter_count;
    options.make_span = [](const const_buffer& initial, const index_range&) {
      return std::make_unique<merged_span>(merged_span_options{.member_count = 1}, initial);
    };
    server_ = system_->spawn(parameter_server, options);
    view everybody;
    everybody.term = everybody.number = 1;
    for (auto& notes : trainers) {
      actors_.push_back(system_->spawn(played_trainer, &notes));
      everybody.trainers.push_back({actors_.back()});
    }
    const auto versions =
      std::make_shared<version_buffers>(std::make_shared<buffer_pool>(parameter_count));
    std::ranges::fill(versions->of(0).values(), 1.0f); // a pool's buffers come as they are
    tell(shard_start{1, versions, {}, {}});
    tell(everybody);
    tell(horizon{{9, true}, 0});
  }

  ~one_member() {
    for (const auto& actor : actors_)
      caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(server_, caf::exit_reason::user_shutdown);
    run();
  }

  template <class T>
  void tell(const T& news) {
    caf::anon_send(server_, news);
    run();
  }

  /// The trainer with the member trains it for a round.
  void train() {
    const auto& task = trainers[0].tasks.at(round_++);
    trainer_result result;
    result.ticket = task.ticket;
    result.first_step = task.first_step;
    result.values = task.parameters;
    result.sums = {1, 4, 4, 1};
    tell(result);
  }

  void lose(size_t trainer) {
    caf::anon_send_exit(actors_[trainer], caf::exit_reason::kill);
    run();
  }

  /// The versions that a trainer was to evaluate.
  std::vector<uint64_t> evaluated_by(size_t trainer) const {
    std::vector<uint64_t> result;
    for (const auto& task : trainers[trainer].evaluations)
      result.push_back(task.version);
    return result;
  }

  heard_by_trainer trainers[3];

private:
  size_t round_ = 0;

  server_actor server_;
  std::vector<task_taker_actor> actors_;
};

TEST(server, a_lost_trainers_evaluations_go_to_another) {
  one_member run;
  run.train();
  run.train();
  ASSERT_EQ(run.evaluated_by(2), (std::vector<uint64_t>{1, 2}));
  run.lose(2);
  EXPECT_EQ(run.evaluated_by(0), (std::vector<uint64_t>{1, 2, 1, 2}));
}

TEST(server, an_answer_covers_what_was_asked_before_it_though_rows_are_complete) {
  one_member run;
  run.train();                     // version 1: to be evaluated, then the next task
  run.train();                     // the task's answer covers it; version 2, and a task
  run.tell(horizon{{9, true}, 3}); // version 2 need not be evaluated any more
  run.train();                     // version 3: to be evaluated after that answer
  run.lose(0);
  EXPECT_EQ(run.evaluated_by(1), (std::vector<uint64_t>{1, 2, 3, 3}));
}

} // namespace
} // namespace troupe::rounds_policy_test
