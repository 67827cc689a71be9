#include "models/whole_model/two_loop.hpp"

namespace troupe {

combination two_loop(const pair_products& x) {
  const auto count = x.gradient_by_move.size();
  const auto s_y = [&](size_t a, size_t b) { return x.move_by_change[product_place(a, b)]; };
  const auto y_y = [&](size_t a, size_t b) { return x.change_by_change[product_place(a, b)]; };
  combination q{1, std::vector<double>(count), std::vector<double>(count), 0};
  for (size_t age = 0; age < count; ++age) {
    double product = x.gradient_by_move[age];
    for (size_t young = 0; young < age; ++young)
      product += q.of_changes[young] * s_y(age, young);
    q.of_changes[age] = -product / s_y(age, age);
  }
  if (count > 0)
    q.of_gradient = s_y(0, 0) / y_y(0, 0);
  for (size_t age = count; age-- > 0;) {
    double product = x.gradient_by_change[age];
    for (size_t other = 0; other < count; ++other)
      product += q.of_changes[other] * y_y(age, other);
    product *= q.of_gradient;
    for (size_t old = age + 1; old < count; ++old)
      product += q.of_moves[old] * s_y(old, age);
    q.of_moves[age] = -q.of_changes[age] - product / s_y(age, age);
  }
  q.slope = -q.of_gradient * x.gradient_square;
  for (size_t age = 0; age < count; ++age) {
    q.of_changes[age] *= q.of_gradient;
    q.slope -= q.of_changes[age] * x.gradient_by_change[age];
    q.slope -= q.of_moves[age] * x.gradient_by_move[age];
  }
  return q;
}

} // namespace troupe
