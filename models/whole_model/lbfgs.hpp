// L-BFGS (Nocedal 1980; Liu & Nocedal 1989; Nocedal & Wright 2006, algorithm 7.4) with a
// backtracking line search: Newton's method with an inverse Hessian that is guessed from the last
// moves and changes of the gradient.
//
// With f the mean loss of all rows plus penalties, g its gradient, pairs s = move, y = change of g,
// r = 1 / (s y), newest last; q := g
//   newest to oldest:  a_i = r_i s_i q;  q := q - a_i y_i
//   q := q (s y) / (y y)  of the newest pair
//   oldest to newest:  q := q + s_i (a_i - r_i y_i q);  d = -q
// Every q is a sum of g, the s_i and the y_i, so the products among these are all that the recursion
// needs (Chen, Wang & Zhou 2014): s_i y_j of no older y, y_i y_j, g s_i, g y_i. They are sums over elements,
// kept as numbers; a step adds 4 for each pair and a few more. So any number of span owners can run the
// rule: each adds up its blocks, and all get the same direction. The point p + rate d is tried. The first
// rate without pairs is learning_rate min(1, 1 / |g|_1), as in PyTorch, else learning_rate, which should be
// 1.
//
// Each version is one evaluation of f and g at a point, and one transition:
//
//                        not finite: no update
//   starting --------------------------------> (training ends)
//      | the start is accepted        point not good: shorten the rate
//      v                                 +----+
//   searching ---------------------------+    |  point good: it becomes the parameters, a pair
//      |  ^                              ^----+  is remembered, a new direction is chosen
//      |  +--- no way down with pairs: forget them, try along -g
//      v
//   converged: parameters and point stay as they are
//
// A point is good when f falls by 1e-4 of what the slope g d promises (Armijo). It is also good
// when f is level to rounding and the slope shows that the line's minimum was not passed by much
// (Hager & Zhang 2005): a float loss does not show the last digits of the parameters. Level is up
// to 1e-6 above the lowest accepted f, so f never rises by more than that in all. A shortened rate
// is the minimum of the parabola through what is known, between 0.1 and 0.5 of the rate. A pair is
// kept when s y > 1e-8 |s| |y|: less would break the guess. Converged: the promised fall is below
// 1e-13 of f, or 20 points along -g were no better, or a point was where the parameters are.
//
// The parameters of a version are the last accepted point and never one on trial, so training may
// stop at any version. The sums of an update are those of the *next* version's parameters: this
// history shows each version's own loss.
//
// State: slots for the point, the gradient at the parameters, the direction, and `history_size`
// moves and changes; numbers for where the search stands, and the products of pairs. Products are added
// in double, in fixed lanes within a block and in a tree over blocks: the same bits on every machine and
// for any spans. It needs the full batch: with other rows each time, changes of the gradient say nothing
// of the curve.

#pragma once

#include "models/whole_model/whole_model_rule.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace troupe {

class lbfgs : public whole_model_rule {
public:
  explicit lbfgs(const optimizer_options& options)
    : whole_model_rule(options, optimizer_kind::lbfgs) {}

  optimizer_state start(std::span<const float> parameters) const override;
  bool accepts(std::span<const double> numbers) const override;
  std::optional<size_t> point_slot() const override;
  std::optional<size_t> sum_count() const override;
  void add_terms(const whole_model_update& x, const optimizer_state& state,
                 const index_range& elements, std::span<double> out) const override;
  std::optional<batch_sums> update(const whole_model_update& x,
                                   optimizer_state& state) const override;

  /// Pairs that a state remembers.
  static size_t pair_count(const optimizer_state& state);
  static bool converged(const optimizer_state& state);
};

// The two-loop recursion of L-BFGS without its vectors (Chen, Wang & Zhou 2014): from the products of the
// pairs and the gradient to the direction as a sum of them.
//
// Pairs are counted by age, the newest is 0. With moves s, changes y, gradient g:
//   d = -(of_gradient g + sum of_changes y + sum of_moves s)

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
