// A search by folds: each setting is trained once for each fold (data.fold), and judged by the mean over folds.
//
//   setting s of k folds: trials s k .. s k + k - 1, fold 0 first

#pragma once

#include "troupe/app/sweep/sweep_results.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace troupe {

/// Each of these settings once for each fold. Throws failure(usage) for more than trials_max of them, and where
/// a setting names a fold itself.
std::vector<trial_values> with_folds(const std::vector<trial_values>& settings, size_t folds);

/// The setting without its fold.
trial_values without_fold(trial_values trial);

/// Mean and deviation (divisor k - 1) of a figure over the folds; null where a fold has none.
struct fold_figure {
  nlohmann::ordered_json mean;
  nlohmann::ordered_json deviation;
};
fold_figure over_folds(const std::vector<nlohmann::ordered_json>& values);

/// The settings, the best first: {"setting": 1, "values": {..}, "folds": 5, "loss": .., "loss_deviation": .., ..}.
nlohmann::ordered_json settings_object(const sweep_outcome& x, size_t folds);

/// A table of them for people, and folds.csv.
std::string settings_text(const nlohmann::ordered_json& settings);
std::string settings_csv(const nlohmann::ordered_json& settings);

} // namespace troupe
