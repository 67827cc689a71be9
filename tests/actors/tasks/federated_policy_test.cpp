// The strategy `federated` as a whole run: the bits follow from the job, whoever computes; bad clients
// and empty rounds are survived, and told.

#include "data/text/failure.hpp"
#include "models/privacy/accountant.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/server_oracle.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/training.hpp"
#include "tests/support/walk/private_walk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <vector>

namespace troupe::federated_policy_test {
namespace {

/// Five rounds of clients of different sizes and classes, some of which drop out.
job federated_job() {
  auto x = test::job_of_clients();
  x.training.replicas = 2;
  x.federated.rounds = 5;
  x.federated.local_epochs = 2;
  x.federated.partition = partition_kind::dirichlet;
  x.federated.spread = 0.5;
  x.federated.drop_out = 0.2;
  return x;
}

/// Every client in each round, one step of all its rows.
job synchronous_job() {
  auto x = federated_job();
  x.training.batch_size = 0;
  x.federated = {};
  x.federated.clients = x.federated.cohort = 20;
  x.federated.rounds = 5;
  x.federated.local_steps = 1;
  return x;
}

std::vector<float> trained(const job& x, size_t threads = 2) {
  return test::values_of(test::train_on(threads, x).parameters);
}

struct told_run {
  training_result result;
  std::string news;
  std::vector<round_record> rounds;
};

told_run train_and_listen(const job& x) {
  test::real_system host{2};
  told_run told;
  train_options options;
  options.on_progress = [&](const training_progress& progress) {
    told.news += progress.notice + '\n';
    told.rounds.insert(told.rounds.end(), progress.rounds.begin(), progress.rounds.end());
  };
  told.result = train(*host.system, x, options);
  return told;
}

TEST(federated_policy, bits_do_not_depend_on_replicas_threads_or_the_order_of_messages) {
  auto x = federated_job();
  x.training.replicas = 1;
  const auto expected = trained(x, 1);
  for (size_t replicas = 1; replicas <= 5; ++replicas) {
    x.training.replicas = replicas;
    EXPECT_EQ(trained(x), expected) << replicas;
    for (uint64_t seed = 0; seed < 3; ++seed)
      EXPECT_EQ(test::train_in_order(x, seed).parameters, expected) << replicas << ' ' << seed;
  }
}

TEST(federated_policy, bits_do_not_depend_on_how_many_clients_a_task_has) {
  auto x = federated_job();
  x.federated.cohort = 16;
  for (const size_t groups : {1u, 3u}) {
    x.federated.groups = groups;
    x.merge.members.rule = groups > 1 ? merge_rule::median : merge_rule::weighted;
    const auto expected = test::train_in_order(x, 0).parameters;
    for (const size_t clients : {1u, 2u, 7u, 64u}) {
      company_options options;
      hooks_of(options).clients_of_task = clients;
      EXPECT_EQ(test::train_in_order(x, clients, options).parameters, expected) << clients;
    }
  }
}

TEST(federated_policy, lost_trainers_do_not_show_in_the_bits) {
  auto x = federated_job();
  x.training.replicas = 3;
  x.federated.cohort = 12;
  const auto expected = test::train_in_order(x, 0);
  for (uint64_t seed = 0; seed < 16; ++seed) {
    test::server_oracle oracle{x.training, 3};
    company_options options;
    hooks_of(options).clients_of_task = 1 + seed % 4;
    hooks_of(options).on_trainer = [&](const trainer_event& news) { oracle.on(news); };
    const auto outcome = test::train_with_losses(x, seed, 1 + seed % 2, options);
    oracle.on_end(outcome.finished.version);
    EXPECT_EQ(outcome.parameters, expected.parameters) << seed;
    EXPECT_EQ(oracle.violations(), std::vector<std::string>{}) << seed;
    EXPECT_EQ(outcome.finished.replicas_lost, 1 + seed % 2) << seed;
    ASSERT_EQ(outcome.finished.history.size(), expected.finished.history.size());
    for (size_t i = 0; i < expected.finished.history.size(); ++i) {
      EXPECT_EQ(outcome.finished.history[i].test_loss, expected.finished.history[i].test_loss);
      EXPECT_EQ(outcome.finished.history[i].train_loss, expected.finished.history[i].train_loss);
    }
  }
}

TEST(federated_policy, what_is_part_of_the_job_changes_the_bits) {
  const auto expected = trained(federated_job());
  for (const auto& change : std::vector<std::function<void(job&)>>{
         [](job& x) { x.seed = 6; }, [](job& x) { x.federated.clients = 21; },
         [](job& x) { x.federated.cohort = 5; }, [](job& x) { x.federated.local_epochs = 1; },
         [](job& x) { x.federated.partition = partition_kind::iid; },
         [](job& x) { x.federated.spread = 0.4; }, [](job& x) { x.federated.drop_out = 0.3; },
         [](job& x) { x.federated.over_selection = 1; },
         [](job& x) { x.federated.sampling = client_sampling::poisson; },
         [](job& x) { x.federated.proximal = 1; }, [](job& x) { x.federated.weight_max = 2; },
         [](job& x) { x.training.batch_size = 5; },
         [](job& x) { x.merge.members.rule = merge_rule::average; },
         [](job& x) { x.merge.flipped_members = 10; },
         [](job& x) { x.merge.outer = outer_options(outer_kind::sgd, 0.7, 0.9, true); }}) {
    auto x = federated_job();
    change(x);
    EXPECT_NE(trained(x), expected);
  }
}

TEST(federated_policy, a_step_of_all_clients_is_a_synchronous_step) {
  const auto x = synchronous_job();
  auto gradients = x;
  gradients.training.strategy = strategy_kind::gradients;
  gradients.federated = {};
  gradients.training.epochs = 5;
  gradients.training.slices = 1;
  const auto merged = trained(x);
  const auto stepped = trained(gradients);
  ASSERT_EQ(merged.size(), stepped.size());
  for (size_t i = 0; i < merged.size(); ++i)
    EXPECT_NEAR(merged[i], stepped[i], 1e-6 * std::max(1.0f, std::abs(stepped[i]))) << i;
}

TEST(federated_policy, a_run_leaves_what_any_run_leaves) {
  auto x = federated_job();
  x.federated.rounds = 12;
  const auto told = train_and_listen(x);
  const auto& result = told.result;
  ASSERT_EQ(result.history.size(), 12u);
  EXPECT_EQ(result.history[0].steps, 1u);
  EXPECT_TRUE(result.history[1].test_accuracy);
  EXPECT_LT(result.history.back().train_loss, result.history.front().train_loss);
  EXPECT_EQ(result.summary.strategy, "federated");
  EXPECT_EQ(result.summary.steps, 12u);
  EXPECT_TRUE(result.summary.reproducible);
  ASSERT_EQ(told.rounds.size(), 12u);
  uint64_t rows = 0;
  for (size_t i = 0; i < told.rounds.size(); ++i) {
    const auto& round = told.rounds[i];
    EXPECT_EQ(round.round, i + 1);
    EXPECT_EQ(round.invited, 6u);
    EXPECT_EQ(round.counted + round.dropped, 6u);
    EXPECT_LE(round.losses.p10, round.losses.p50);
    EXPECT_LE(round.norms.p90, round.norms.most);
    EXPECT_GT(round.norms.p10, 0);
    EXPECT_FALSE(round.is_void);
    EXPECT_DOUBLE_EQ(round.loss, *result.history[i].train_loss);
    rows += round.rows;
  }
  EXPECT_EQ(result.summary.samples, rows);
}

TEST(federated_policy, the_final_model_is_judged_by_each_clients_test_rows) {
  auto x = federated_job();
  EXPECT_FALSE(test::train_on(2, x).summary.client_figures) << "nobody asked for them";
  const auto plain = trained(x);
  x.federated.evaluate_clients = true;
  const auto result = test::train_on(2, x);
  EXPECT_EQ(test::values_of(result.parameters), plain);
  const auto& found = *result.summary.client_figures;
  EXPECT_EQ(found.rows, result.data->test.row_count);
  EXPECT_GT(found.clients, 5u);
  EXPECT_LE(found.clients, 20u);
  EXPECT_GE(found.worst_tenth_loss, found.losses.p90);
  EXPECT_LE(*found.worst_tenth_accuracy, found.accuracies->p10);
  // One client's are all.
  x.federated = {};
  x.federated.clients = x.federated.cohort = 1;
  x.federated.rounds = 3;
  x.federated.evaluate_clients = true;
  const auto whole = test::train_on(2, x);
  const auto& alone = *whole.summary.client_figures;
  EXPECT_EQ(alone.clients, 1u);
  EXPECT_FLOAT_EQ(static_cast<float>(alone.losses.p50),
                  static_cast<float>(*whole.summary.test_loss));
  EXPECT_FLOAT_EQ(static_cast<float>(alone.accuracies->p50),
                  static_cast<float>(*whole.summary.test_accuracy));
}

TEST(federated_policy, a_client_out_of_range_is_refused_and_named) {
  auto x = synchronous_job();
  x.merge.flipped_members = 1;
  x.merge.flip_factor = 1e8;
  const auto told = train_and_listen(x);
  EXPECT_FALSE(told.result.problem) << *told.result.problem;
  EXPECT_NE(told.news.find("client 19 (out of range)"), std::string::npos) << told.news;
  for (const auto& round : told.rounds) {
    EXPECT_EQ(round.refused, 1u);
    EXPECT_EQ(round.counted, 19u);
  }
}

TEST(federated_policy, a_round_with_too_few_clients_is_void_and_the_next_draws_anew) {
  auto x = federated_job();
  x.federated.drop_out = 0.4;
  x.federated.min_count = 4;
  x.federated.rounds = 12;
  const auto told = train_and_listen(x);
  EXPECT_FALSE(told.result.problem);
  const auto void_rounds = std::ranges::count(told.rounds, true, &round_record::is_void);
  ASSERT_GE(void_rounds, 1) << "another seed, please";
  ASSERT_LE(void_rounds, 10);
  EXPECT_NE(told.news.find("is void, the model stays: 3 clients left, federated.min_count is 4"),
            std::string::npos)
    << told.news;
  for (size_t i = 1; i < told.rounds.size(); ++i)
    if (told.rounds[i].is_void) {
      EXPECT_EQ(told.rounds[i].counted, 0u);
      EXPECT_EQ(told.result.history[i].test_loss, told.result.history[i - 1].test_loss);
      EXPECT_EQ(told.result.history[i].train_loss, told.result.history[i - 1].train_loss);
    }
}

TEST(federated_policy, ten_void_rounds_in_a_row_end_the_run_by_name) {
  auto nobody = federated_job();
  nobody.federated.rounds = 100;
  nobody.federated.drop_out = 0.95;
  nobody.federated.min_count = 6;
  auto diverging = federated_job();
  diverging.federated.rounds = 100;
  diverging.optimizer.learning_rate = 1e30;
  for (const auto& x : {nobody, diverging}) {
    const auto error = test::failure_of([&] { const auto told = train_and_listen(x); });
    EXPECT_EQ(error.code(), failure_code::unavailable);
    EXPECT_EQ(error.where(), "federated.min_count");
    EXPECT_NE(std::string{error.what()}.find("10 rounds in a row were void"), std::string::npos)
      << error.what();
  }
}

TEST(federated_policy, robust_rules_merge_clients_that_the_mean_follows_astray) {
  auto x = synchronous_job();
  x.federated.local_steps = 5;
  x.federated.rounds = 20;
  x.merge.flipped_members = 4;
  const auto loss_with = [&](merge_rule rule, size_t groups) {
    auto y = x;
    y.merge.members.rule = rule;
    y.merge.members.faulty_count = rule == merge_rule::krum ? 4 : 0;
    y.federated.groups = groups;
    const auto result = test::train_on(2, y);
    return result.problem ? INFINITY : *result.summary.test_loss;
  };
  const auto held = loss_with(merge_rule::median, 0);
  EXPECT_GT(loss_with(merge_rule::weighted, 1), 3 * held);
  EXPECT_LT(loss_with(merge_rule::krum, 0), 3 * held);
}

TEST(federated_policy, stops_at_the_end_of_a_round) {
  auto x = federated_job();
  x.federated.rounds = 1'000'000;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    test::ordered_company run{x};
    std::mt19937_64 random{seed};
    run.begin();
    for (int k = 0; k < 150; ++k)
      run.step(random);
    run.self()->send(run.actors().director(), atom::stop_v);
    run.run(random);
    const auto outcome = run.outcome();
    EXPECT_EQ(outcome.finished.reason, static_cast<uint8_t>(stop_reason::interrupt));
    auto same = x;
    same.training.steps = outcome.finished.version;
    if (outcome.finished.version > 0) {
      EXPECT_EQ(outcome.parameters, test::train_in_order(same, 0).parameters) << seed;
    }
  }
}

// Private runs as a whole: the bits follow from the key, the ledger has every release before its model is
// there, and what was released is never made again with the same noise.

using namespace test;

constexpr size_t round_count = test::private_rounds;

TEST(private_policy, bits_follow_from_the_key_whoever_computes) {
  const temporary_folder folder;
  const auto expected = trained(private_job(folder.path("first")), 1);
  for (size_t replicas = 1; replicas <= 3; ++replicas) {
    auto x = private_job(folder.path("of " + std::to_string(replicas)));
    x.training.replicas = replicas;
    EXPECT_EQ(trained(x), expected) << replicas;
  }
  for (const size_t clients : {1u, 2u, 64u}) {
    company_options options;
    hooks_of(options).clients_of_task = clients;
    const auto x = private_job(folder.path("by " + std::to_string(clients)));
    EXPECT_EQ(test::train_in_order(x, clients, options).parameters, expected) << clients;
  }
  auto other = private_job(folder.path("other"));
  other.privacy.key->bytes[0] = 9;
  EXPECT_NE(trained(other), expected);
}

TEST(private_policy, lost_trainers_do_not_show_in_the_bits) {
  const temporary_folder folder;
  auto x = private_job(folder.path("expected"));
  x.training.replicas = 3;
  const auto expected = test::train_in_order(x, 0);
  for (uint64_t seed = 0; seed < 6; ++seed) {
    x.output.directory = folder.path(std::to_string(seed));
    std::filesystem::create_directories(x.output.directory);
    company_options options;
    hooks_of(options).clients_of_task = 1;
    const auto outcome = test::train_with_losses(x, seed, 1, options);
    EXPECT_EQ(outcome.parameters, expected.parameters) << seed;
    EXPECT_EQ(releases_of(x).size(), round_count) << seed;
  }
}

TEST(private_policy, every_round_is_in_the_ledger_with_what_it_came_to) {
  const temporary_folder folder;
  const auto x = private_job(folder.path("run"));
  const auto result = test::train_on(2, x);
  const auto found = releases_of(x);
  ASSERT_EQ(found.size(), round_count);
  privacy_accountant accountant{x.privacy.delta};
  for (uint64_t i = 0; i < round_count; ++i) {
    accountant.add({0.3, 1});
    EXPECT_EQ(found[i], (privacy_release{i, 0, 0.3, 1, accountant.epsilon()}));
  }
  ASSERT_TRUE(result.summary.clients && result.summary.clients->privacy);
  EXPECT_EQ(result.summary.clients->privacy->releases, round_count);
  EXPECT_EQ(result.summary.clients->privacy->epsilon, accountant.epsilon());
  EXPECT_EQ(result.summary.clients->updates, 0u);
  EXPECT_EQ(result.summary.samples, 0u);
  EXPECT_TRUE(result.summary.trainers.empty());
  for (const auto& row : result.history) {
    EXPECT_FALSE(row.train_loss);
    EXPECT_FALSE(row.train_accuracy);
    EXPECT_TRUE(row.test_loss);
  }
}

// As a run that is killed before its first checkpoint, and begins anew with its ledger.
TEST(private_policy, a_round_that_is_made_again_has_another_cohort_and_other_noise) {
  const temporary_folder folder;
  auto x = silent_job(folder.path("run"));
  x.federated.rounds = 1;
  const auto first = trained(x), second = trained(x), third = trained(x);
  const auto found = releases_of(x);
  ASSERT_EQ(found.size(), 3u);
  for (uint64_t i = 0; i < 3; ++i)
    EXPECT_EQ(found[i].attempt, i);
  EXPECT_GT(found[2].epsilon, found[0].epsilon) << "all that was released counts";
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_NE(first[i], second[i]) << i;
    EXPECT_NE(second[i], third[i]) << i;
    EXPECT_NE(first[i], third[i]) << i;
  }
}

