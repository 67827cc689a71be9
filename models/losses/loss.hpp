// Losses: what training makes small. A loss turns a batch's raw outputs (scores) into a sum over
// samples and, in the same pass, into the derivative of that sum with respect to the scores.
// Sums, never means: the optimizer's caller divides once by the number of samples.
//
// Three families: *regressions* compare C scores with C real targets; *binary* losses compare one
// score with a label out of two; the categorical cross-entropy compares C scores with a label out
// of C.

#pragma once

#include "models/base/names.hpp"
#include "models/losses/own_loss.hpp"
#include "models/losses/target_scale.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

// Links: how one score becomes the probability of the second of two classes.
//
// Each is a sigmoid-shaped function f from the real line onto (-1, 1) with f(-z) = -f(z), and the
// probability is P(z) = (1 + f(z)) / 2. So the probability of either class is P of the signed score
// s (z for the second class, -z for the first), and -log P(s) is the cross-entropy. The formulas
// never take a logarithm of a rounded 0: far out, each works on the tail itself.

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

/// The cross-entropy of signed score s, -log P(s), with its derivative -P'(s) / P(s). A score that is not finite gives a
/// value that is not.
loss_value cross_entropy_of(link_kind kind, double signed_score);

/// Beside these, values that an application adds (models/kinds/added_tables.hpp).
enum class loss_kind : uint16_t {
  squared,
  categorical_cross_entropy,
  absolute,
  huber,
  poisson,
  gamma,
  binary_cross_entropy,
  hinge,
  squared_hinge
};

template <>
struct name_table<loss_kind> {
  static constexpr std::array entries{
    named(loss_kind::squared, "squared"),
    named(loss_kind::absolute, "absolute"),
    named(loss_kind::huber, "huber"),
    named(loss_kind::poisson, "poisson"),
    named(loss_kind::gamma, "gamma"),
    named(loss_kind::categorical_cross_entropy, "categorical-cross-entropy"),
    named(loss_kind::binary_cross_entropy, "binary-cross-entropy"),
    named(loss_kind::hinge, "hinge"),
    named(loss_kind::squared_hinge, "squared-hinge")};
};

TROUPE_TAKES_ADDITIONS(loss_kind);

/// Whether a loss compares one score with a label out of two.
bool is_binary(loss_kind kind);

/// Whether the targets of a loss are class numbers (true) or real numbers (false).
bool is_classification(loss_kind kind);

/// Whether a classification's predictions are margins, not probabilities.
bool gives_margins(loss_kind kind);

/// Whether a regression's loss is defined for a target: a deviance is not below its distribution's
/// range.
bool accepts_target(loss_kind kind, double target);

/// What `accepts_target` asks for, in words behind "needs targets"; empty when any number will do.
std::string target_demand(loss_kind kind);

/// Whether a score is the logarithm of the predicted mean.
constexpr bool has_log_link(loss_kind kind) {
  return kind == loss_kind::poisson || kind == loss_kind::gamma;
}

/// Whether a regression may compare scaled targets: a deviance is one of the targets themselves.
bool takes_target_scale(loss_kind kind);

/// What some losses have beside their kind.
struct loss_constants {
  double huber_threshold = 1;          ///< huber: errors above it count linearly, > 0
  link_kind link = link_kind::sigmoid; ///< binary-cross-entropy: from score to probability

  friend bool operator==(const loss_constants&, const loss_constants&) = default;
};

/// A number that belongs to one loss, as jobs and model files call it; above 0.
struct loss_number {
  std::string_view name;
  double loss_constants::*member;
  loss_kind loss;
};
inline constexpr std::array loss_numbers{
  loss_number{"huber_threshold", &loss_constants::huber_threshold, loss_kind::huber}};

/// A loss with its constants. A kind alone is a loss with the usual ones.
struct loss_options : loss_constants {
  loss_kind kind = loss_kind::squared;
  std::vector<float> class_weights = {}; ///< by class, each >= 0; empty: all 1
  target_scale scale = {};               ///< of the targets of a regression that takes one

  loss_options() = default;
  loss_options(loss_kind of) : kind(of) {}

  friend bool operator==(const loss_options&, const loss_options&) = default;
};

} // namespace troupe
