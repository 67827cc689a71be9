#include "troupe/models/training/round_record.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace troupe {

namespace {

/// The definition: ranks of the sorted values, the least that is at least q n of n.
client_quantiles by_sorting(std::vector<float> values) {
  std::ranges::sort(values);
  const auto at = [&](size_t tenths) { return values[(tenths * values.size() + 9) / 10 - 1]; };
  return {at(1), at(5), at(9), values.back()};
}

} // namespace

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

} // namespace troupe
