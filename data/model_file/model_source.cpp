#include "data/model_file/model_source.hpp"

#include "data/text/failure.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>

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

void model_source::refuse(const std::string& reason) const {
  throw failure(failure_code::bad_data, reason, path,
                "the file is damaged, or was not written by this release of troupe");
}

const std::string* model_source::find(const std::string& key) const {
  const auto found = file.metadata.find(key);
  return found == file.metadata.end() ? nullptr : &found->second;
}

const std::string& model_source::text(const std::string& key) const {
  if (const auto* value = find(key))
    return *value;
  throw failure(failure_code::bad_data, "the metadata have no '" + key + "'", path,
                "a model file of troupe is needed: 'troupe train' writes one");
}

std::vector<std::string> model_source::names(const std::string& key) const {
  const auto array = json::parse(text(key), nullptr, false);
  const auto is_text = [](const auto& element) { return element.is_string(); };
  if (!array.is_array() || !std::all_of(array.begin(), array.end(), is_text))
    refuse("the metadata's '" + key + "' is no list of names");
  return array.get<std::vector<std::string>>();
}

double model_source::positive(const std::string& key) const {
  const auto& word = text(key);
  uint64_t bits = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), bits, 16);
  const auto value = std::bit_cast<double>(bits);
  if (error != std::errc{} || end != word.data() + word.size() || word.size() != 16 ||
      !std::isfinite(value) || value <= 0)
    refuse("the metadata's '" + key + "' is " + shown_text(word) + ", no number above 0");
  return value;
}

std::vector<float> model_source::floats(const std::string& key, size_t count,
                                        const char* of) const {
  const auto& words = text(key);
  std::vector<float> result;
  const char* at = words.data();
  const char* const end = at + words.size();
  while (at != end) {
    uint32_t bits = 0;
    const auto [next, error] = std::from_chars(at, end, bits, 16);
    const auto value = std::bit_cast<float>(bits);
    if (error != std::errc{} || next - at != 8 || (next != end && *next != ' ') ||
        !std::isfinite(value))
      refuse("the metadata's '" + key + "' holds no finite number at position " +
             std::to_string(result.size()));
    result.push_back(value);
    at = next == end ? next : next + 1;
  }
  if (result.size() != count)
    refuse("the metadata's '" + key + "' holds " + std::to_string(result.size()) +
           " numbers; the model has " + std::to_string(count) + " " + of);
  return result;
}

component model_source::own_kind(const kind_entry* known, const std::string& what,
                                 const std::string& kind, const std::string& version,
                                 const std::string& options) const {
  const auto named = what + " of kind " + shown_text(kind) + ", version " + shown_text(version);
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
  if (!is_good || !option_problems(*known, result).empty())
    throw failure(failure_code::bad_data,
                  "the metadata's 'options' are none of " + kind + ": " + shown_text(options), path,
                  "the file is damaged");
  return completed(*known, result);
}

std::optional<std::pair<std::string, std::string>>
model_source::added_as(const std::string& table, const std::string& kind) const {
  const auto list = find("added") ? json::parse(*find("added"), nullptr, false) : json{};
  for (const auto& one : list.is_array() ? list : json::array())
    if (one.is_object() && one.value("table", json{}) == table && one.value("kind", json{}) == kind)
      return std::pair{one.value("version", json{}).dump(), one.value("options", json{}).dump()};
  return std::nullopt;
}

} // namespace troupe
