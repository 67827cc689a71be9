#include "troupe/app/toml/schema_key.hpp"

#include "troupe/app/toml/did_you_mean.hpp"
#include "troupe/app/toml/other_names.hpp"
#include "troupe/data/text/closest_name.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace troupe {

namespace {

value_refusal wrong_type(const std::string& expected, const toml_value& value) {
  return {"expected " + expected + ", got " + description(value), {}};
}

std::string_view last_part(std::string_view path) {
  return path.substr(path.rfind('.') + 1); // npos + 1 is 0: the whole path
}

std::string section_of(const std::string& path) {
  const size_t dot = path.rfind('.');
  return dot == std::string::npos ? std::string{} : path.substr(0, dot + 1);
}

// The names directly below `section`, of keys and of sections.
std::vector<std::string> names_below(const std::string& section,
                                     const std::vector<std::string>& paths) {
  std::vector<std::string> result;
  for (const auto& path : paths) {
    if (!path.starts_with(section))
      continue;
    const auto below = std::string_view{path}.substr(section.size());
    const auto name = below.substr(0, below.find('.'));
    if (std::find(result.begin(), result.end(), name) == result.end())
      result.emplace_back(name);
  }
  return result;
}

} // namespace

std::optional<value_refusal> read_value(const toml_value& value, bool& out) {
  const auto* boolean = value.as<bool>();
  if (!boolean)
    return wrong_type("true or false", value);
  out = *boolean;
  return std::nullopt;
}

std::optional<value_refusal> read_value(const toml_value& value, double& out) {
  if (const auto* integer = value.as<int64_t>()) {
    out = static_cast<double>(*integer);
    return std::nullopt;
  }
  const auto* real = value.as<double>();
  if (!real)
    return wrong_type("a number", value);
  if (!std::isfinite(*real))
    return wrong_type("a finite number", value);
  out = *real;
  return std::nullopt;
}

std::optional<value_refusal> read_value(const toml_value& value, std::string& out) {
  const auto* text = value.as<std::string>();
  if (!text)
    return wrong_type("a string", value);
  if (text->find('\0') != std::string::npos)
    return value_refusal{"a string here may not hold a zero byte", {}};
  out = *text;
  return std::nullopt;
}

std::optional<value_refusal> read_whole(const toml_value& value, const whole_bounds& bounds,
                                        uint64_t& out) {
  const auto* integer = value.as<int64_t>();
  const auto number = integer ? static_cast<uint64_t>(*integer) : 0;
  if (!integer || *integer < 0 || number < bounds.least || number > bounds.most)
    return wrong_type("an integer " + bounds_text(bounds), value);
  out = number;
  return std::nullopt;
}

std::string whole_type(const whole_bounds& bounds) {
  const auto text = bounds_text(bounds);
  return text.starts_with("from") ? "integer " + text
                                  : "integer >= " + std::to_string(bounds.least);
}

std::optional<value_refusal> read_choice(const toml_value& value,
                                         const std::vector<std::string>& names, size_t& out) {
  const std::string expected =
    names.size() == 1 ? choices_text(names) : "one of " + choices_text(names);
  const auto* text = value.as<std::string>();
  if (!text)
    return wrong_type(expected, value);
  const auto found = std::find(names.begin(), names.end(), *text);
  if (found == names.end()) {
    auto result = wrong_type(expected, value);
    result.hint = did_you_mean(*text, names);
    return result;
  }
  out = static_cast<size_t>(found - names.begin());
  return std::nullopt;
}

std::string choices_text(const std::vector<std::string>& names) {
  std::string result;
  for (const auto& name : names)
    result += (result.empty() ? "" : " | ") + toml_text(name);
  return result;
}

std::optional<std::string> key_meant_by(const std::string& path,
                                        const std::vector<std::string>& paths) {
  const auto name = last_part(path);
  for (const auto& known : paths)
    if (last_part(known) == name)
      return known;
  if (const auto other = other_name_of(name);
      other && std::ranges::find(paths, other->key) != paths.end())
    return std::string{other->key};
  const std::string section = section_of(path);
  const auto below = names_below(section, paths);
  if (const auto near = closest_name(name, below); !near.empty())
    return section + std::string{near};
  std::vector<std::string> names;
  names.reserve(paths.size());
  for (const auto& known : paths)
    names.emplace_back(last_part(known));
  if (const auto near = closest_name(name, names); !near.empty())
    return paths[static_cast<size_t>(std::find(names.begin(), names.end(), near) - names.begin())];
  const auto near = closest_name(path, paths);
  return near.empty() ? std::nullopt : std::optional<std::string>{near};
}

complaint unknown_key(const std::string& outer, const std::string& path, source_position at,
                      const std::vector<std::string>& paths) {
  const auto other = other_name_of(last_part(path));
  if (other && !other->hint.empty())
    return {outer + path, at, "unknown key '" + outer + path + "'", std::string{other->hint}};
  const auto meant = key_meant_by(path, paths);
  return {outer + meant.value_or(path), at, "unknown key '" + outer + path + "'",
          meant ? "did you mean '" + outer + *meant + "'?"
                : "'troupe config keys' lists every key"};
}

} // namespace troupe
