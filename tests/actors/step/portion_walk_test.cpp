#include "troupe/tests/support/walk/portion_walk.hpp"

#include <gtest/gtest.h>

namespace troupe {

TEST(portion_walk, groups_drawn_by_seed_have_the_bits_of_one_actor) {
  for (uint64_t seed = 0; seed < 3'000; ++seed)
    ASSERT_EQ(test::portion_walk{seed}.run(), "");
}

} // namespace troupe
