#include "troupe/models/merging/sign_flip.hpp"

#include "troupe/tests/support/models.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace troupe::sign_flip_test {

using test::floats;

TEST(sign_flip, hands_in_the_update_reversed_and_so_many_times_as_long) {
  floats values{3, -1, 5};
  flip_update(floats{1, 1, 5}, 4, values); // updates 2, -2, 0
  EXPECT_EQ(values, (floats{-7, 9, 5}));
}

TEST(sign_flip, of_factor_one_is_the_mirror_image) {
  floats values{3, -1};
  flip_update(floats{1, 1}, 1, values);
  EXPECT_EQ(values, (floats{-1, 3}));
  flip_update(floats{1, 1}, 1, values);
  EXPECT_EQ(values, (floats{3, -1})) << "and back";
}

TEST(sign_flip, refuses_a_start_of_another_size) {
  floats values{3, -1};
  EXPECT_THROW(flip_update(floats{1}, 1, values), std::invalid_argument);
}

} // namespace troupe::sign_flip_test
