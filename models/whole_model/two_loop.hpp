// The two-loop recursion of L-BFGS without its vectors (Chen, Wang & Zhou 2014): from the products of the
// pairs and the gradient to the direction as a sum of them.
//
// Pairs are counted by age, the newest is 0. With moves s, changes y, gradient g:
//   d = -(of_gradient g + sum of_changes y + sum of_moves s)

#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace troupe {

/// Unordered pairs of two below `count`, those of one with itself included.
constexpr size_t product_count(size_t count) {
  return count * (count + 1) / 2;
}

/// The place of one of them.
constexpr size_t product_place(size_t a, size_t b) {
  return product_count(std::max(a, b)) + std::min(a, b);
}

struct pair_products {
  double gradient_square = 0;             ///< g g
  std::vector<double> gradient_by_move;   ///< g s, by age
  std::vector<double> gradient_by_change; ///< g y
  std::vector<double> move_by_change;     ///< s of the older, y of the younger: by product_place
  std::vector<double> change_by_change;   ///< y y, likewise
};

struct combination {
  double of_gradient = 1;
  std::vector<double> of_moves; ///< by age
  std::vector<double> of_changes;
  double slope = 0; ///< g d
};

combination two_loop(const pair_products& x);

} // namespace troupe
