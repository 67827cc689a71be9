#include "data/training_rows/synthetic.hpp"

#include "data/table/memory_room.hpp"
#include "data/text/failure.hpp"
#include "models/base/buffer.hpp"
#include "models/base/random.hpp"
#include "models/base/rounding.hpp"
#include "models/base/saturating.hpp"

#include <string>

namespace troupe {

namespace {

std::vector<float> normals(uint64_t seed, random_purpose purpose, size_t count) {
  std::vector<float> values;
  reserve_large(values, count);
  values.resize(count);
  fill_normal({seed, purpose, 0}, 0, 1, values);
  return values;
}

/// `columns` beside the features, and `rules` of as many values as there are features.
void require_memory(const synthetic_options& options, uint64_t columns, uint64_t rules) {
  const auto values =
    saturated_sum(saturated_product(options.rows, saturated_sum(options.features, columns)),
                  saturated_product(rules, options.features));
  const auto needed = saturated_product(values, sizeof(float));
  if (const auto available = memory_available(); needed > available)
    throw failure(failure_code::bad_job,
                  std::to_string(options.rows) + " rows of " + std::to_string(options.features) +
                    " features need " + std::to_string(needed) + " bytes of memory, " +
                    std::to_string(available) + " are available",
                  "data.rows", "use fewer rows or features");
}

dataset make_features(const synthetic_options& options, uint64_t seed) {
  if (options.rows == 0 || options.features == 0)
    throw failure(failure_code::bad_job, "synthetic data needs at least one row and one feature",
                  "data.synthetic", "set data.rows and data.features to 1 or more");
  dataset result;
  result.row_count = options.rows;
  result.feature_count = options.features;
  result.features =
    normals(seed, random_purpose::synthetic_features, options.rows * options.features);
  for (size_t j = 0; j < options.features; ++j)
    result.feature_names.push_back("x" + std::to_string(j));
  return result;
}

} // namespace

dataset make_classification(const synthetic_options& options, uint64_t seed) {
  const default_rounding rounding;
  require_memory(options, 1, options.classes);
  auto result = make_features(options, seed);
  const auto centres =
    normals(seed, random_purpose::synthetic_targets, options.classes * options.features);
  const auto noise = static_cast<float>(options.noise);
  for (size_t i = 0; i < result.row_count; ++i) {
    const auto label = i % options.classes;
    result.labels.push_back(static_cast<int32_t>(label));
    for (size_t j = 0; j < result.feature_count; ++j) {
      auto& x = result.features[i * result.feature_count + j];
      x = centres[label * result.feature_count + j] + noise * x;
    }
  }
  for (size_t c = 0; c < options.classes; ++c)
    result.classes.push_back(std::to_string(c));
  result.target_names = {"class"};
  return result;
}

dataset make_regression(const synthetic_options& options, uint64_t seed) {
  const default_rounding rounding;
  require_memory(options, saturated_product(2, options.targets), options.targets);
  auto result = make_features(options, seed);
  const auto rule =
    normals(seed, random_purpose::synthetic_targets, options.targets * (options.features + 1));
  auto noise = normals(seed, random_purpose::synthetic_noise, options.rows * options.targets);
  result.target_count = options.targets;
  for (size_t i = 0; i < result.row_count; ++i)
    for (size_t t = 0; t < options.targets; ++t) {
      const auto* weight = rule.data() + t * (options.features + 1);
      double y = weight[options.features] + options.noise * noise[i * options.targets + t];
      for (size_t j = 0; j < options.features; ++j)
        y += static_cast<double>(weight[j]) * result.row(i)[j];
      result.targets.push_back(static_cast<float>(y));
    }
  for (size_t t = 0; t < options.targets; ++t)
    result.target_names.push_back("y" + std::to_string(t));
  return result;
}

} // namespace troupe
