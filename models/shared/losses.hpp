// The losses of one output or one row (models/losses/loss.hpp says what they are), for processors and devices; written as
// models/shared/elementary.hpp is.

#pragma once

/// One output: its loss, derivative by the score, and the error of the predicted value.
typedef struct {
  double value;
  double derivative;
  double error;
} loss_element;

TROUPE_SHARED loss_element element_of(double value, double derivative, double error) {
  loss_element result;
  result.value = value;
  result.derivative = derivative;
  result.error = error;
  return result;
}

/// 0, or NaN when x is not finite: added where a formula would forget it.
TROUPE_SHARED double nothing_of(double x) {
  return x * 0;
}

// ---- Regressions: of a score and its target; `number` is the loss's number, if it has one ----

/// In the order of this list devices count them.
#define TROUPE_REGRESSIONS(use) use(squared) use(absolute) use(huber) use(poisson) use(gamma)

TROUPE_SHARED loss_element squared_loss(double score, double target, double number) {
  const double e = score - target;
  (void)number;
  return element_of(e * e, 2 * e, e);
}

TROUPE_SHARED loss_element absolute_loss(double score, double target, double number) {
  const double e = score - target;
  const double sign = e > 0 ? 1 : e < 0 ? -1 : 0;
  (void)number;
  return element_of(sign * e + nothing_of(e), sign + nothing_of(e), e);
}

TROUPE_SHARED loss_element huber_loss(double score, double target, double threshold) {
  const double e = score - target;
  const double bounded = clamped(e, -threshold, threshold);
  // e^2 / 2 within the threshold, where `bounded` is e; else threshold (|e| - threshold / 2)
  return element_of(bounded * (e - bounded / 2) + nothing_of(e), bounded + nothing_of(e), e);
}

TROUPE_SHARED loss_element poisson_loss(double score, double target, double number) {
  const double mean = exp_for_float(clamped(score, -700, 700));
  const double own = target > 0 ? target * log(target) : nothing_of(target);
  (void)number;
  return element_of(2 * (own - target * score - target + mean) + nothing_of(score),
                    2 * (mean - target) + nothing_of(score), mean - target);
}

TROUPE_SHARED loss_element gamma_loss(double score, double target, double number) {
  const double ratio = target * exp_for_float(clamped(-score, -700, 700));
  const double mean = exp_for_float(clamped(score, -700, 700));
  (void)number;
  return element_of(2 * (ratio + score - log(target) - 1) + nothing_of(score),
                    2 * (1 - ratio) + nothing_of(score), mean - target);
}

// ---- Links: the cross-entropy of the signed score s, -log P(s), with its derivative ----

/// Their names, in the order of `link_kind`.
#define TROUPE_LINKS(use)                                                                          \
  use(sigmoid) use(tanh) use(probit) use(arctan) use(gudermannian) use(algebraic) use(softsign)

TROUPE_SHARED_CONSTANT double half_pi = 0x1.921fb54442d18p+0;
TROUPE_SHARED_CONSTANT double inverse_sqrt2 = 0x1.6a09e667f3bcdp-1;
TROUPE_SHARED_CONSTANT double sqrt_2_over_pi = 0x1.9884533d43651p-1;

// Where e^x is far below the last place of 1: tails are their leading term from there on.
TROUPE_SHARED_CONSTANT double tail_begin = 30;

TROUPE_SHARED double magnitude_of(double s) {
  return s < 0 ? -s : s;
}

TROUPE_SHARED loss_element logistic_loss(double s, double slope) {
  return element_of(softplus(-slope * s), -slope * sigmoid_for_float(-slope * s), 0);
}
TROUPE_SHARED loss_element sigmoid_link(double s) {
  return logistic_loss(s, 1);
}
TROUPE_SHARED loss_element tanh_link(double s) {
  return logistic_loss(s, 2);
}

TROUPE_SHARED loss_element probit_link(double s) {
  const double t = magnitude_of(s) * inverse_sqrt2;
  const double scaled = erfcx(t);
  if (s < 0) // P = e^(-t^2) erfcx(t) / 2
    return element_of(t * t - log(scaled / 2), -sqrt_2_over_pi / scaled, 0);
  const double tail = exp_for_float(clamped(-t * t, -700, 0)) * scaled / 2;
  return element_of(-log1p(-tail), -normal_density(s) / (1 - tail), 0);
}

TROUPE_SHARED loss_element arctan_link(double s) {
  const double x = half_pi * s;
  const double density = 0.5 / (1 + x * x);
  if (s < 0) { // P = atan(1 / |x|) / pi
    const double p = atan(-1 / x) / (2 * half_pi);
    return element_of(-log(p), -density / p, 0);
  }
  const double tail = x > 0 ? atan(1 / x) / (2 * half_pi) : 0.5;
  return element_of(-log1p(-tail), -density / (1 - tail), 0);
}

TROUPE_SHARED loss_element gudermannian_link(double s) {
  // P = (2 / pi) atan(e^x), P' = 1 / (e^x + e^-x)
  const double x = half_pi * s;
  if (x < -tail_begin)
    return element_of(log(half_pi) - x, -half_pi, 0);
  const double e = exp_for_float(clamped(-magnitude_of(x), -700, 0));
  const double density = e / (1 + e * e);
  const double tail = atan_of_unit(e) / half_pi;
  if (s < 0)
    return element_of(-log(tail), -density / tail, 0);
  return element_of(-log1p(-tail), -density / (1 - tail), 0);
}

TROUPE_SHARED loss_element algebraic_link(double s) {
  const double root = square_root(1 + s * s);
  const double sum = root + magnitude_of(s);
  if (s < 0) // P = (1 - |s| / root) / 2 = 1 / (2 root sum)
    return element_of(log(2 * root * sum), -sum / (root * root), 0);
  return element_of(-log1p(-1 / (2 * root * sum)), -1 / (root * root * sum), 0);
}

TROUPE_SHARED loss_element softsign_link(double s) {
  const double scale = 1 + magnitude_of(s);
  if (s < 0) // P = 1 / (2 (1 + |s|))
    return element_of(log(2 * scale), -1 / scale, 0);
  return element_of(-log1p(-0.5 / scale), -1 / (scale * (1 + 2 * s)), 0);
}

// ---- Hinges, of the signed score ----

TROUPE_SHARED loss_element hinge_loss(double s, int is_squared) {
  const double gap = 1 - s;
  const double missing = gap <= 0 ? 0 : gap;
  if (is_squared)
    return element_of(missing * missing + nothing_of(s), -2 * missing + nothing_of(s), 0);
  return element_of(missing + nothing_of(s), (gap > 0 ? -1 : 0) + nothing_of(s), 0);
}
