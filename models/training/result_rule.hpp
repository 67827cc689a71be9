// Rules of results that an application adds: they end training (`training.stop_rule`), or lower the learning rate
// (`optimizer.plateau.rule`).
//
//   troupe::result_rules().add("three-rises", {1, "the figure rose three times in a row"}, {&three_rises});

#pragma once

#include "models/base/names.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace troupe {

/// Beside this, values that an application adds.
enum class result_rule : uint16_t { none };

template <>
struct name_table<result_rule> {
  static constexpr std::array entries{named(result_rule::none, "none")};
};

TROUPE_TAKES_ADDITIONS(result_rule);

/// A version that was evaluated.
struct seen_result {
  uint64_t version = 0; ///< steps applied
  double figure =
    0; ///< what `training.watch` names, less is better; of accuracies and their like the negative one
};

/// Asked after each evaluation, on the director alone: whether it is time. It goes by what it is shown and by nothing
/// else, so every run of a job decides alike, and one that goes on from a checkpoint, too.
struct own_result_rule {
  /// All evaluated versions in order, the last one new; of a plateau those since the rate was lowered last.
  std::function<bool(std::span<const seen_result> seen)> fires;
};

} // namespace troupe
