// Gradients without common steps: nobody is held up by a slow one, and nothing is lost or counted
// twice, in whatever order messages come.

#include "actors/protocol/task_messages.hpp"
#include "data/records/sequence_file.hpp"
#include "tests/support/server_oracle.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/training.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace troupe::gradients_policy_test {
namespace {

struct mode {
  const char* name;
  std::function<void(training_options&)> choose;
};

const std::vector<mode> modes{
  {"asynchronous", [](auto& x) { x.consistency = consistency_kind::asynchronous; }},
  {"no staleness", [](auto& x) { x.consistency = consistency_kind::bounded; }},
  {"staleness 2", [](auto& x) { x.consistency = consistency_kind::bounded, x.staleness_max = 2; }},
  {"first 2 of 3",
   [](auto& x) { x.consistency = consistency_kind::half_synchronous, x.first_count = 2; }},
  {"lag", [](auto& x) { x.consistency = consistency_kind::lag; }},
  {"shorter late steps",
   [](auto& x) {
     x.consistency = consistency_kind::asynchronous;
     x.late_steps = step_scaling::inverse;
   }},
  {"delay compensation",
   [](auto& x) { x.consistency = consistency_kind::asynchronous, x.delay_compensation = 0.04; }}};

job asynchronous_job(const mode& m = modes.front()) {
  auto x = test::small_job();
  x.training.slices.reset();
  x.training.replicas = 3;
  x.training.epochs = 12;
  m.choose(x.training);
  return x;
}

/// What the parameter server says of its trainers, after the end.
trainer_figures figures_of(test::ordered_company& run) {
  trainer_figures result;
  const auto& server = run.actors().server();
  auto handle = run.self()->request(server, std::chrono::minutes{60}, atom::figures_v);
  std::mt19937_64 any{0};
  run.run(any);
  handle.receive([&](const trainer_figures& news) { result = news; }, [](const caf::error&) {});
  return result;
}

uint64_t applied_in(const trainer_figures& figures) {
  uint64_t result = 0;
  for (const auto& one : figures.replicas)
    result += one.figures.applied_count;
  return result;
}

uint64_t sum_of(const std::vector<trainer_record>& trainers, uint64_t trainer_record::*figure) {
  uint64_t result = 0;
  for (const auto& one : trainers)
    result += one.*figure;
  return result;
}

TEST(gradients_policy, every_mode_learns_and_accounts_for_every_gradient) {
  for (const auto& m : modes) {
    const auto result = test::train_on(2, asynchronous_job(m));
    EXPECT_LT(*result.history.back().train_loss, 0.8 * *result.history.front().train_loss)
      << m.name;
    EXPECT_EQ(result.history.size(), 12u) << m.name;
    EXPECT_EQ(result.summary.samples, 12u * 150) << m.name;
    EXPECT_EQ(result.summary.steps, 60u) << m.name;
    EXPECT_TRUE(result.history.front().test_accuracy) << m.name;
    EXPECT_FALSE(result.summary.reproducible) << m.name;
    const auto& trainers = result.summary.trainers;
    EXPECT_EQ(sum_of(trainers, &trainer_record::results), 60u) << m.name;
    EXPECT_EQ(sum_of(trainers, &trainer_record::applied) +
                sum_of(trainers, &trainer_record::discarded),
              60u)
      << m.name;
  }
}

TEST(gradients_policy, every_order_of_messages_comes_to_an_end) {
  for (const auto& m : modes)
    for (uint64_t seed = 0; seed < 12; ++seed) {
      const auto outcome = test::train_in_order(asynchronous_job(m), seed);
      EXPECT_EQ(outcome.finished.version, 60u) << m.name << ' ' << seed;
      EXPECT_FALSE(outcome.finished.failed) << m.name << ' ' << seed;
    }
}

TEST(gradients_policy, one_replica_gives_the_bits_of_synchronous_training) {
  auto x = asynchronous_job();
  x.training.replicas = 1;
  x.optimizer.l2 = 0.01;
  const auto alone = test::values_of(test::train_on(2, x).parameters);
  x.training.consistency = consistency_kind::synchronous;
  x.training.slices = 1;
  EXPECT_EQ(alone, test::values_of(test::train_on(2, x).parameters));
}

TEST(gradients_policy, order_of_arrival_shows_in_the_bits) {
  const auto first = test::train_in_order(asynchronous_job(), 0).parameters;
  bool differs = false;
  for (uint64_t seed = 1; seed < 8; ++seed)
    differs = differs || test::train_in_order(asynchronous_job(), seed).parameters != first;
  EXPECT_TRUE(differs); // or nothing here would be asynchronous
}

TEST(gradients_policy, a_slow_replica_does_not_hold_the_others_up) {
  auto x = asynchronous_job();
  x.training.epochs = 40; // 200 steps; in step with the slow one they would take a second
  company_options options;
  hooks_of(options).answer_delay = [](uint64_t trainer, uint64_t) {
    return std::chrono::milliseconds{trainer == 0 ? 5 : 0};
  };
  const auto outcome = test::train_company(2, x, options);
  ASSERT_EQ(outcome.finished.replicas.size(), 3u);
  const auto slow = outcome.finished.replicas[0].sample_count;
  const auto others =
    outcome.finished.replicas[1].sample_count + outcome.finished.replicas[2].sample_count;
  EXPECT_GT(slow, 0u);
  EXPECT_GT(others, 3 * slow) << "in step with it they would have computed twice as much";
}

TEST(gradients_policy, stops_at_a_version_all_gradients_have_come_to) {
  for (const auto& m : modes) {
    auto x = asynchronous_job(m);
    x.training.epochs = 1'000'000;
    test::ordered_company run{x};
    std::mt19937_64 random{7};
    run.begin();
    for (int k = 0; k < 200; ++k)
      run.step(random);
    run.self()->send(run.actors().director(), atom::stop_v);
    run.run(random);
    const auto outcome = run.outcome();
    EXPECT_EQ(outcome.finished.reason, static_cast<uint8_t>(stop_reason::interrupt)) << m.name;
    uint64_t samples = 0;
    for (const auto& replica : outcome.finished.replicas)
      samples += replica.sample_count;
    const auto epochs = outcome.finished.version / 5, rest = outcome.finished.version % 5;
    EXPECT_EQ(samples, epochs * 150 + rest * 32) << m.name;
  }
}

TEST(gradients_policy, ends_with_the_last_finite_model_when_training_diverges) {
  auto x = asynchronous_job();
  x.optimizer = {};
  x.optimizer.learning_rate = 1e38;
  const auto result = test::train_on(2, x);
  ASSERT_TRUE(result.problem);
  for (auto value : result.parameters.values())
    ASSERT_TRUE(std::isfinite(value));
}

TEST(gradients_policy, patience_and_the_best_version_work_as_ever) {
  auto x = asynchronous_job();
  x.data.validation_fraction = 0.2;
  x.training.epochs = 400;
  x.training.patience = 3;
  const auto result = test::train_on(2, x);
  EXPECT_EQ(result.summary.stopped_by, "patience");
  ASSERT_TRUE(result.summary.best_version);
  EXPECT_EQ(*result.summary.best_version % 4, 0u);
}

TEST(gradients_policy, lost_trainers_work_is_done_by_the_others) {
  for (const auto& m : modes)
    for (uint64_t seed = 0; seed < 12; ++seed) {
      const auto x = asynchronous_job(m);
      test::server_oracle oracle{x.training, 3};
      company_options options;
      hooks_of(options).on_trainer = [&](const trainer_event& news) { oracle.on(news); };
      const auto outcome = test::train_with_losses(x, seed, 1 + seed % 2, options);
      oracle.on_end(outcome.finished.version);
      EXPECT_EQ(outcome.finished.version, 60u) << m.name << ' ' << seed;
      EXPECT_FALSE(outcome.finished.failed) << outcome.finished.problem;
      EXPECT_EQ(oracle.violations(), std::vector<std::string>{}) << m.name << ' ' << seed;
      EXPECT_EQ(oracle.count(trainer_event::kind::lost), 1 + seed % 2);
      EXPECT_EQ(outcome.finished.replicas_lost, 1 + seed % 2) << m.name << ' ' << seed;
      for (const auto& row : outcome.finished.history)
        EXPECT_TRUE(row.test_accuracy) << m.name << ' ' << seed << ' ' << row.steps;
    }
}

TEST(gradients_policy, a_loss_and_what_it_means_for_a_step_are_said) {
  auto x = asynchronous_job();
  x.training.consistency = consistency_kind::half_synchronous;
  x.training.first_count = 3;
  std::vector<training_progress> progress;
  test::train_with_losses(x, 3, 1, {}, &progress);
  std::vector<std::string> notices;
  for (const auto& news : progress)
    if (!news.notice.empty())
      notices.push_back(news.notice);
  EXPECT_EQ(notices,
            std::vector<std::string>{"a replica is lost, 2 replicas are left; a step takes "
                                     "the first 2 gradients instead of 3"});
}

TEST(gradients_policy, what_training_ends_before_is_neither_applied_nor_discarded) {
  auto x = asynchronous_job(modes[3]);
  x.training.epochs = 11; // 55 gradients in steps of two
  const auto trainers = test::train_on(2, x).summary.trainers;
  EXPECT_EQ(sum_of(trainers, &trainer_record::results), 55u);
  EXPECT_EQ(sum_of(trainers, &trainer_record::applied), 54u);
  EXPECT_EQ(sum_of(trainers, &trainer_record::discarded), 0u);
}

// Whichever way a step came to its end: all who were at it have waited for that.
TEST(gradients_policy, a_step_that_a_loss_completes_counts_as_any) {
  auto x = asynchronous_job(modes[3]);
  x.training.first_count = 3;
  uint64_t closed_by_losses = 0;
  const temporary_folder folder;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    test::server_oracle oracle{x.training, 3};
    company_options options;
    hooks_of(options).on_trainer = [&](const trainer_event& news) { oracle.on(news); };
    options.decisions.file = folder.path("sequence.txt");
    test::ordered_company run{x, options};
    std::mt19937_64 random{seed};
    run.run_with_losses(random, 1);
    const auto figures = figures_of(run);
    const auto record = read_sequence(options.decisions.file);
    const auto closed = std::ranges::count(record, decision_kind::close, &recorded_decision::kind);
    const auto losses = std::ranges::count(record, decision_kind::loss, &recorded_decision::kind);
    EXPECT_EQ(closed + oracle.steps_closed_by_losses(), oracle.steps_closed()) << seed;
    EXPECT_LE(losses, oracle.steps_closed_by_losses()) << seed;
    EXPECT_GE(losses + 1, oracle.steps_closed_by_losses()) << seed << ": after the last gradient";
    EXPECT_EQ(figures.barrier_count, oracle.steps_closed()) << seed;
    EXPECT_EQ(applied_in(figures) + oracle.held(), 60u) << seed;
    closed_by_losses += oracle.steps_closed_by_losses();
  }
  EXPECT_GT(closed_by_losses, 0u);
}

