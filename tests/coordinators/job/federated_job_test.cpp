// What a job may say of federated training, what it may not combine, and what is part of its identity.

#include "coordinators/job/federated_job.hpp"

#include "coordinators/job/job_check.hpp"
#include "coordinators/job/private_job.hpp"
#include "coordinators/job/resolve.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace troupe::federated_job_test {
namespace {

const data_shape rows{200, 50, 8, 3, true};
const data_shape numbers{200, 50, 8, 1, false};

job federated() {
  job x;
  x.name = "federated";
  x.data.file = "rows.csv";
  x.training.strategy = strategy_kind::federated;
  return x;
}

using change = std::function<void(job&)>;

template <job (*start)() = federated>
std::string first_problem(const change& apply) {
  auto x = start();
  apply(x);
  const auto found = problems(x);
  return found.empty() ? "" : found.front().key;
}

template <job (*start)() = federated>
std::string first_problem_with_data(const change& apply, const data_shape& shape = rows) {
  auto x = start();
  apply(x);
  EXPECT_EQ(problems(x), std::vector<job_problem>{});
  const auto found = problems_with_data(resolve(x, shape, 2), shape);
  return found.empty() ? "" : found.front().key;
}

template <job (*start)() = federated>
std::string identity(const change& apply) {
  auto x = start();
  apply(x);
  return identity_text(resolve(x, rows, 2), "0123");
}

TEST(federated_job, has_no_problems) {
  EXPECT_EQ(problems(federated()), std::vector<job_problem>{});
  EXPECT_EQ(problems(resolve(federated(), rows, 2)), std::vector<job_problem>{})
    << "a run's own job file is a job";
  EXPECT_EQ(first_problem_with_data([](job&) {}), "");
}

TEST(federated_job, what_is_wrong_is_refused_by_its_key) {
  const std::vector<std::pair<const char*, change>> changes{
    {"federated.clients", [](job& x) { x.federated.clients = 0; }},
    {"federated.cohort", [](job& x) { x.federated.cohort = 101; }},
    {"federated.local_steps",
     [](job& x) { x.federated.local_epochs = x.federated.local_steps = 2; }},
    {"federated.min_count", [](job& x) { x.federated.min_count = 11; }},
    {"federated.groups", [](job& x) { x.federated.groups = 11; }},
    {"federated.groups",
     [](job& x) { x.federated.clients = x.federated.cohort = 100'000, x.federated.groups = 0; }},
    {"federated.partition",
     [](job& x) { x.federated.partition = partition_kind::dirichlet, x.federated.spread = 0; }},
    {"federated.over_selection", [](job& x) { x.federated.over_selection = -0.1; }},
    {"federated.over_selection",
     [](job& x) {
       x.federated.over_selection = 0.1, x.federated.sampling = client_sampling::poisson;
     }},
    {"federated.drop_out", [](job& x) { x.federated.drop_out = 1; }},
    {"federated.deadline", [](job& x) { x.federated.deadline = 0; }},
    {"federated.speed_spread", [](job& x) { x.federated.speed_spread = NAN; }},
    {"federated.proximal", [](job& x) { x.federated.proximal = -1; }},
    {"federated.update_range", [](job& x) { x.federated.update_range = 0; }},
    {"federated.weight_max", [](job& x) { x.federated.weight_max = 0; }},
    {"federated.weight_max",
     [](job& x) {
       x.federated.clients = x.federated.cohort = 100'000'000;
       x.federated.weight_max = 1'048'576;
     }},
    {"training.consistency",
     [](job& x) { x.training.consistency = consistency_kind::asynchronous; }},
    {"training.epochs", [](job& x) { x.training.epochs = 5; }},
    {"training.slices", [](job& x) { x.training.slices = 5; }},
    {"training.members", [](job& x) { x.training.members = 5; }},
    {"merge.elastic_alpha", [](job& x) { x.merge.elastic_alpha = 0.1; }},
    {"merge.weighting", [](job& x) { x.federated.sampling = client_sampling::size; }},
    {"optimizer.kind", [](job& x) { x.optimizer.kind = optimizer_kind::lbfgs; }},
    {"federated.clients",
     [](job& x) { x.training.strategy = strategy_kind::gradients, x.federated.cohort = 5; }}};
  for (const auto& [key, apply] : changes)
    EXPECT_EQ(first_problem(apply), key);
}

TEST(federated_job, clients_drawn_by_size_are_weighed_equally) {
  EXPECT_EQ(first_problem([](job& x) {
              x.federated.sampling = client_sampling::size;
              x.merge.members.weighting = merge_weighting::equal;
            }),
            "");
}

TEST(federated_job, what_does_not_fit_the_rows_is_refused) {
  EXPECT_EQ(first_problem_with_data([](job& x) { x.federated.clients = 201; }),
            "federated.clients");
  const auto dirichlet = [](job& x) { x.federated.partition = partition_kind::dirichlet; };
  EXPECT_EQ(first_problem_with_data(dirichlet), "");
  EXPECT_EQ(first_problem_with_data(dirichlet, numbers), "federated.partition");
  EXPECT_EQ(first_problem_with_data([](job& x) {
              x.federated.partition = partition_kind::labels, x.federated.labels = 3;
            }),
            "federated.partition");
  const auto krum = [](size_t groups) {
    return [groups](job& x) {
      x.merge.members.rule = merge_rule::krum;
      x.merge.members.faulty_count = 4;
      x.federated.groups = groups;
    };
  };
  EXPECT_EQ(first_problem_with_data(krum(1)), "federated.groups");
  EXPECT_EQ(first_problem_with_data(krum(0)), "federated.groups") << "ten cannot outvote four";
  EXPECT_EQ(first_problem_with_data([&](job& x) {
              krum(0)(x);
              x.federated.cohort = 11;
            }),
            "");
  EXPECT_EQ(first_problem_with_data([](job& x) { x.merge.flipped_members = 101; }),
            "merge.flipped_members");
  const auto evaluates = [](job& x) { x.federated.evaluate_clients = true; };
  EXPECT_EQ(first_problem_with_data(evaluates), "");
  auto no_test_rows = rows;
  no_test_rows.test_row_count = 0;
  EXPECT_EQ(first_problem_with_data(evaluates, no_test_rows), "federated.evaluate_clients");
}

TEST(federated_job, natural_clients_are_as_many_as_the_rows_say) {
  const auto by_column = [](job& x) {
    x.federated.partition = partition_kind::column, x.federated.clients_from = "user";
  };
  const auto by_files = [](job& x) {
    x.data.file.clear();
    x.federated.partition = partition_kind::files;
    x.federated.clients_from = "clients/*.csv";
  };
  auto owned = rows;
  owned.client_count = 40;
  for (const change& apply : {change{by_column}, change{by_files}}) {
    auto x = federated();
    apply(x);
    EXPECT_EQ(resolve(x, owned, 2).federated.clients, 40u);
    EXPECT_EQ(first_problem_with_data(apply, owned), "");
    EXPECT_EQ(first_problem_with_data(apply, rows), "federated.partition") << "nobody's rows";
    EXPECT_NE(identity(apply), identity([](job&) {}));
    const auto with = [&](const change& more) {
      return [&apply, more](job& y) {
        apply(y);
        more(y);
      };
    };
    EXPECT_EQ(first_problem_with_data(with([](job& y) { y.federated.clients = 41; }), owned),
              "federated.clients");
    EXPECT_EQ(first_problem_with_data(with([](job& y) { y.federated.cohort = 200; }), owned),
              "federated.cohort");
    EXPECT_EQ(first_problem(with([](job& y) { y.federated.clients_from.clear(); })),
              "federated.partition");
    EXPECT_EQ(first_problem(with([](job& y) { y.data.shuffle = shuffle_kind::lanes; })),
              "data.shuffle");
    EXPECT_EQ(first_problem(with([](job& y) {
                y.data.file.clear();
                y.data.synthetic = synthetic_kind::classification;
              })),
              "federated.partition");
  }
  EXPECT_EQ(first_problem([&](job& x) {
              by_files(x);
              x.data.file = "rows.csv";
            }),
            "data.file");
  EXPECT_EQ(first_problem([&](job& x) {
              by_files(x);
              x.data.test_file = "test.csv";
              x.federated.evaluate_clients = true;
            }),
            "federated.evaluate_clients");
}

TEST(federated_job, its_identity_is_what_decides_a_round) {
  std::set<std::string> seen{identity([](job&) {})};
  size_t count = 1;
  for (const auto& apply :
       std::vector<change>{[](job& x) { x.seed = 1; },
                           [](job& x) { x.federated.clients = 99; },
                           [](job& x) { x.federated.cohort = 9; },
                           [](job& x) { x.federated.sampling = client_sampling::poisson; },
                           [](job& x) { x.federated.local_epochs = 2; },
                           [](job& x) { x.federated.local_steps = 1; },
                           [](job& x) { x.federated.partition = partition_kind::labels; },
                           [](job& x) { x.federated.partition = partition_kind::dirichlet; },
                           [](job& x) { x.federated.over_selection = 0.5; },
                           [](job& x) { x.federated.drop_out = 0.5; },
                           [](job& x) { x.federated.deadline = 5; },
                           [](job& x) { x.federated.speed_spread = 1; },
                           [](job& x) { x.federated.min_count = 2; },
                           [](job& x) { x.federated.groups = 2; },
                           [](job& x) { x.federated.proximal = 1; },
                           [](job& x) { x.federated.update_range = 10; },
                           [](job& x) { x.federated.weight_max = 10; },
                           [](job& x) { x.merge.members.rule = merge_rule::average; },
                           [](job& x) { x.merge.outer.kind = outer_kind::adam; },
                           [](job& x) { x.training.batch_size = 16; }}) {
    seen.insert(identity(apply));
    EXPECT_EQ(seen.size(), ++count);
  }
  const auto same = identity([](job&) {});
  EXPECT_EQ(identity([](job& x) { x.federated.rounds = 7; }), same) << "how long is no part of it";
  EXPECT_EQ(identity([](job& x) { x.training.replicas = 3; }), same);
  EXPECT_EQ(identity([](job& x) { x.federated.evaluate_clients = true; }), same);
}

TEST(federated_job, a_version_is_a_round) {
  auto x = federated();
  x.federated.rounds = 7;
  const auto plan = timeline_of(resolve(x, rows, 2), rows);
  EXPECT_EQ(plan.last_version(), 7u);
  EXPECT_TRUE(plan.is_epoch_end(3));
  EXPECT_EQ(resolve(x, rows, 3).training.replicas, 3u);
  x.federated.local_epochs = 3;
  EXPECT_EQ(rows_of_round(resolve(x, rows, 2), 200), 10u * 3 * 3);
}

// What a job may say of privacy, what it may not combine, and what is part of its identity.

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

TEST(private_job, has_no_problems) {
  EXPECT_EQ(problems(private_job()), std::vector<job_problem>{});
  EXPECT_EQ(problems(resolve(private_job(), rows, 2)), std::vector<job_problem>{});
  EXPECT_EQ(first_problem_with_data<private_job>([](job&) {}, rows), "");
  EXPECT_EQ(first_problem_with_data<private_job>([](job&) {}, clients_rows_only), "");
}

TEST(private_job, what_is_wrong_or_tells_of_clients_is_refused_by_its_key) {
  const std::vector<std::pair<const char*, change>> changes{
    {"privacy.clip_norm", [](job& x) { x.privacy.clip_norm = 0; }},
    {"privacy.clip_norm", [](job& x) { x.privacy.clip_norm.reset(); }},
    {"privacy.clip_norm",
     [](job& x) {
       x.training.strategy = strategy_kind::gradients, x.federated = {}, x.merge = {};
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
       x.federated.sampling = client_sampling::uniform, x.federated.over_selection = 0.5;
     }},
    {"federated.min_count", [](job& x) { x.federated.min_count = 2; }},
    {"federated.evaluate_clients", [](job& x) { x.federated.evaluate_clients = true; }},
    {"federated.update_range", [](job& x) { x.federated.update_range = 1; }},
    {"data.standardize", [](job& x) { x.data.standardize = true; }},
    {"data.target_scale", [](job& x) { x.data.target_scale = target_scale_kind::standardize; }},
    {"data.dense",
     [](job& x) { x.data.format = file_format::libsvm, x.data.dense = row_form::sparse; }},
    {"data.hash_bits", [](job& x) { x.data.format = file_format::libsvm, x.data.hash_bits = 10; }},
    {"training.class_weights",
     [](job& x) { x.training.class_weights.kind = class_weight_kind::balanced; }},
  };
  for (const auto& [key, apply] : changes)
    EXPECT_EQ(first_problem<private_job>(apply), key);
}

TEST(private_job, results_are_watched_on_rows_of_no_client) {
  const std::vector<std::pair<const char*, change>> changes{
    {"training.target_loss", [](job& x) { x.training.target_loss = 0.1; }},
    {"training.patience", [](job& x) { x.training.patience = 3; }},
    {"training.keep_best", [](job& x) { x.training.keep_best = true; }}};
  for (const auto& [key, apply] : changes) {
    EXPECT_EQ(first_problem_with_data<private_job>(apply, clients_rows_only), key);
    EXPECT_EQ(first_problem_with_data<private_job>(apply, rows), "") << key;
  }
  auto sparse = rows;
  sparse.sparse = true;
  EXPECT_EQ(first_problem_with_data<private_job>([](job&) {}, sparse), "data.dense");
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
  const auto plain = identity<private_job>([](job&) {});
  EXPECT_NE(identity<private_job>([](job& x) { x.privacy.clip_norm = 2; }), plain);
  EXPECT_NE(identity<private_job>([](job& x) { x.privacy.noise_multiplier = 2; }), plain);
  EXPECT_NE(identity<private_job>([](job& x) {
              x.privacy.key = privacy_key{{1}, "a hash"};
            }),
            plain);
  EXPECT_EQ(identity<private_job>([](job& x) { x.privacy.epsilon = 2; }), plain)
    << "it only ends training";
  EXPECT_EQ(identity<private_job>([](job& x) { x.privacy.delta = 1e-6; }), plain);
  EXPECT_EQ(identity<private_job>([](job& x) { x.privacy.key_file = "other.key"; }), plain);
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
    {"federated.update_range", [](job& x) { x.privacy = {}, x.federated.update_range = -1; }}};
  for (const auto& [key, spoil] : values) {
    auto x = private_job();
    spoil(x);
    const auto found = problems(x);
    ASSERT_EQ(found.size(), 1u) << key << (found.empty() ? "" : found.back().why);
    EXPECT_EQ(found.front().key, key);
  }
}

} // namespace
} // namespace troupe::federated_job_test
