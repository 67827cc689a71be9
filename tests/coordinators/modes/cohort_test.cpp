// Cohorts: functions of seed and round, whose members are drawn with the chances they promise.

#include "coordinators/modes/cohort.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace troupe::cohort_test {
namespace {

std::vector<uint32_t> offsets_of(const std::vector<uint32_t>& sizes) {
  std::vector<uint32_t> result{0};
  for (const auto size : sizes)
    result.push_back(result.back() + size);
  return result;
}

std::vector<uint32_t> equal_offsets(size_t clients, uint32_t rows = 10) {
  return offsets_of(std::vector<uint32_t>(clients, rows));
}

/// How often each client counted in rounds 0 .. rounds - 1.
std::vector<double> counts_of(const cohort_options& options, std::span<const uint32_t> offsets,
                              uint64_t rounds) {
  std::vector<double> result(offsets.size() - 1);
  for (uint64_t round = 0; round < rounds; ++round)
    for (const auto client : cohort_of(options, offsets, round).counted)
      ++result[client];
  return result;
}

double chi_square(const std::vector<double>& found, const std::vector<double>& expected) {
  double result = 0;
  for (size_t i = 0; i < found.size(); ++i)
    result += (found[i] - expected[i]) * (found[i] - expected[i]) / expected[i];
  return result;
}

TEST(cohort, is_a_function_of_seed_and_round) {
  const auto offsets = equal_offsets(100);
  cohort_options options{.seed = 4, .cohort_size = 10, .over_selection = 0.5, .drop_out = 0.2};
  const auto first = cohort_of(options, offsets, 3);
  EXPECT_EQ(first, cohort_of(options, offsets, 3));
  EXPECT_NE(first.counted, cohort_of(options, offsets, 4).counted);
  options.seed = 5;
  EXPECT_NE(first.counted, cohort_of(options, offsets, 3).counted);
}

TEST(cohort, nobody_is_in_it_twice) {
  for (const size_t clients : {1u, 2u, 50u, 5'000u})
    for (const size_t size : {size_t{1}, clients / 2 + 1, clients})
      for (const auto sampling :
           {client_sampling::uniform, client_sampling::poisson, client_sampling::size}) {
        const auto offsets = equal_offsets(clients);
        const auto found =
          cohort_of({.seed = 1, .cohort_size = size, .sampling = sampling}, offsets, clients + size)
            .counted;
        EXPECT_EQ(std::set(found.begin(), found.end()).size(), found.size());
        for (const auto client : found)
          EXPECT_LT(client, clients);
        if (sampling != client_sampling::poisson) {
          EXPECT_EQ(found.size(), size);
        }
      }
}

// 99 degrees of freedom: 149.4 is exceeded by chance once in 1,000 seeds.
TEST(cohort, uniform_takes_each_client_alike) {
  const auto offsets = equal_offsets(100);
  const auto found = counts_of({.seed = 2, .cohort_size = 10}, offsets, 5'000);
  EXPECT_LT(chi_square(found, std::vector<double>(100, 500)), 149.4);
}

// The table of places that moved and the array of all clients are one order.
TEST(cohort, few_of_many_are_the_first_of_more) {
  const auto offsets = equal_offsets(10'000);
  const auto few = cohort_of({.seed = 2, .cohort_size = 20}, offsets, 7).counted;
  const auto many = cohort_of({.seed = 2, .cohort_size = 5'000}, offsets, 7).counted;
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
}

TEST(cohort, poisson_takes_each_client_by_a_chance_of_its_own) {
  const auto offsets = equal_offsets(100);
  const cohort_options options{.seed = 3, .cohort_size = 10, .sampling = client_sampling::poisson};
  const auto found = counts_of(options, offsets, 5'000);
  // Variance of a count is 5,000 q (1 - q), not 5,000 q.
  EXPECT_LT(chi_square(found, std::vector<double>(100, 500)) / 0.9, 149.4);
  double sum = 0, squares = 0;
  for (uint64_t round = 0; round < 5'000; ++round) {
    const auto size = static_cast<double>(cohort_of(options, offsets, round).invited);
    sum += size;
    squares += size * size;
  }
  EXPECT_NEAR(sum / 5'000, 10, 0.2);
  EXPECT_NEAR(squares / 5'000 - 100, 9, 0.6) << "binomial, not of a fixed size";
}

// The first draw is in proportion to rows; of two, with sizes n: p_i = n_i / N + sum over j of
// (n_j / N) n_i / (N - n_j).
TEST(cohort, by_size_takes_clients_in_proportion_to_their_rows) {
  const std::vector<uint32_t> sizes{1, 2, 3, 4, 10};
  const auto offsets = offsets_of(sizes);
  const uint64_t rounds = 20'000;
  for (const size_t size : {1u, 2u}) {
    const auto found = counts_of(
      {.seed = 6, .cohort_size = size, .sampling = client_sampling::size}, offsets, rounds);
    std::vector<double> expected;
    for (size_t i = 0; i < sizes.size(); ++i) {
      double chance = sizes[i] / 20.0;
      for (size_t j = 0; size == 2 && j < sizes.size(); ++j)
        if (j != i)
          chance += sizes[j] / 20.0 * sizes[i] / (20.0 - sizes[j]);
      expected.push_back(static_cast<double>(rounds) * chance);
    }
    EXPECT_LT(chi_square(found, expected), 18.5) << size; // 4 degrees of freedom, 1 in 1,000
  }
}

TEST(cohort, drop_outs_come_by_chance_and_are_counted) {
  const auto offsets = equal_offsets(1'000);
  size_t dropped = 0;
  for (uint64_t round = 0; round < 200; ++round) {
    const auto x = cohort_of({.seed = 1, .cohort_size = 100, .drop_out = 0.3}, offsets, round);
    EXPECT_EQ(x.invited, 100u);
    EXPECT_EQ(x.counted.size() + x.dropped, x.invited);
    dropped += x.dropped;
  }
  EXPECT_NEAR(static_cast<double>(dropped), 6'000, 250);
}

TEST(cohort, over_selection_stands_for_those_who_drop_out) {
  const auto offsets = equal_offsets(1'000);
  const cohort_options options{
    .seed = 1, .cohort_size = 100, .over_selection = 0.8, .drop_out = 0.3, .speed_spread = 0.5};
  for (uint64_t round = 0; round < 20; ++round) {
    const auto x = cohort_of(options, offsets, round);
    EXPECT_EQ(x.invited, 180u);
    EXPECT_EQ(x.counted.size(), 100u) << "126 of them answer, give or take";
    EXPECT_EQ(x.surplus, x.invited - x.dropped - 100);
    EXPECT_EQ(x.late, 0u);
  }
}

TEST(cohort, the_first_in_time_count_and_who_misses_the_deadline_is_late) {
  std::vector<uint32_t> sizes(100);
  std::iota(sizes.begin(), sizes.end(), 1u); // client i has i + 1 rows: so long it takes
  const auto offsets = offsets_of(sizes);
  const auto late = cohort_of({.seed = 1, .cohort_size = 100, .deadline = 60.0}, offsets, 0);
  EXPECT_EQ(late.counted.size(), 60u);
  EXPECT_EQ(late.late, 40u);
  for (const auto client : late.counted)
    EXPECT_LT(client, 60u);
  const auto first = cohort_of({.seed = 1, .cohort_size = 50, .over_selection = 1}, offsets, 0);
  EXPECT_EQ(first.surplus, 50u);
  for (const auto client : first.counted)
    EXPECT_LT(client, 50u);
  const auto twice =
    cohort_of({.seed = 1, .cohort_size = 100, .deadline = 60.0, .schedule = {32, 2}}, offsets, 0);
  EXPECT_EQ(twice.counted.size(), 30u) << "two epochs take twice as long";
}

TEST(cohort, groups_are_dealt_out_at_random_and_evenly) {
  const auto offsets = equal_offsets(40);
  cohort_options options{.seed = 1, .cohort_size = 40, .group_count = 4};
  std::vector<double> first_group(40);
  for (uint64_t round = 0; round < 1'000; ++round) {
    const auto x = cohort_of(options, offsets, round);
    const auto positions = group_positions(x, 4, 0);
    EXPECT_EQ(positions.size(), 10u);
    for (auto i = positions.begin; i < positions.end; ++i)
      ++first_group[x.counted[i]];
  }
  // 39 degrees of freedom, 1 in 1,000; ten of forty without putting back.
  EXPECT_LT(chi_square(first_group, std::vector<double>(40, 250)) / 0.75, 72.1);
  options.group_count = 0;
  EXPECT_EQ(group_count_of(options, 40), 40u);
}

TEST(client_schedule, knows_its_steps_and_rows) {
  const client_schedule epochs{32, 3};
  EXPECT_EQ(epochs.steps_of(70), 9u);
  EXPECT_EQ(epochs.rows_of(70), 210u);
  EXPECT_EQ(epochs.rows_of_step(70, 5), (index_range{64, 70}));
  const client_schedule steps{32, 1, 4};
  EXPECT_EQ(steps.steps_of(70), 4u);
  EXPECT_EQ(steps.rows_of(70), 70u + 32);
  EXPECT_EQ(steps.rows_of(10), 40u);
  EXPECT_EQ(steps.rows_of_step(70, 3), (index_range{0, 32}));
}

} // namespace
} // namespace troupe::cohort_test
