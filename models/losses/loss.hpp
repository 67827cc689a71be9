// Losses: what training makes small. A loss turns a batch's raw outputs (scores) into a sum over
// samples and, in the same pass, into the derivative of that sum with respect to the scores.
// Sums, never means: whoever applies an update divides once by the number of samples.

#pragma once

#include "troupe/models/names.hpp"

#include <cstdint>

namespace troupe {

enum class loss_kind : uint8_t { squared, categorical_cross_entropy };

template <>
struct name_table<loss_kind> {
  static constexpr std::array entries{
    named(loss_kind::squared, "squared"),
    named(loss_kind::categorical_cross_entropy, "categorical-cross-entropy")};
};

/// Whether the targets of a loss are class numbers (true) or real numbers (false).
constexpr bool is_classification(loss_kind kind) {
  return kind == loss_kind::categorical_cross_entropy;
}

} // namespace troupe
