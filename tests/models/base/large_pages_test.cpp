// Large pages change speed only.

#include "troupe/models/base/large_pages.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace troupe::large_pages_test {

TEST(large_pages, room_is_made_once_and_what_was_there_stays) {
  std::vector<float> values{1, 2, 3};
  reserve_large(values, 10'000'000);
  EXPECT_GE(values.capacity(), 10'000'000u);
  EXPECT_EQ(values, (std::vector<float>{1, 2, 3}));
  const auto* before = values.data();
  reserve_large(values, 100);
  values.resize(10'000'000, 7.0f);
  EXPECT_EQ(values.data(), before);
  EXPECT_EQ(values[2], 3.0f);
  EXPECT_EQ(values.back(), 7.0f);
}

TEST(large_pages, advice_leaves_memory_as_it_is) {
  std::vector<char> bytes(size_t{5} << 20, 'x');
  advise_large_pages(bytes.data() + 1, bytes.size() - 1);
  advise_large_pages(bytes.data(), 10); // no whole page: nothing happens
  advise_large_pages(nullptr, 0);
  EXPECT_EQ(bytes, std::vector<char>(size_t{5} << 20, 'x'));
}

} // namespace troupe::large_pages_test
