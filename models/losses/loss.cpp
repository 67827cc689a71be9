#include "models/losses/loss.hpp"

#include "models/losses/loss_elements.hpp"

#include <cmath>
#include <stdexcept>

namespace troupe {

namespace {

using namespace elementary;

loss_element cross_entropy_of_number(link_kind kind, double s) {
#define TROUPE_CASE(name)                                                                          \
  case link_kind::name:                                                                            \
    return name##_link(s);
  switch (kind) { TROUPE_LINKS(TROUPE_CASE) }
#undef TROUPE_CASE
  throw std::invalid_argument("link: unknown kind");
}

// P(s) for s <= 0, where no formula cancels.
double tail_probability(link_kind kind, double s) {
  switch (kind) {
  case link_kind::sigmoid:
    return elementary::sigmoid_for_float(s);
  case link_kind::tanh:
    return elementary::sigmoid_for_float(2 * s);
  case link_kind::probit:
    return elementary::normal_cdf(s);
  case link_kind::arctan:
    return s < 0 ? elementary::atan(-1 / (half_pi * s)) / (2 * half_pi) : 0.5 + s;
  case link_kind::gudermannian:
    return elementary::atan_of_unit(exp_for_float(clamped(half_pi * s, -700, 0))) / half_pi;
  case link_kind::algebraic: {
    const double root = std::sqrt(1 + s * s);
    return 1 / (2 * root * (root - s));
  }
  case link_kind::softsign:
    return 0.5 / (1 - s);
  }
  throw std::invalid_argument("link: unknown kind");
}

} // namespace

double link_probability(link_kind kind, double score) {
  return score > 0 ? 1 - tail_probability(kind, -score) : tail_probability(kind, score);
}

loss_value cross_entropy_of(link_kind kind, double signed_score) {
  const auto result = cross_entropy_of_number(kind, signed_score);
  const double nothing = nothing_of(signed_score); // where some limits would be 0
  return {result.value + nothing, result.derivative + nothing};
}

} // namespace troupe