// The run's model is that of the last gradient: what a loss completes later moves the parameter server's
// alone.
TEST(gradients_policy, what_a_loss_completes_after_the_end_is_not_applied) {
  auto x = asynchronous_job(modes[3]);
  x.training.first_count = 3;
  x.training.epochs = 10; // 50 gradients in steps of three
  size_t used = 0;
  company_options options;
  hooks_of(options).on_trainer = [&](const trainer_event& news) {
    used += news.what == trainer_event::kind::used ? 1 : 0;
  };
  test::ordered_company run{x, options};
  std::mt19937_64 random{3};
  run.begin();
  while (used < 50 && run.step(random)) {
  }
  caf::anon_send_exit(run.actors().replicas().front(), caf::exit_reason::kill);
  run.run(random);
  EXPECT_EQ(run.outcome().finished.version, 50u);
  const auto figures = figures_of(run);
  EXPECT_EQ(applied_in(figures), 48u);
  EXPECT_EQ(figures.barrier_count, 17u);
}

TEST(gradients_policy, a_stop_does_not_wait_for_a_lost_trainer) {
  for (const auto& m : modes)
    for (uint64_t seed = 0; seed < 6; ++seed) {
      auto x = asynchronous_job(m);
      x.training.epochs = 1'000'000;
      test::ordered_company run{x};
      std::mt19937_64 random{seed};
      run.begin();
      for (int k = 0; k < 100; ++k)
        run.step(random);
      run.self()->send(run.actors().director(), atom::stop_v);
      for (auto k = random() % 12; k > 0; --k)
        run.step(random);
      caf::anon_send_exit(run.actors().replicas().front(), caf::exit_reason::kill);
      run.run(random);
      EXPECT_FALSE(run.outcome().finished.failed) << m.name << ' ' << seed;
    }
}

TEST(gradients_policy, without_a_trainer_the_run_ends_with_a_reason) {
  auto x = asynchronous_job();
  x.training.epochs = 1'000'000;
  const auto outcome = test::train_with_losses(x, 1, 3);
  EXPECT_TRUE(outcome.finished.failed);
  EXPECT_NE(outcome.finished.problem.find("the last that was left"), std::string::npos)
    << outcome.finished.problem;
}

} // namespace
} // namespace troupe::gradients_policy_test
