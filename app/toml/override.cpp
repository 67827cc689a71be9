#include "app/toml/override.hpp"

#include "app/toml/parse_toml.hpp"

#include <unistd.h>

namespace troupe {

environment process_environment() {
  environment result;
  for (char** variable = environ; variable && *variable; ++variable) {
    const std::string text = *variable;
    if (const size_t equals = text.find('='); equals != std::string::npos)
      result.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return result;
}

std::optional<std::string> key_of_variable(std::string_view name) {
  constexpr std::string_view start = "TROUPE_";
  if (!name.starts_with(start) || name.find("__") == std::string_view::npos)
    return std::nullopt;
  std::string path{name.substr(start.size())};
  for (size_t at; (at = path.find("__")) != std::string::npos;)
    path.replace(at, 2, ".");
  std::ranges::transform(path, path.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return path;
}

namespace {

std::string variable_name(const std::string& path, std::string_view dot) {
  std::string result = "TROUPE_";
  for (const char c : path)
    if (c == '.')
      result += dot;
    else
      result += c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return result;
}

} // namespace

std::optional<std::string> key_of_misspelt_variable(std::string_view name,
                                                    const std::vector<std::string>& paths) {
  const auto found = std::ranges::find_if(
    paths, [&](const std::string& path) { return variable_name(path, "_") == name; });
  return found == paths.end() || found->find('.') == std::string::npos ? std::nullopt
                                                                       : std::optional{*found};
}

std::string variable_of_key(const std::string& path) {
  return variable_name(path, "__");
}

toml_value override_value(bool is_text, const std::string& text) {
  const toml_value as_text{text, {}};
  const auto parsed = parse_toml_value(text);
  if (!parsed)
    return as_text;
  const bool is_scalar = !parsed->as<std::string>() && !parsed->as<toml_value::list>() &&
                         !parsed->as<toml_value::table>();
  return is_text && is_scalar ? as_text : *parsed;
}

toml_value::table override_table(const std::string& path, const std::string& text) {
  std::string_view outer = path;
  toml_value value = override_value(false, text);
  for (size_t dot; (dot = outer.rfind('.')) != outer.npos; outer = outer.substr(0, dot)) {
    toml_value::table inner;
    inner.push_back({std::string{outer.substr(dot + 1)}, {}, std::move(value)});
    value = {std::move(inner), {}};
  }
  toml_value::table result;
  result.push_back({std::string{outer}, {}, std::move(value)});
  return result;
}

} // namespace troupe
