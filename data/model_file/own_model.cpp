#include "data/model_file/own_model.hpp"

#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"
#include "models/kinds/model_kinds.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

namespace troupe {

namespace {

using nlohmann::json;

std::optional<option_value> list_of(const json& x) {
  const auto all = [&](auto holds) { return std::ranges::all_of(x, holds); };
  if (all([](const json& one) { return one.is_number_integer(); }))
    return x.get<std::vector<int64_t>>();
  if (all([](const json& one) { return one.is_number(); }))
    return x.get<std::vector<double>>();
  return std::nullopt;
}

std::optional<option_value> value_of(const json& x) {
  if (x.is_boolean())
    return x.get<bool>();
  if (x.is_number_integer())
    return x.get<int64_t>();
  if (x.is_number())
    return x.get<double>();
  if (x.is_string())
    return x.get<std::string>();
  return x.is_array() ? list_of(x) : std::nullopt;
}

} // namespace

component read_own_kind(const std::string& kind, const std::string& version,
                        const std::string& options, const std::string& path) {
  const auto* known = models().find(kind);
  const auto named = "a model of kind " + shown_text(kind) + ", version " + shown_text(version);
  if (!known)
    throw failure(failure_code::mismatch, named + ", which this program does not have", path,
                  "use the program that trained it");
  if (version != std::to_string(known->info.version))
    throw failure(failure_code::mismatch,
                  named + ": this program has version " + std::to_string(known->info.version), path,
                  "use the program that trained it");
  const auto object = json::parse(options, nullptr, false);
  component result{kind, {}};
  bool is_good = object.is_object();
  for (auto at = object.begin(); is_good && at != object.end(); ++at) {
    const auto value = value_of(*at);
    is_good = value.has_value();
    if (value)
      result.options[at.key()] = *value;
  }
  if (!is_good || !models().problems(result).empty())
    throw failure(failure_code::bad_data,
                  "the metadata's 'options' are none of " + kind + ": " + shown_text(options), path,
                  "the file is damaged");
  return models().complete(result);
}

} // namespace troupe
