#include "models/merging/average.hpp"

#include "models/base/copy_values.hpp"
#include "models/base/multiversion.hpp"
#include "models/math/reduction.hpp"

#include <algorithm>
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

namespace {

std::string shape_text(const std::vector<size_t>& shape) {
  std::string result;
  for (auto extent : shape)
    result += (result.empty() ? "" : " x ") + std::to_string(extent);
  return result;
}

} // namespace

parameter_layout union_of(std::span<const parameter_layout* const> layouts) {
  parameter_layout result;
  for (const auto* layout : layouts)
    for (const auto& tensor : layout->tensors()) {
      const auto* known = result.find(tensor.name);
      if (known == nullptr)
        result.add(tensor.name, tensor.shape);
      else if (known->shape != tensor.shape)
        throw std::invalid_argument("union of layouts: tensor '" + tensor.name + "' is " +
                                    shape_text(known->shape) + " in one model and " +
                                    shape_text(tensor.shape) + " in another");
    }
  return result;
}

std::vector<float> relaid(std::span<const float> values, const parameter_layout& from,
                          const parameter_layout& to) {
  if (values.size() != from.size())
    throw std::invalid_argument("relaid model: the layout has " + std::to_string(from.size()) +
                                " values, the model " + std::to_string(values.size()));
  std::vector<float> result(to.size());
  for (const auto& tensor : from.tensors()) {
    const auto* place = to.find(tensor.name);
    if (place == nullptr || place->size != tensor.size)
      throw std::invalid_argument("relaid model: there is no place for tensor '" + tensor.name +
                                  "'");
    copy_values(values.subspan(tensor.offset, tensor.size),
                result.begin() + static_cast<std::ptrdiff_t>(place->offset));
  }
  return result;
}

elastic_result elastic_average(std::span<const float> centre, model_list locals, double alpha) {
  require_mergeable("elastic average", locals);
  if (centre.size() != locals.front().size())
    throw std::invalid_argument("elastic average: the centre has " + std::to_string(centre.size()) +
                                " parameters, the models " + std::to_string(locals.front().size()));
  if (!(alpha > 0 && alpha <= 1))
    throw std::invalid_argument("elastic average: alpha must be above 0 and at most 1");
  std::vector<double> sum(centre.size());
  elastic_result result;
  for (const auto& local : locals) {
    auto& moved = result.locals.emplace_back(centre.size());
    for (size_t i = 0; i < centre.size(); ++i) {
      const double d = static_cast<double>(local[i]) - static_cast<double>(centre[i]);
      sum[i] += d;
      moved[i] = static_cast<float>(static_cast<double>(local[i]) - alpha * d);
    }
  }
  for (size_t i = 0; i < centre.size(); ++i)
    result.centre.push_back(static_cast<float>(static_cast<double>(centre[i]) + alpha * sum[i]));
  return result;
}

} // namespace troupe
