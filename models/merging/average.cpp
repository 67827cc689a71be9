#include "troupe/models/merging/average.hpp"

#include "troupe/models/base/multiversion.hpp"
#include "troupe/models/math/reduction.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

namespace troupe {

namespace {

TROUPE_MULTIVERSION void start_sum(double* __restrict sum, const float* __restrict values,
                                   double weight, size_t count) {
  for (size_t i = 0; i < count; ++i)
    sum[i] = weight * static_cast<double>(values[i]);
}

TROUPE_MULTIVERSION void add_to_sum(double* __restrict sum, const float* __restrict values,
                                    double weight, size_t count) {
  for (size_t i = 0; i < count; ++i)
    sum[i] += weight * static_cast<double>(values[i]);
}

} // namespace

void require_mergeable(const char* rule, model_list models) {
  const auto name = std::string{rule};
  if (models.empty())
    throw std::invalid_argument(name + ": there are no models to merge");
  for (const auto& model : models)
    if (model.size() != models.front().size())
      throw std::invalid_argument(name + ": one model has " +
                                  std::to_string(models.front().size()) + " parameters, another " +
                                  std::to_string(model.size()));
  if (const auto bad = find_not_finite(models); bad < models.size())
    throw std::invalid_argument(name + ": a parameter of model " + std::to_string(bad) +
                                " is not finite");
}

std::vector<float> weighted_sum(model_list models, std::span<const double> weights) {
  require_mergeable("weighted sum of models", models);
  if (weights.size() != models.size())
    throw std::invalid_argument("weighted sum of models: " + std::to_string(weights.size()) +
                                " weights for " + std::to_string(models.size()) + " models");
  // It starts with the first product, not with 0: 0 + -0 would lose a sign.
  std::vector<double> sum(models.front().size());
  start_sum(sum.data(), models[0].data(), weights[0], sum.size());
  for (size_t k = 1; k < models.size(); ++k)
    add_to_sum(sum.data(), models[k].data(), weights[k], sum.size());
  return {sum.begin(), sum.end()};
}

std::vector<float> average(model_list models) {
  const std::vector<double> weights(models.size(), 1 / static_cast<double>(models.size()));
  return weighted_sum(models, weights);
}

void round_values(merge_rounding rounding, std::span<float> values) {
  if (rounding == merge_rounding::none)
    return;
  for (auto& value : values)
    value = rounding == merge_rounding::floor ? std::floor(value) : std::ceil(value);
}

} // namespace troupe
