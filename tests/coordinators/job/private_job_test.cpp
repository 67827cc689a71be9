// What a job may say of privacy, what it may not combine, and what is part of its identity.

#include "coordinators/job/private_job.hpp"

#include "coordinators/job/federated_job.hpp"
#include "coordinators/job/job_check.hpp"
#include "coordinators/job/resolve.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace troupe::private_job_test {

namespace {

const data_shape rows{200, 50, 8, 3, true};
const data_shape clients_rows_only{200, 0, 8, 3, true};

job private_job() {
  job x;
  x.name = "private";
  x.data.file = "rows.csv";
  x.training.strategy = strategy_kind::federated;
  x.federated.sampling = client_sampling::poisson;
  x.merge.members.weighting = merge_weighting::equal;
  x.privacy.clip_norm = 1;
  x.privacy.noise_multiplier = 1;
  x.privacy.key_file = "run.key";
  return x;
}

using change = std::function<void(job&)>;

std::string first_problem(const change& apply) {
  auto x = private_job();
  apply(x);
  const auto found = problems(x);
  return found.empty() ? "" : found.front().key;
}

std::string first_problem_with_data(const change& apply, const data_shape& shape) {
  auto x = private_job();
  apply(x);
  EXPECT_EQ(problems(x), std::vector<job_problem>{});
  const auto found = problems_with_data(resolve(x, shape, 2), shape);
  return found.empty() ? "" : found.front().key;
}

std::string identity(const change& apply) {
  auto x = private_job();
  apply(x);
  return identity_text(resolve(x, rows, 2), "0123");
}

} // namespace

TEST(private_job, has_no_problems) {
  EXPECT_EQ(problems(private_job()), std::vector<job_problem>{});
  EXPECT_EQ(problems(resolve(private_job(), rows, 2)), std::vector<job_problem>{});
  EXPECT_EQ(first_problem_with_data([](job&) {}, rows), "");
  EXPECT_EQ(first_problem_with_data([](job&) {}, clients_rows_only), "");
}

TEST(private_job, what_is_wrong_or_tells_of_clients_is_refused_by_its_key) {
  const std::vector<std::pair<const char*, change>> changes{
    {"privacy.clip_norm", [](job& x) { x.privacy.clip_norm = 0; }},
    {"privacy.clip_norm", [](job& x) { x.privacy.clip_norm.reset(); }},
    {"privacy.clip_norm",
     [](job& x) {
       x.training.strategy = strategy_kind::gradients;
       x.federated = {};
       x.merge = {};
     }},
    {"privacy.noise_multiplier", [](job& x) { x.privacy.noise_multiplier = 2000; }},
    {"privacy.noise_multiplier", [](job& x) { x.privacy.noise_multiplier.reset(); }},
    {"privacy.epsilon", [](job& x) { x.privacy.epsilon = 0; }},
    {"privacy.epsilon",
     [](job& x) {
       x.privacy.noise_multiplier.reset();
       x.privacy.epsilon = 1e-4;
     }},
    {"privacy.delta", [](job& x) { x.privacy.delta = 0; }},
    {"privacy.delta", [](job& x) { x.privacy.delta = 0.01; }},
    {"privacy.key_file", [](job& x) { x.privacy.key_file.clear(); }},
    {"federated.groups", [](job& x) { x.federated.groups = 2; }},
    {"merge.rule", [](job& x) { x.merge.members.rule = merge_rule::median; }},
    {"merge.rule", [](job& x) { x.merge.members.rule = merge_rule::geometric_median; }},
    {"merge.weighting", [](job& x) { x.merge.members.weighting = merge_weighting::samples; }},
    {"federated.sampling", [](job& x) { x.federated.sampling = client_sampling::size; }},
    {"federated.over_selection",
     [](job& x) {
       x.federated.sampling = client_sampling::uniform;
       x.federated.over_selection = 0.5;
     }},
    {"federated.min_count", [](job& x) { x.federated.min_count = 2; }},
    {"federated.evaluate_clients", [](job& x) { x.federated.evaluate_clients = true; }},
    {"federated.update_range", [](job& x) { x.federated.update_range = 1; }},
    {"data.standardize", [](job& x) { x.data.standardize = true; }},
    {"data.dense",
     [](job& x) {
       x.data.format = data_format::libsvm;
       x.data.dense = dense_kind::no;
     }},
    {"data.hash_bits",
     [](job& x) {
       x.data.format = data_format::libsvm;
       x.data.hash_bits = 10;
     }},
    {"training.class_weights",
     [](job& x) { x.training.class_weights.kind = class_weight_kind::balanced; }},
  };
  for (const auto& [key, apply] : changes)
    EXPECT_EQ(first_problem(apply), key);
}

