// Rules by which several models become one: the library's, and those that an application adds.
//
//   rule              formula and paper
//   average           (1 / n) sum theta_i                        average.hpp
//   weighted          sum w_i theta_i, sum w_i = 1               merge_weights.hpp
//   regression_mean   (sum X_i'X_i)^-1 sum X_i'X_i W_i           regression_mean.hpp
//   median, trimmed_mean, krum, multi_krum, geometric_median     robust.hpp
//
//   troupe::merge_rules().add("nearest", {1, "each element of who moved it least"}, {.merge = &nearest});

#pragma once

#include "models/base/names.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace troupe {

/// Beside these, values that an application adds.
enum class merge_rule : uint16_t {
  average,
  weighted,
  regression_mean,
  median,
  trimmed_mean,
  krum,
  multi_krum,
  geometric_median
};

template <>
struct name_table<merge_rule> {
  static constexpr std::array entries{named(merge_rule::average, "average"),
                                      named(merge_rule::weighted, "weighted"),
                                      named(merge_rule::regression_mean, "regression-mean"),
                                      named(merge_rule::median, "median"),
                                      named(merge_rule::trimmed_mean, "trimmed-mean"),
                                      named(merge_rule::krum, "krum"),
                                      named(merge_rule::multi_krum, "multi-krum"),
                                      named(merge_rule::geometric_median, "geometric-median")};
};

TROUPE_TAKES_ADDITIONS(merge_rule);

/// A model that is merged.
struct merged_part {
  uint64_t child = 0;
  std::span<const float> values;
  uint64_t sample_count = 1; ///< rows it was trained on
};

/// A rule that an application adds. It works element by element: it may get a piece of all models, and what it makes of
/// an element must not depend on which others are in the piece. Called by several threads at once.
struct own_merge {
  /// `parts`: by child, at least `least`. `main`: what they began from. `out`: as many values. One that is not finite, or
  /// an std::invalid_argument, ends a run; a coordinator of an application drops the round, and its main model stays.
  std::function<void(std::span<const merged_part> parts, std::span<const float> main,
                     std::span<float> out)>
    merge;
  size_t least = 1;
};

} // namespace troupe
