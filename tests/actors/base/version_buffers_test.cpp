#include "actors/base/version_buffers.hpp"

#include <gtest/gtest.h>

namespace troupe::version_buffers_test {

TEST(version_buffers, hold_a_window_and_all_elements_again) {
  version_buffers versions{100};
  EXPECT_EQ(versions.of(0).size(), 100u);
  versions.set_window(std::make_shared<const element_window>(std::vector<index_range>{{10, 30}}));
  EXPECT_EQ(versions.of(1).size(), 20u);
  versions.set_window(nullptr);
  EXPECT_EQ(versions.window(), nullptr);
  EXPECT_EQ(versions.of(2).size(), 100u);
}

} // namespace troupe::version_buffers_test
