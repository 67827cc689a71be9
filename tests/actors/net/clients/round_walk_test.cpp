// Rounds by seed (tests/support/walk/client_walk.hpp). TROUPE_ROUND_SEEDS=N runs N seeds.

#include "tests/support/walk/client_walk.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace troupe;

TEST(round_walk, counts_each_update_once_and_comes_to_its_end) {
  const char* wanted = std::getenv("TROUPE_ROUND_SEEDS");
  const uint64_t seeds = wanted ? std::strtoull(wanted, nullptr, 10) : 200;
  for (uint64_t seed = 0; seed < seeds; ++seed)
    ASSERT_EQ(test::client_walk{seed}.run(), "") << "seed " << seed;
}
