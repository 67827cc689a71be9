// Averages of models: one set of parameters from several that were trained apart.
//
// Every rule here adds in double, model by model in the order given, so the bits depend on the
// models and that order alone. The merger sorts them first (coordinators/modes/model_merger.hpp).

#pragma once

#include "models/base/names.hpp"
#include "models/network/parameter_layout.hpp"

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

// Models with different tensors, made to one layout: the union of their names, what is missing = 0.

/// All tensors of all layouts, each where it first appears, layout by layout in the order given.
/// Throws std::invalid_argument when a name has two shapes.
parameter_layout union_of(std::span<const parameter_layout* const> layouts);

/// `values` of layout `from`, laid out as `to` says; tensors `from` does not have are 0. Throws
/// std::invalid_argument when sizes differ or `to` lacks a tensor.
std::vector<float> relaid(std::span<const float> values, const parameter_layout& from,
                          const parameter_layout& to);

/// Elastic averaging: children and a centre that pull at each other, without becoming one.
///
/// Zhang, Choromanska & LeCun 2015, "Deep learning with elastic averaging SGD", eq. 5 and 6: with
/// d_i = theta_i - centre, all taken at the same centre,
///   theta_i' = theta_i - alpha d_i;   centre' = centre + alpha sum_i d_i
/// Children may differ and so look around; the centre is the model. The paper's beta is n alpha: the
/// centre's share of the way to the children's mean, stable below 1 (they use 0.9).
struct elastic_result {
  std::vector<float> centre;              ///< P
  std::vector<std::vector<float>> locals; ///< n x P, in the order given
};

/// Sums run in double in the order given. One child alone is the asynchronous form (section 3.2 of
/// the paper). Throws std::invalid_argument as weighted_sum does, and unless 0 < alpha <= 1.
elastic_result elastic_average(std::span<const float> centre, model_list locals, double alpha);

} // namespace troupe
