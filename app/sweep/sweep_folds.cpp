#include "troupe/app/sweep/sweep_folds.hpp"

#include "troupe/data/text/failure.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace troupe {

namespace {

using json = nlohmann::ordered_json;

constexpr const char* fold_key = "data.fold";
constexpr std::array fold_figures{"loss", "validation_accuracy", "test_accuracy", "test_r2"};

json setting_object(const sweep_outcome& x, size_t setting, size_t folds) {
  const auto first = setting * folds;
  json values = json::object();
  for (const auto& [key, value] : without_fold(x.trials[first]))
    values[key] = value;
  json result{{"setting", setting + 1}, {"values", values}, {"folds", 0}};
  std::vector<json> trials;
  for (size_t i = 0; i < folds; ++i)
    trials.push_back(trial_object(x, first + i));
  result["folds"] =
    std::ranges::count_if(trials, [](const json& t) { return !t["loss"].is_null(); });
  for (const auto* figure : fold_figures) {
    std::vector<json> found;
    for (const auto& trial : trials)
      found.push_back(trial.contains(figure) ? trial[figure] : json(nullptr));
    const auto [mean, deviation] = over_folds(found);
    result[figure] = mean;
    result[std::string{figure} + "_deviation"] = deviation;
  }
  return result;
}

table_cells cells_of(const json& settings) {
  table_cells rows{{"setting"}};
  for (const auto& [key, value] : settings.front()["values"].items())
    rows.front().push_back(key);
  rows.front().push_back("folds");
  for (const auto* figure : fold_figures)
    rows.front().insert(rows.front().end(), {figure, std::string{figure} + "_deviation"});
  for (const auto& setting : settings) {
    auto& row = rows.emplace_back();
    for (const auto& name : rows.front())
      row.push_back(cell_text(setting.contains(name) ? setting[name] : setting["values"][name]));
  }
  return without_empty_columns(std::move(rows));
}

} // namespace

std::vector<trial_values> with_folds(const std::vector<trial_values>& settings, size_t folds) {
  const auto refuse = [](const std::string& why, const std::string& hint) {
    throw failure(failure_code::usage, "--folds: " + why, {}, hint);
  };
  if (settings.size() > trials_max / folds)
    refuse("that is more than " + std::to_string(trials_max) + " trials", "try fewer values");
  std::vector<trial_values> result;
  for (const auto& setting : settings)
    for (size_t fold = 0; fold < folds; ++fold) {
      if (without_fold(setting).size() < setting.size())
        refuse("a setting names data.fold too", "leave one of the two out");
      result.push_back(setting);
      result.back().emplace_back(fold_key, std::to_string(fold));
    }
  return result;
}

trial_values without_fold(trial_values trial) {
  std::erase_if(trial, [](const auto& entry) { return entry.first == fold_key; });
  return trial;
}

fold_figure over_folds(const std::vector<json>& values) {
  if (values.empty() || std::ranges::any_of(values, [](const json& x) { return x.is_null(); }))
    return {nullptr, nullptr};
  const auto count = static_cast<double>(values.size());
  double mean = 0, squares = 0;
  for (const auto& x : values)
    mean += x.get<double>() / count;
  for (const auto& x : values)
    squares += (x.get<double>() - mean) * (x.get<double>() - mean);
  return {mean, values.size() < 2 ? json(nullptr) : json(std::sqrt(squares / (count - 1)))};
}

json settings_object(const sweep_outcome& x, size_t folds) {
  std::vector<json> result;
  for (size_t setting = 0; setting < x.trials.size() / folds; ++setting)
    result.push_back(setting_object(x, setting, folds));
  std::ranges::stable_sort(result, [](const json& a, const json& b) {
    const auto &left = a["loss"], &right = b["loss"];
    return !left.is_null() && (right.is_null() || left.get<double>() < right.get<double>());
  });
  return result;
}

std::string settings_text(const json& settings) {
  return cells_text(cells_of(settings));
}

std::string settings_csv(const json& settings) {
  return cells_csv(cells_of(settings));
}

} // namespace troupe
