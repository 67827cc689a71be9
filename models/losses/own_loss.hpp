// A loss that an application adds, in place of one of the library's (loss.hpp).
//
//   troupe::losses().add<tau>("quantile", {1, "pinball"}, {option("tau", &tau::value, within(0, 1), "share below")},
//     [](const tau& x) {
//       return own_loss{each_score([t = x.value](double score, double target) {
//         return target > score ? loss_value{t * (target - score), -t} : loss_value{(1 - t) * (score - target), 1 - t};
//       })};
//     });
//
// It is a figure of one score and one target. Of C targets a row counts the mean; weights of rows and classes, scales
// of targets, metrics and parts of a split layer are the library's. `verify_loss` (models/verify/verify.hpp) checks
// what it promises.

#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <utility>

namespace troupe {

/// A loss and its derivative by the score.
struct loss_value {
  double value = 0;
  double derivative = 0;
};

/// Each function is called by several threads at once, and gives the same for the same arguments.
struct own_loss {
  /// N losses of N scores: regressions against N targets, binary losses against N labels, 0 or 1.
  std::function<void(std::span<const float> scores, std::span<const float> targets,
                     std::span<loss_value> out)>
    evaluate;
  bool is_binary = false; ///< one score against a label out of two
  /// What a score predicts: of a regression the target, by default the score; of a binary loss the probability of the
  /// second class, by default the score is a margin and a prediction no probability.
  std::function<double(double score)> predicted = {};
  /// A regression that is not defined for every target: the lowest one. Its targets are not scaled.
  double least_target = -std::numeric_limits<double>::infinity();
  bool above_least = false; ///< `least_target` itself is none
  bool takes_scale =
    true; ///< of a regression for every target: they may be scaled (target_scale.hpp)
};

/// `evaluate` from a function of one score and its target.
template <class Loss>
auto each_score(Loss loss) {
  return [loss = std::move(loss)](std::span<const float> scores, std::span<const float> targets,
                                  std::span<loss_value> out) {
    for (size_t i = 0; i < scores.size(); ++i)
      out[i] = loss(static_cast<double>(scores[i]), static_cast<double>(targets[i]));
  };
}

} // namespace troupe
