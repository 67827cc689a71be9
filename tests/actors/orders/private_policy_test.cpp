// Private runs as a whole: the bits follow from the key, the ledger has every release before its model is
// there, and what was released is never made again with the same noise.

#include "data/text/failure.hpp"
#include "models/privacy/accountant.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/training.hpp"
#include "tests/support/walk/private_walk.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <vector>

namespace troupe::private_policy_test {

namespace {

using test::private_job;
using test::releases_of;
using test::silent_job;

constexpr size_t round_count = test::private_rounds;

std::vector<float> trained(const job& x, size_t threads = 2) {
  return test::values_of(test::train_on(threads, x).parameters);
}

} // namespace

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
    options.hooks.clients_of_order = clients;
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
    options.hooks.clients_of_order = 1;
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

} // namespace troupe::private_policy_test
