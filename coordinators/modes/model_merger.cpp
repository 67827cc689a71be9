#include "coordinators/modes/model_merger.hpp"

#include "models/base/rounding.hpp"
#include "models/kinds/added_tables.hpp"
#include "models/merging/average.hpp"
#include "models/merging/regression_mean.hpp"

#include <algorithm>
#include <stdexcept>

namespace troupe {

namespace {

std::string name_of_child(const merge_entry& entry) {
  return "child " + std::to_string(entry.child);
}

std::vector<double> given_weights(const merge_options& options,
                                  const std::vector<merge_entry>& entries) {
  std::vector<double> numbers;
  for (const auto& entry : entries) {
    const auto place = options.custom_weights.find(entry.child);
    if (place == options.custom_weights.end())
      throw std::invalid_argument("merge: there is no custom weight for " + name_of_child(entry));
    numbers.push_back(place->second);
  }
  return custom_weights(numbers);
}

std::vector<double> judged_weights(const std::vector<merge_entry>& entries) {
  std::vector<judgement> judgements;
  for (const auto& entry : entries) {
    if (!entry.judged)
      throw std::invalid_argument("merge: the model of " + name_of_child(entry) +
                                  " was not judged on validation rows; weighting by accuracy needs "
                                  "that of each");
    judgements.push_back(*entry.judged);
  }
  return accuracy_weights(judgements);
}

std::vector<double> weights_of(const merge_options& options,
                               const std::vector<merge_entry>& entries) {
  switch (options.weighting) {
  case merge_weighting::ratio:
    return judged_weights(entries);
  case merge_weighting::best:
    return best_weights(judged_weights(entries));
  case merge_weighting::custom:
    return given_weights(options, entries);
  case merge_weighting::samples: {
    std::vector<uint64_t> counts;
    for (const auto& entry : entries)
      counts.push_back(entry.sample_count);
    return sample_weights(counts);
  }
  case merge_weighting::equal:
  case merge_weighting::ignore:
    break;
  }
  return equal_weights(entries.size());
}

// All models in one layout: views of their own memory, or of `storage` where they had to be laid out anew.
std::vector<std::span<const float>> in_one_layout(const std::vector<merge_entry>& entries,
                                                  merged_model& result,
                                                  std::vector<std::vector<float>>& storage) {
  std::vector<const parameter_layout*> layouts;
  std::vector<std::span<const float>> models;
  for (const auto& entry : entries) {
    models.push_back(entry.values.values());
    if (entry.layout)
      layouts.push_back(entry.layout.get());
  }
  if (layouts.empty())
    return models;
  if (layouts.size() != entries.size())
    throw std::invalid_argument("merge: some models say their layout, others do not");
  result.layout = std::make_shared<parameter_layout>(union_of(layouts));
  for (size_t k = 0; k < models.size(); ++k)
    storage.push_back(relaid(models[k], *layouts[k], *result.layout));
  return {storage.begin(), storage.end()};
}

std::vector<float> regression_mean_of(const merge_options& options,
                                      const std::vector<merge_entry>& entries, model_list models) {
  require_mergeable("regression mean", models);
  const auto columns = models.front().size() / std::max<size_t>(options.target_count, 1);
  std::vector<regression_part> parts;
  for (size_t k = 0; k < models.size(); ++k)
    parts.push_back({models[k], entries[k].gram});
  const auto bias_columns = options.bias ? size_t{1} : size_t{0};
  if (columns <= bias_columns)
    throw std::invalid_argument("regression mean: " + std::to_string(models.front().size()) +
                                " parameters hold no weight for " +
                                std::to_string(options.target_count) + " targets");
  return regression_mean(parts, columns - bias_columns, options.target_count, options.bias);
}

std::vector<float> added_rule_of(const merge_options& options,
                                 const std::vector<merge_entry>& entries, model_list models,
                                 std::span<const float> main) {
  require_mergeable(std::string{name_of(options.rule)}.c_str(), models);
  std::vector<merged_part> parts;
  for (size_t k = 0; k < models.size(); ++k)
    parts.push_back({entries[k].child, models[k], entries[k].sample_count});
  std::vector<float> result(models.front().size());
  merge_rules()
    .made(options.rule)
    .merge(parts, main.size() == result.size() ? main : std::span<const float>{}, result);
  return result;
}

std::vector<float> merged_values(const merge_options& options,
                                 const std::vector<merge_entry>& entries, model_list models,
                                 std::span<const float> main, merged_model& result) {
  if (is_added(options.rule))
    return added_rule_of(options, entries, models, main);
  switch (options.rule) {
  case merge_rule::average:
    break;
  case merge_rule::weighted:
    result.weights = weights_of(options, entries);
    return weighted_sum(models, result.weights);
  case merge_rule::regression_mean:
    return regression_mean_of(options, entries, models);
  case merge_rule::median:
    return coordinate_median(models);
  case merge_rule::trimmed_mean:
    return trimmed_mean(models, options.trimmed_count);
  case merge_rule::krum:
    return krum(models, options.faulty_count);
  case merge_rule::multi_krum:
    return multi_krum(models, options.faulty_count, options.kept_count);
  case merge_rule::geometric_median: {
    result.weights = weights_of(options, entries);
    auto median = geometric_median(models, result.weights, options.geometric);
    result.converged = median.converged;
    return std::move(median.values);
  }
  }
  return average(models);
}

} // namespace

merged_model merge(const merge_options& options, std::vector<merge_entry> entries,
                   std::span<const float> main) {
  const default_rounding rounding;
  std::ranges::stable_sort(entries, {}, &merge_entry::child);
  merged_model result;
  for (const auto& entry : entries)
    result.children.push_back(entry.child);
  std::vector<std::vector<float>> storage;
  const auto models = in_one_layout(entries, result, storage);
  result.values = merged_values(options, entries, models, main, result);
  round_values(options.rounding, result.values);
  return result;
}

std::optional<std::string> misfit_of(const merge_options& options, const merge_entry& entry) {
  const bool weighs =
    options.rule == merge_rule::weighted || options.rule == merge_rule::geometric_median;
  const bool by_accuracy =
    options.weighting == merge_weighting::ratio || options.weighting == merge_weighting::best;
  if (weighs && by_accuracy && !entry.judged)
    return "the model of " + name_of_child(entry) + " was not judged on validation rows";
  if (weighs && options.weighting == merge_weighting::custom &&
      !options.custom_weights.contains(entry.child))
    return "there is no custom weight for " + name_of_child(entry);
  if (options.rule == merge_rule::regression_mean && entry.gram.empty())
    return "the model of " + name_of_child(entry) + " came without the Gram matrix of its rows";
  return std::nullopt;
}

size_t entry_count_min(const merge_options& options) {
  if (is_added(options.rule))
    return std::max<size_t>(merge_rules().made(options.rule).least, 1);
  switch (options.rule) {
  case merge_rule::trimmed_mean:
    return 2 * options.trimmed_count + 1;
  case merge_rule::krum:
    return 2 * options.faulty_count + 3;
  case merge_rule::multi_krum:
    return std::max(2 * options.faulty_count + 3, options.kept_count);
  default:
    return 1;
  }
}

} // namespace troupe