TEST(private_job, results_are_watched_on_rows_of_no_client) {
  const std::vector<std::pair<const char*, change>> changes{
    {"training.target_loss", [](job& x) { x.training.target_loss = 0.1; }},
    {"training.patience", [](job& x) { x.training.patience = 3; }},
    {"training.keep_best", [](job& x) { x.training.keep_best = true; }}};
  for (const auto& [key, apply] : changes) {
    EXPECT_EQ(first_problem_with_data(apply, clients_rows_only), key);
    EXPECT_EQ(first_problem_with_data(apply, rows), "") << key;
  }
  auto sparse = rows;
  sparse.sparse = true;
  EXPECT_EQ(first_problem_with_data([](job&) {}, sparse), "data.dense");
}

TEST(private_job, the_noise_follows_from_epsilon_and_the_rounds) {
  auto x = private_job();
  x.privacy.noise_multiplier.reset();
  x.privacy.epsilon = 3;
  const auto resolved = resolve(x, rows, 2);
  const auto noise = *resolved.privacy.noise_multiplier;
  EXPECT_EQ(noise, noise_for(3, 1e-5, 0.1, 100));
  privacy_accountant accountant{1e-5};
  accountant.add({0.1, noise}, 100);
  EXPECT_LE(accountant.epsilon(), 3);
  accountant.add({0.1, noise});
  EXPECT_GT(accountant.epsilon(), 3) << "to a thousandth of the noise it is the least";
  x.training.steps = 10;
  EXPECT_LT(*resolve(x, rows, 2).privacy.noise_multiplier, noise);
}

TEST(private_job, only_a_secret_cohort_is_a_sample_to_the_accountant) {
  auto x = private_job();
  EXPECT_EQ(budget_of(resolve(x, rows, 2)).kind, (release_kind{0.1, 1}));
  x.federated.sampling = client_sampling::uniform;
  EXPECT_EQ(budget_of(resolve(x, rows, 2)).kind, (release_kind{1, 1}));
}

TEST(private_job, the_identity_has_what_makes_the_model) {
  const auto plain = identity([](job&) {});
  EXPECT_NE(identity([](job& x) { x.privacy.clip_norm = 2; }), plain);
  EXPECT_NE(identity([](job& x) { x.privacy.noise_multiplier = 2; }), plain);
  EXPECT_NE(identity([](job& x) { x.privacy.key = privacy_key{{1}, "a hash"}; }), plain);
  EXPECT_EQ(identity([](job& x) { x.privacy.epsilon = 2; }), plain) << "it only ends training";
  EXPECT_EQ(identity([](job& x) { x.privacy.delta = 1e-6; }), plain);
  EXPECT_EQ(identity([](job& x) { x.privacy.key_file = "other.key"; }), plain);
  auto x = private_job();
  x.privacy = {};
  EXPECT_EQ(identity_text(resolve(x, rows, 2), "0123").find("privacy"), std::string::npos);
}

TEST(private_job, the_sum_has_room_for_the_greatest_cohort) {
  const auto options = federated_options_of(resolve(private_job(), rows, 2));
  EXPECT_EQ(options.counted_max(100), 42u) << "10 and ten deviations of the square root of 10";
  EXPECT_EQ(options.bounds(100).count_max, 42u);
  EXPECT_EQ(fraction_bits_of(options.bounds(100)), 20);
}

// Numbers that are none are not computed with, and a second message about one would mislead.
TEST(private_job, of_a_value_out_of_range_only_that_is_said) {
  const std::pair<const char*, change> values[] = {
    {"federated.weight_max", [](job& x) { x.federated.weight_max = 0; }},
    {"privacy.clip_norm", [](job& x) { x.privacy.clip_norm = -1; }},
    {"privacy.delta", [](job& x) { x.privacy.delta = 0; }},
    {"privacy.epsilon", [](job& x) { x.privacy.epsilon = -1; }},
    {"privacy.epsilon",
     [](job& x) {
       x.privacy.noise_multiplier.reset();
       x.privacy.epsilon = -1;
     }},
    {"federated.update_range", [](job& x) {
       x.privacy = {};
       x.federated.update_range = -1;
     }}};
  for (const auto& [key, spoil] : values) {
    auto x = private_job();
    spoil(x);
    const auto found = problems(x);
    ASSERT_EQ(found.size(), 1u) << key << (found.empty() ? "" : found.back().why);
    EXPECT_EQ(found.front().key, key);
  }
}

} // namespace troupe::private_job_test
