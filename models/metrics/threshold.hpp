// Decision thresholds: from which probability on a model of two classes decides for one of them.
//
// The likeliest class is the right answer where both mistakes cost the same. Where one class is rare, or a miss
// costs more than a false alarm, another threshold is better. It is chosen on rows that were not trained on: each
// of their probabilities is tried, and rows at or above it are taken for the class.

#pragma once

#include "models/base/names.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace troupe {

/// What makes a threshold the best one:
/// - none:      there is none, the likeliest class is decided for
/// - f1:        2 TP / (2 TP + FP + FN) is greatest
/// - precision: recall is greatest where TP / (TP + FP) is at least `precision`
/// - cost:      cost FN + FP is least: a miss is as bad as `cost` false alarms
enum class threshold_kind : uint8_t { none, f1, precision, cost };

template <>
struct name_table<threshold_kind> {
  static constexpr std::array entries{
    named(threshold_kind::none, "none"), named(threshold_kind::f1, "f1"),
    named(threshold_kind::precision, "precision"), named(threshold_kind::cost, "cost")};
};

struct threshold_options {
  threshold_kind threshold = threshold_kind::none;
  double precision = 0.9; ///< kind precision: in (0, 1]
  double cost = 10;       ///< kind cost: > 0
  std::string threshold_class =
    {}; ///< the class that is looked for; empty: the rarer one in training

  friend bool operator==(const threshold_options&, const threshold_options&) = default;
};

/// Class `label` (0 or 1) is decided for where its probability is at least `probability`, else the other.
struct decision_threshold {
  size_t label = 1;
  float probability = 0.5f;

  friend bool operator==(const decision_threshold&, const decision_threshold&) = default;
};

/// The class of highest probability (N >= 1), the first of equals; with a threshold what that decides.
size_t decided_class(std::span<const float> probabilities,
                     const std::optional<decision_threshold>& threshold);

/// The best threshold for class `label` over N rows with two probabilities each (N x 2) and labels (N). Of equally
/// good ones the highest. Nothing for kind none, without rows of the class, and where no precision is high enough.
std::optional<decision_threshold> best_threshold(const threshold_options& options, size_t label,
                                                 std::span<const float> probabilities,
                                                 std::span<const int32_t> labels);

} // namespace troupe
