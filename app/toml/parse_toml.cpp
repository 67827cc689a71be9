#include "app/toml/parse_toml.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <utility>

namespace troupe {

namespace {

// The TOML library limits how deep values nest, but not how deep a dotted key does, and it frees
// what it read by recursion. A job nests three levels.
constexpr size_t dots_in_key_max = 64;
constexpr size_t depth_max = 16;

source_position position_of(const toml::source_region& region) {
  return {region.begin.line, region.begin.column};
}

// The first line with more dots in a row than any key, number or path needs; 0 when there is none.
// A comma ends a key or a value, but not within quotes; quotes end with their line here, so a text
// of many lines is counted like anything else.
size_t line_with_too_many_dots(std::string_view text) {
  size_t line = 1;
  size_t dots = 0;
  char quote = 0;
  bool escaped = false;
  for (const char c : text) {
    const bool counts_for_nothing = std::exchange(escaped, !escaped && quote == '"' && c == '\\');
    if (c == '\n') {
      ++line;
      dots = 0;
      quote = 0;
    } else if (!counts_for_nothing && (c == '"' || c == '\'')) {
      quote = quote == 0 ? c : quote == c ? 0 : quote;
    } else if (c == ',' && quote == 0) {
      dots = 0;
    } else if (c == '.' && ++dots > dots_in_key_max) {
      return line;
    }
  }
  return 0;
}

/// What of the parser's words means which mistake most often; the first that fits counts.
constexpr std::array<std::array<std::string_view, 2>, 7> parser_hints{{
  {"table header: cannot redefine",
   "a section stands once in a file; each node has its own [[node]]"},
  {"cannot redefine", "the key is set twice: keep one of them"},
  {"escape sequence", "backslashes are taken as they are in 'single quotation marks'"},
  {"parsing string", "a text ends in its own line, with the quotation mark it began with"},
  {"expected '='", "write key = value"},
  {"saw ','", "a number has a point, as 0.5; several values are [1, 2]"},
  {"parsing ",
   "a text stands in quotation marks: file = \"rows.csv\"; else write 0.5, or true or false"},
}};

std::string hint_for(std::string_view description) {
  for (const auto& [words, hint] : parser_hints)
    if (description.find(words) != description.npos)
      return std::string{hint};
  return {};
}

toml_value convert(const toml::node& node, size_t depth);

toml_value::table convert_table(const toml::table& source, size_t depth) {
  toml_value::table result;
  if (depth > depth_max)
    return result;
  for (const auto& [key, node] : source)
    result.push_back({std::string{key.str()}, position_of(key.source()), convert(node, depth + 1)});
  // The library sorts by name; people read errors in the order of their file.
  std::stable_sort(result.begin(), result.end(), [](const auto& a, const auto& b) {
    return std::pair{a.at.line, a.at.column} < std::pair{b.at.line, b.at.column};
  });
  return result;
}

toml_value::list convert_list(const toml::array& source, size_t depth) {
  toml_value::list result;
  if (depth > depth_max)
    return result;
  for (const auto& node : source)
    result.push_back(convert(node, depth + 1));
  return result;
}

toml_value convert(const toml::node& node, size_t depth) {
  toml_value result;
  result.at = position_of(node.source());
  if (const auto* boolean = node.as_boolean())
    result.content = boolean->get();
  else if (const auto* integer = node.as_integer())
    result.content = integer->get();
  else if (const auto* real = node.as_floating_point())
    result.content = real->get();
  else if (const auto* text = node.as_string())
    result.content = text->get();
  else if (const auto* list = node.as_array())
    result.content = convert_list(*list, depth);
  else if (const auto* table = node.as_table())
    result.content = convert_table(*table, depth);
  return result;
}

} // namespace

std::variant<toml_value::table, toml_problem> parse_toml(std::string_view text) {
  if (const size_t line = line_with_too_many_dots(text))
    return toml_problem{{line, 1},
                        "more than " + std::to_string(dots_in_key_max) + " dots in one key",
                        "a job nests three levels; use fewer dots"};
  try {
    return convert_table(toml::parse(text), 0);
  } catch (const toml::parse_error& error) {
    return toml_problem{position_of(error.source()), std::string{error.description()},
                        hint_for(error.description())};
  }
}

std::optional<toml_value> parse_toml_value(std::string_view text) {
  const auto parsed = parse_toml("value = " + std::string{text});
  const auto* table = std::get_if<toml_value::table>(&parsed);
  // More than one entry: the text held a line break and another key, so it was no single value.
  if (!table || table->size() != 1 || table->front().name != "value")
    return std::nullopt;
  return table->front().value;
}

} // namespace troupe