// One key for two jobs, and both in their first attempt at their first round.
TEST(private_policy, another_job_has_other_noise_with_the_same_key) {
  const temporary_folder folder;
  auto x = silent_job(folder.path("x")), y = silent_job(folder.path("y"));
  x.federated.rounds = y.federated.rounds = 1;
  y.federated.local_epochs = 2;
  const auto one = trained(x), other = trained(y);
  for (size_t i = 0; i < one.size(); ++i)
    EXPECT_NE(one[i], other[i]) << i;
}

TEST(private_policy, training_ends_before_the_budget_is_exceeded) {
  const temporary_folder folder;
  privacy_accountant accountant{1e-5};
  accountant.add({0.3, 1}, 2);
  auto x = private_job(folder.path("run"));
  x.privacy.epsilon = accountant.epsilon();
  const auto result = test::train_on(2, x);
  EXPECT_EQ(result.summary.stopped_by, "epsilon");
  EXPECT_EQ(result.summary.steps, 2u);
  EXPECT_EQ(releases_of(x).size(), 2u);
  EXPECT_TRUE(result.summary.test_loss);
  const auto nothing_left = test::train_on(2, x);
  EXPECT_EQ(nothing_left.summary.stopped_by, "epsilon");
  EXPECT_EQ(nothing_left.summary.steps, 0u) << "earlier lives spent it";
  EXPECT_EQ(releases_of(x).size(), 2u);
}

// Lives on one ledger, some with a disk that is full; mutants see the same walk.
TEST(private_policy, lives_that_begin_anew_never_use_noise_again_nor_release_what_is_not_written) {
  for (uint64_t seed = 0; seed < 20; ++seed)
    ASSERT_EQ(test::private_walk{seed}.run(), "") << seed;
}

TEST(private_policy, nothing_is_released_that_cannot_be_written_down) {
  const temporary_folder folder;
  auto x = private_job(folder.path("run"));
  std::filesystem::create_directories(x.output.directory + "/releases.csv");
  EXPECT_THROW(test::train_on(2, x), failure);
  x.output.directory.clear();
  EXPECT_THROW(test::train_on(2, x), failure);
}

} // namespace
} // namespace troupe::federated_policy_test
