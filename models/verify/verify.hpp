// Contract tests for what an application adds: whether a model, a rule, a loss keeps what the library promises
// on its behalf, above all the same bits in every process. They need no test framework:
//
//   for (const auto& x : troupe::verify_model(mine))
//     std::cout << x.check << ", " << x.where << ": " << x.what << '\n';
//
// | check          | holds that                                                             |
// |----------------|------------------------------------------------------------------------|
// | initial values | are finite, and functions of the seed and their place alone            |
// | gradient       | is the derivative of `evaluate`'s loss, tensor by tensor               |
// | sums           | of rows A and rows B add up to those of A and B together: no means     |
// | counted        | samples are the rows, and `gradient` has the same loss as `evaluate`   |
// | written        | every value that is asked for is written, none is added to             |
// | memory         | nothing is read from the workspace that this call did not write        |
// | pure           | the same call gives the same bits, whatever was computed in between    |
// | alignment      | bits do not depend on where buffers begin                              |
// | pieces         | a rule gives each element the same, in whatever pieces it comes        |
// | inputs         | parameters and gradient stay as they are                               |
// | not finite     | a gradient that is no number gives a parameter that is none            |
// | descends       | a rule goes down a bowl                                                |
// | predicted      | a binary loss predicts probabilities                                   |
//
// They do not find other bits on other machines, from std::exp and its kin or flags like -ffast-math
// (docs/open.md). Processes compare probes (models/kinds/probe.hpp) for that when they meet.

#pragma once

#include "models/kinds/metric_kinds.hpp"
#include "models/losses/own_loss.hpp"
#include "models/merging/merge_rule.hpp"
#include "models/network/model.hpp"
#include "models/network/own_activation.hpp"
#include "models/optimizers/optimizer.hpp"
#include "models/training/result_rule.hpp"
#include "models/training/schedule.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

struct finding {
  std::string check; ///< of the table above
  std::string where; ///< the tensor, the elements, or the call
  std::string what;  ///< expected and seen

  friend bool operator==(const finding&, const finding&) = default;
};

/// A line for each.
std::string findings_text(const std::vector<finding>& found);

struct verify_options {
  uint64_t seed = 1;        ///< of rows, initial values and directions
  size_t rows = 12;         ///< of a batch, >= 4
  bool has_dropout = false; ///< `gradient` drops units: only its form and purity are looked at
};

/// Empty when all checks hold. At most one finding a check and tensor. Takes some hundred evaluations
/// for each tensor. For models of dense rows.
std::vector<finding> verify_model(const model& x, const verify_options& options = {});

/// Empty when all checks hold: sums are added to, rows in parts come to what they come to together, and
/// figures follow from them alone. `input`: what the metric was made for.
std::vector<finding> verify_metric(const metric& x, const metric_input& input,
                                   const verify_options& options = {});

/// Empty when all checks hold.
std::vector<finding> verify_optimizer(const optimizer& x, const verify_options& options = {});

// What stands behind values that are added to enumerations: empty when all checks hold. Derivatives are compared with
// differences at points from -3.7 to 3.8.

std::vector<finding> verify_loss(const own_loss& x);
std::vector<finding> verify_activation(const own_activation& x);
std::vector<finding> verify_schedule(const own_schedule& x);
std::vector<finding> verify_merge(const own_merge& x);
std::vector<finding> verify_result_rule(const own_result_rule& x);

} // namespace troupe
