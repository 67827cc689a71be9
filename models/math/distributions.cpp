#include "troupe/models/math/distributions.hpp"

#include "troupe/models/math/elementary.hpp"

#include <cmath>
#include <stdexcept>

namespace troupe {

double draw_normal(word_reader& words) {
  const double radius = std::sqrt(-2 * elementary::log(words.unit()));
  return radius * elementary::cos_of_turn(words());
}

double draw_log_gamma(word_reader& words, double shape) {
  if (!(shape > 0))
    throw std::invalid_argument("gamma: the shape must be above 0");
  if (shape < 1)
    return elementary::log(words.unit()) / shape + draw_log_gamma(words, shape + 1);
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) { // accepted more than 95 times in 100, whatever the shape
    const double x = draw_normal(words);
    const double root = 1 + c * x;
    if (root <= 0)
      continue;
    const double v = root * root * root;
    if (elementary::log(words.unit()) < x * x / 2 + d * (1 - v + elementary::log(v)))
      return elementary::log(d) + elementary::log(v);
  }
}

} // namespace troupe
