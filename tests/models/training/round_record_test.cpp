#include "models/training/round_record.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace troupe::round_record_test {
namespace {

/// The definition: ranks of the sorted values, the least that is at least q n of n.
client_quantiles by_sorting(std::vector<float> values) {
  std::ranges::sort(values);
  const auto at = [&](size_t tenths) { return values[(tenths * values.size() + 9) / 10 - 1]; };
  return {at(1), at(5), at(9), values.back()};
}

TEST(client_quantiles, are_ranks_of_the_sorted_values) {
  std::mt19937 random{1};
  for (size_t count = 1; count <= 120; ++count)
    for (const unsigned different : {2u, 1000u}) {
      std::vector<float> values(count);
      for (auto& x : values)
        x = static_cast<float>(random() % different);
      EXPECT_EQ(quantiles_of(values), by_sorting(values)) << count << " of " << different;
    }
  EXPECT_EQ(quantiles_of({}), client_quantiles{});
}

// Of 11 clients a tenth is two.
TEST(client_evaluation, takes_the_worst_tenth_of_clients) {
  std::vector<float> losses, accuracies;
  for (int i = 0; i < 11; ++i) {
    losses.push_back(static_cast<float>((i * 7) % 11));
    accuracies.push_back(0.5f + 0.03125f * static_cast<float>((i * 3) % 11));
  }
  const auto found = evaluation_of(losses, accuracies, 50);
  EXPECT_EQ(found.clients, 11u);
  EXPECT_EQ(found.rows, 50u);
  EXPECT_EQ(found.worst_tenth_loss, (10 + 9) / 2.0);
  EXPECT_EQ(found.losses.most, 10);
  EXPECT_EQ(found.worst_tenth_accuracy, 0.5 + 0.03125 / 2);
  EXPECT_EQ(found.accuracies->p50, 0.5 + 0.03125 * 5);
  const auto numbers = evaluation_of({3}, {}, 2);
  EXPECT_EQ(numbers.worst_tenth_loss, 3);
  EXPECT_FALSE(numbers.accuracies || numbers.worst_tenth_accuracy);
  EXPECT_EQ(evaluation_of({}, {}, 0), client_evaluation{});
}

} // namespace
} // namespace troupe::round_record_test
