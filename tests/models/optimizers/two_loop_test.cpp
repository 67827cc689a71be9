// The recursion over products against the one over vectors (Nocedal & Wright 2006, algorithm 7.4).

#include "models/whole_model/two_loop.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace troupe::two_loop_test {

namespace {

using vector = std::vector<double>;

double dot(const vector& a, const vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

void add(double factor, const vector& x, vector& to) {
  for (size_t i = 0; i < to.size(); ++i)
    to[i] += factor * x[i];
}

/// -(inverse Hessian) g; the newest pair first.
vector direction_of(const std::vector<vector>& s, const std::vector<vector>& y, const vector& g) {
  vector q = g, shares(s.size());
  for (size_t age = 0; age < s.size(); ++age) {
    shares[age] = dot(s[age], q) / dot(s[age], y[age]);
    add(-shares[age], y[age], q);
  }
  if (!s.empty())
    for (auto& x : q)
      x *= dot(s[0], y[0]) / dot(y[0], y[0]);
  for (size_t age = s.size(); age-- > 0;)
    add(shares[age] - dot(y[age], q) / dot(s[age], y[age]), s[age], q);
  for (auto& x : q)
    x = -x;
  return q;
}

} // namespace

TEST(two_loop, gives_the_direction_of_the_recursion_over_vectors) {
  std::mt19937_64 random{3};
  std::normal_distribution<double> normal;
  for (size_t count = 0; count <= 6; ++count) {
    const size_t size = 40;
    const auto drawn = [&] {
      vector result(size);
      std::ranges::generate(result, [&] { return normal(random); });
      return result;
    };
    const auto g = drawn();
    std::vector<vector> s(count), y(count);
    for (size_t k = 0; k < count; ++k) {
      s[k] = drawn();
      y[k] = drawn();
      add(3, s[k], y[k]); // curved upwards
    }
    pair_products x;
    x.gradient_square = dot(g, g);
    for (size_t old = 0; old < count; ++old) {
      x.gradient_by_move.push_back(dot(g, s[old]));
      x.gradient_by_change.push_back(dot(g, y[old]));
      for (size_t young = 0; young <= old; ++young) {
        ASSERT_EQ(x.move_by_change.size(), product_place(old, young));
        x.move_by_change.push_back(dot(s[old], y[young]));
        x.change_by_change.push_back(dot(y[old], y[young]));
      }
    }
    const auto found = two_loop(x);
    vector d(size);
    add(-found.of_gradient, g, d);
    for (size_t age = 0; age < count; ++age) {
      add(-found.of_moves[age], s[age], d);
      add(-found.of_changes[age], y[age], d);
    }
    const auto expected = direction_of(s, y, g);
    for (size_t i = 0; i < size; ++i)
      EXPECT_NEAR(d[i], expected[i], 1e-12) << count << ' ' << i;
    EXPECT_NEAR(found.slope, dot(g, expected), 1e-10) << count;
  }
}

} // namespace troupe::two_loop_test
