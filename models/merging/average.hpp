// Averages of models: one set of parameters from several that were trained apart.
//
// Every rule here adds in double, model by model in the order given, so the bits depend on the
// models and that order alone. Whoever merges sorts first (coordinators/modes/model_merger.hpp).

#pragma once

#include "troupe/models/base/names.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// The parameters (P each) of n models with one layout.
using model_list = std::span<const std::span<const float>>;

/// What is done to each merged parameter at the end: models of whole numbers stay such.
enum class merge_rounding : uint8_t { none, floor, ceiling };

template <>
struct name_table<merge_rounding> {
  static constexpr std::array entries{named(merge_rounding::none, "none"),
                                      named(merge_rounding::floor, "floor"),
                                      named(merge_rounding::ceiling, "ceiling")};
};

/// sum_i w_i theta_i (P). Weights are used as they are; those that add up to 1 make an average, and
/// n times the same model is that model, bit for bit.
/// Throws std::invalid_argument for no models, sizes that differ, another number of weights, or a
/// value that is not finite.
std::vector<float> weighted_sum(model_list models, std::span<const double> weights);

/// (1 / n) sum_i theta_i (P). Throws as weighted_sum does.
std::vector<float> average(model_list models);

/// Rounds in place, float32 by float32: an average that is whole in float32 stays what it is.
void round_values(merge_rounding rounding, std::span<float> values);

/// Throws std::invalid_argument, in the name of `rule`, for no models, sizes that differ or a value
/// that is not finite.
void require_mergeable(const char* rule, model_list models);

} // namespace troupe
