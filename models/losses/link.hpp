// Links: how one score becomes the probability of the second of two classes.
//
// Each is a sigmoid-shaped function f from the real line onto (-1, 1) with f(-z) = -f(z), and the
// probability is P(z) = (1 + f(z)) / 2. So the probability of either class is P of the signed score
// s (z for the second class, -z for the first), and -log P(s) is the cross-entropy. The formulas
// never take a logarithm of a rounded 0: far out, each works on the tail itself.

#pragma once

#include "models/base/names.hpp"

#include <cstdint>

namespace troupe {

enum class link_kind : uint8_t { sigmoid, tanh, probit, arctan, gudermannian, algebraic, softsign };

template <>
struct name_table<link_kind> {
  static constexpr std::array entries{named(link_kind::sigmoid, "sigmoid"),
                                      named(link_kind::tanh, "tanh"),
                                      named(link_kind::probit, "probit"),
                                      named(link_kind::arctan, "arctan"),
                                      named(link_kind::gudermannian, "gudermannian"),
                                      named(link_kind::algebraic, "algebraic"),
                                      named(link_kind::softsign, "softsign")};
};

/// P(z), the probability of the second class; NaN stays NaN.
///
/// - sigmoid:      1 / (1 + e^-z), that is f = tanh(z / 2): the logistic model
/// - tanh:         f = tanh(z)
/// - probit:       Phi(z), the normal distribution function
/// - arctan:       f = (2 / pi) atan(pi z / 2)
/// - gudermannian: f = (2 / pi) gd(pi z / 2), gd(x) = 2 atan(e^x) - pi / 2
/// - algebraic:    f = z / sqrt(1 + z^2)
/// - softsign:     f = z / (1 + |z|)
double link_probability(link_kind kind, double score);

/// -log P(s) and its derivative -P'(s) / P(s).
struct log_loss {
  double value = 0;
  double derivative = 0;
};

/// The cross-entropy of signed score s. A score that is not finite gives a value that is not.
log_loss cross_entropy_of(link_kind kind, double signed_score);

} // namespace troupe
