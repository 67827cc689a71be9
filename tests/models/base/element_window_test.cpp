#include "models/base/element_window.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

namespace troupe::element_window_test {

TEST(element_window, elements_lie_packed_in_their_order) {
  const element_window x{{{30, 40}, {10, 15}, {50, 50}}};
  EXPECT_EQ(x.runs(), (std::vector<element_window::run>{{{10, 15}, 0}, {{30, 40}, 5}}));
  EXPECT_EQ(x.size(), 15u);
  EXPECT_EQ(x.place_of({10, 15}), 0u);
  EXPECT_EQ(x.place_of({12, 13}), 2u);
  EXPECT_EQ(x.place_of({30, 40}), 5u);
  EXPECT_EQ(x.place_of({39, 40}), 14u);
}

TEST(element_window, what_touches_or_overlaps_is_one_run) {
  const element_window x{{{0, 4}, {2, 3}, {4, 6}, {5, 9}, {10, 11}}};
  EXPECT_EQ(x.runs(), (std::vector<element_window::run>{{{0, 9}, 0}, {{10, 11}, 9}}));
}

TEST(element_window, what_is_not_there_is_refused) {
  const element_window x{{{10, 15}, {30, 40}}};
  for (const index_range missing :
       {index_range{0, 1}, {9, 11}, {14, 16}, {15, 30}, {12, 35}, {39, 41}}) {
    EXPECT_FALSE(x.contains(missing));
    EXPECT_THROW(static_cast<void>(x.place_of(missing)), std::out_of_range);
  }
  EXPECT_TRUE(x.contains({31, 31}));
  EXPECT_THROW(static_cast<void>(element_window{}.place_of({0, 1})), std::out_of_range);
}

TEST(element_window, parts_of_a_range_that_are_there) {
  const element_window x{{{10, 15}, {30, 40}}};
  EXPECT_EQ(x.shared_with({0, 100}), (std::vector<index_range>{{10, 15}, {30, 40}}));
  EXPECT_EQ(x.shared_with({14, 31}), (std::vector<index_range>{{14, 15}, {30, 31}}));
  EXPECT_TRUE(x.shared_with({15, 30}).empty());
}

TEST(element_window, values_of_all_elements_or_of_those_in_a_window) {
  std::vector<float> all(50);
  std::iota(all.begin(), all.end(), 0.0f);
  EXPECT_EQ(windowed_values{all}.at({7, 9})[1], 8);
  const element_window x{{{10, 15}, {30, 40}}};
  std::vector<float> some;
  for (const auto& one : x.runs())
    for (auto i = one.elements.begin; i < one.elements.end; ++i)
      some.push_back(static_cast<float>(i));
  EXPECT_EQ((windowed_values{some, &x}.at({31, 34})[2]), 33);
}

} // namespace troupe::element_window_test
