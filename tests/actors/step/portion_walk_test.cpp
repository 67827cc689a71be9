// Groups of replicas that share a model, by seeds. TROUPE_GROUP_SEEDS=0..100000 runs those seeds; a
// failure names the one that repeats it.

#include "troupe/tests/simulation/seed_range.hpp"
#include "troupe/tests/support/walk/portion_walk.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace troupe::portion_walk_test {

TEST(portion_walk, groups_drawn_by_seed_have_the_bits_of_one_actor) {
  const char* text = std::getenv("TROUPE_GROUP_SEEDS");
  const auto seeds = simulation::read_seeds(text == nullptr ? "0..3000" : text);
  ASSERT_TRUE(seeds) << "TROUPE_GROUP_SEEDS is FIRST..BEHIND_THE_LAST";
  for (auto seed = seeds->first; seed < seeds->last; ++seed)
    ASSERT_EQ(test::portion_walk{seed}.run(), "") << "TROUPE_GROUP_SEEDS=" << seed;
}

} // namespace troupe::portion_walk_test
