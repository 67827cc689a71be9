#include "models/kinds/probe.hpp"

#include "models/base/bit_hash.hpp"
#include "models/base/rounding.hpp"

#include <algorithm>
#include <vector>

namespace troupe {

namespace {

constexpr size_t row_count = 8;
constexpr size_t value_count = 103; ///< more than vectors of any width, and no multiple of one
constexpr uint64_t step_count = 3;

} // namespace

std::string probe_of(const model& x) {
  const default_rounding rounding;
  bit_hash hash;
  std::vector<float> parameters(x.layout().size()), gradient(parameters.size());
  x.initialize(1, parameters);
  hash.add(parameters);
  const auto features = made_values(1, 1, row_count * x.feature_count(), -2, 2);
  const auto targets = made_values(1, 2, row_count * x.output_count(), 0.5f, 2);
  std::vector<int32_t> labels(row_count);
  const auto classes = is_binary(x.loss()) ? 2 : x.output_count();
  for (size_t i = 0; i < row_count; ++i)
    labels[i] = static_cast<int32_t>(i % classes);
  batch rows;
  rows.row_count = row_count;
  rows.features = features;
  if (is_classification(x.loss()))
    rows.labels = labels;
  else
    rows.targets = targets;
  workspace memory;
  const auto sums = x.gradient(parameters, rows, gradient, memory);
  hash.add(gradient);
  hash.add(sums.loss_sum);
  hash.add(x.evaluate(parameters, rows, memory).loss_sum);
  return hash.hex();
}

std::string probe_of(const metric& x, const metric_input& input) {
  const default_rounding rounding;
  const auto values = row_count * input.predictions;
  const auto predictions = made_values(1, 1, values, 0, 1);
  const auto targets = made_values(1, 2, values, 0.5f, 2);
  std::vector<int32_t> labels(row_count);
  for (size_t i = 0; i < row_count; ++i)
    labels[i] = static_cast<int32_t>(i % input.predictions);
  judged_rows rows{row_count, predictions, {}, {}};
  if (input.is_classification())
    rows.labels = labels;
  else
    rows.targets = targets;
  std::vector<double> sums(x.sum_count());
  x.add(rows, sums);
  bit_hash hash;
  for (const double sum : sums)
    hash.add(sum);
  hash.add(x.value(sums).value_or(-1));
  return hash.hex();
}

std::string probe_of(const optimizer& x) {
  const default_rounding rounding;
  bit_hash hash;
  const optimizer_state state{x.slot_count(), value_count};
  auto parameters = made_values(1, 0, value_count, -1, 1);
  std::vector<float> next(value_count);
  for (uint64_t t = 0; t < step_count; ++t) {
    const auto gradient = made_values(1, t + 1, value_count, -3, 3);
    x.update(x.begin_step(t, 7, direction::descent),
             {gradient.data(), parameters.data(), next.data(), 0, value_count}, state);
    parameters.swap(next);
    hash.add(parameters);
  }
  for (size_t i = 0; i < x.slot_count(); ++i)
    hash.add(state.slot(i));
  return hash.hex();
}

std::string probe_of(const own_loss& x) {
  const default_rounding rounding;
  bit_hash hash;
  const auto scores = made_values(1, 1, value_count, -3, 3);
  auto targets = made_values(1, 2, value_count, 0.5f, 2);
  for (auto& target : targets)
    target = x.is_binary ? (target > 1 ? 1.0f : 0.0f)
                         : target + static_cast<float>(std::max(0.0, x.least_target));
  std::vector<loss_value> out(value_count);
  x.evaluate(scores, targets, out);
  for (size_t i = 0; i < value_count; ++i) {
    hash.add(out[i].value);
    hash.add(out[i].derivative);
    hash.add(x.predicted ? x.predicted(scores[i]) : 0);
  }
  return hash.hex();
}

std::string probe_of(const own_activation& x) {
  const default_rounding rounding;
  bit_hash hash;
  const auto inputs = made_values(1, 1, value_count, -3, 3);
  std::vector<float> values(value_count), slopes(value_count);
  x.evaluate(inputs, values, slopes);
  hash.add(values);
  hash.add(slopes);
  return hash.hex();
}

std::string probe_of(const own_schedule& x) {
  const default_rounding rounding;
  bit_hash hash;
  for (const uint64_t steps : {50, 1000})
    for (uint64_t t = 0; t < value_count; ++t)
      hash.add(x.factor(t, steps));
  return hash.hex();
}

std::string probe_of(const own_merge& x) {
  const default_rounding rounding;
  bit_hash hash;
  const auto main = made_values(1, 0, value_count, -1, 1);
  std::vector<std::vector<float>> models;
  std::vector<merged_part> parts;
  for (size_t i = 0; i < std::max<size_t>(x.least, 3); ++i)
    models.push_back(made_values(1, i + 1, value_count, -1, 1));
  for (size_t i = 0; i < models.size(); ++i)
    parts.push_back({i, models[i], 10 * (i + 1)});
  std::vector<float> out(value_count);
  x.merge(parts, main, out);
  hash.add(out);
  return hash.hex();
}

std::string probe_of(const own_result_rule& x) {
  const default_rounding rounding;
  bit_hash hash;
  const auto figures = made_values(1, 1, value_count, 0.5f, 2);
  std::vector<seen_result> seen;
  for (const float figure : figures) {
    seen.push_back({10 * seen.size(), double{figure}});
    hash.add(x.fires(seen) ? 1.0 : 0.0);
  }
  return hash.hex();
}

} // namespace troupe
