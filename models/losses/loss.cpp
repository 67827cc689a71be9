#include "models/losses/loss.hpp"

#include "models/math/elementary.hpp"

#include <cmath>
#include <stdexcept>

namespace troupe {

namespace {

using elementary::clamped;
using elementary::exp_for_float;

constexpr double half_pi = 0x1.921fb54442d18p+0;
constexpr double inverse_sqrt2 = 0x1.6a09e667f3bcdp-1;
constexpr double sqrt_2_over_pi = 0x1.9884533d43651p-1;

// Where e^x is far below the last place of 1: tails are their leading term from there on.
constexpr double tail_begin = 30;

double magnitude_of(double s) {
  return s < 0 ? -s : s;
}

loss_value logistic(double s, double slope) {
  return {elementary::softplus(-slope * s), -slope * elementary::sigmoid_for_float(-slope * s)};
}

loss_value probit(double s) {
  const double t = magnitude_of(s) * inverse_sqrt2;
  const double scaled = elementary::erfcx(t);
  if (s < 0) // P = e^(-t^2) erfcx(t) / 2
    return {t * t - elementary::log(scaled / 2), -sqrt_2_over_pi / scaled};
  const double tail = exp_for_float(clamped(-t * t, -700, 0)) * scaled / 2;
  return {-elementary::log1p(-tail), -elementary::normal_density(s) / (1 - tail)};
}

loss_value arctan(double s) {
  const double x = half_pi * s;
  const double density = 0.5 / (1 + x * x);
  if (s < 0) { // P = atan(1 / |x|) / pi
    const double p = elementary::atan(-1 / x) / (2 * half_pi);
    return {-elementary::log(p), -density / p};
  }
  const double tail = x > 0 ? elementary::atan(1 / x) / (2 * half_pi) : 0.5;
  return {-elementary::log1p(-tail), -density / (1 - tail)};
}

loss_value gudermannian(double s) {
  // P = (2 / pi) atan(e^x), P' = 1 / (e^x + e^-x)
  const double x = half_pi * s;
  if (x < -tail_begin)
    return {elementary::log(half_pi) - x, -half_pi};
  const double e = exp_for_float(clamped(-magnitude_of(x), -700, 0));
  const double density = e / (1 + e * e);
  const double tail = elementary::atan_of_unit(e) / half_pi;
  if (s < 0)
    return {-elementary::log(tail), -density / tail};
  return {-elementary::log1p(-tail), -density / (1 - tail)};
}

loss_value algebraic(double s) {
  const double root = std::sqrt(1 + s * s);
  const double sum = root + magnitude_of(s);
  if (s < 0) // P = (1 - |s| / root) / 2 = 1 / (2 root sum)
    return {elementary::log(2 * root * sum), -sum / (root * root)};
  return {-elementary::log1p(-1 / (2 * root * sum)), -1 / (root * root * sum)};
}

loss_value softsign(double s) {
  const double scale = 1 + magnitude_of(s);
  if (s < 0) // P = 1 / (2 (1 + |s|))
    return {elementary::log(2 * scale), -1 / scale};
  return {-elementary::log1p(-0.5 / scale), -1 / (scale * (1 + 2 * s))};
}

loss_value cross_entropy_of_number(link_kind kind, double s) {
  switch (kind) {
  case link_kind::sigmoid:
    return logistic(s, 1);
  case link_kind::tanh:
    return logistic(s, 2);
  case link_kind::probit:
    return probit(s);
  case link_kind::arctan:
    return arctan(s);
  case link_kind::gudermannian:
    return gudermannian(s);
  case link_kind::algebraic:
    return algebraic(s);
  case link_kind::softsign:
    return softsign(s);
  }
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
  auto result = cross_entropy_of_number(kind, signed_score);
  const double nothing = signed_score * 0; // NaN when not finite, where some limits would be 0
  result.value += nothing;
  result.derivative += nothing;
  return result;
}

} // namespace troupe
