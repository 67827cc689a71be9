#include "models/kinds/option.hpp"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string_view>

namespace troupe {

namespace {

template <class... Cases>
struct by_type : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
by_type(Cases...) -> by_type<Cases...>;

std::string number_text(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return {text, end};
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (code < 0x20 || code == 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", code);
      result += escape;
    } else {
      result += c;
    }
  }
  return result + '"';
}

template <class T>
std::string list_text(const std::vector<T>& values) {
  std::string result = "[";
  for (const auto value : values)
    result += (result.size() > 1 ? ", " : "") + option_text(option_value{value});
  return result + ']';
}

bool holds(const option_range& range, double value) {
  return std::isfinite(value) && (range.above_least ? value > range.least : value >= range.least) &&
         (range.below_most ? value < range.most : value <= range.most);
}

bool holds(const option_range& range, const option_value& value) {
  const auto of_list = [&](const auto& list) {
    return std::ranges::all_of(list,
                               [&](auto one) { return holds(range, static_cast<double>(one)); });
  };
  return std::visit(by_type{[](bool) { return true; },
                            [&](int64_t x) { return holds(range, static_cast<double>(x)); },
                            [&](double x) { return holds(range, x); },
                            [&](const std::string& x) {
                              return range.choices.empty() ||
                                     std::ranges::find(range.choices, x) != range.choices.end();
                            },
                            [&](const std::vector<int64_t>& x) { return of_list(x); },
                            [&](const std::vector<double>& x) { return of_list(x); }},
                    value);
}

// A whole number in the place of another one.
std::optional<option_value> of_type(const option_value& like, const option_value& value) {
  if (like.index() == value.index())
    return value;
  if (const auto* whole = std::get_if<int64_t>(&value); whole && std::get_if<double>(&like))
    return static_cast<double>(*whole);
  const auto* list = std::get_if<std::vector<int64_t>>(&value);
  if (list && std::get_if<std::vector<double>>(&like))
    return std::vector<double>(list->begin(), list->end());
  return std::nullopt;
}

std::string bound_text(double value, bool is_whole) {
  return is_whole ? std::to_string(static_cast<int64_t>(value)) : number_text(value);
}

// " in [0, 1)", " >= 1", " from 1 to 64", or nothing.
std::string range_text(const option_range& x, bool is_whole) {
  // The bounds of the type itself are not shown.
  const bool has_least = x.least > (is_whole ? -1e9 : -std::numeric_limits<double>::infinity());
  const bool has_most = x.most < (is_whole ? 2e9 : std::numeric_limits<double>::infinity());
  if (has_least && has_most && is_whole)
    return " from " + bound_text(x.least, true) + " to " + bound_text(x.most, true);
  if (has_least && has_most)
    return (x.above_least ? " in (" : " in [") + bound_text(x.least, false) + ", " +
           bound_text(x.most, false) + (x.below_most ? ")" : "]");
  if (has_least)
    return (x.above_least ? " > " : " >= ") + bound_text(x.least, is_whole);
  return has_most ? (x.below_most ? " < " : " <= ") + bound_text(x.most, is_whole) : "";
}

std::string choices_text(const std::vector<std::string>& choices) {
  std::string result;
  for (const auto& choice : choices)
    result += (result.empty() ? "" : " | ") + quoted(choice);
  return result;
}

} // namespace

std::string type_text(const option_info& x) {
  return std::visit(
    by_type{
      [](bool) -> std::string { return "true or false"; },
      [&](int64_t) { return "integer" + range_text(x.range, true); },
      [&](double) { return "number" + range_text(x.range, false); },
      [&](const std::string&) -> std::string {
        return x.range.choices.empty() ? "string" : choices_text(x.range.choices);
      },
      [&](const std::vector<int64_t>&) { return "list of integers" + range_text(x.range, true); },
      [&](const std::vector<double>&) { return "list of numbers" + range_text(x.range, false); }},
    x.fallback);
}

std::optional<option_value> taken_value(const option_info& x, const option_value& value) {
  auto result = of_type(x.fallback, value);
  return result && holds(x.range, *result) ? result : std::nullopt;
}

std::string bits_text(const option_value& value) {
  const auto bits = [](double x) {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx",
                  static_cast<unsigned long long>(std::bit_cast<uint64_t>(x)));
    return std::string{text};
  };
  if (const auto* real = std::get_if<double>(&value))
    return bits(*real);
  const auto* list = std::get_if<std::vector<double>>(&value);
  if (!list)
    return option_text(value);
  std::string result;
  for (const auto x : *list)
    result += (result.empty() ? "" : " ") + bits(x);
  return '[' + result + ']';
}

std::string option_text(const option_value& value) {
  return std::visit(by_type{[](bool x) -> std::string { return x ? "true" : "false"; },
                            [](int64_t x) { return std::to_string(x); },
                            [](double x) {
                              const auto text = number_text(x);
                              return text.find_first_of(".e") == text.npos ? text + ".0" : text;
                            },
                            [](const std::string& x) { return quoted(x); },
                            [](const auto& list) { return list_text(list); }},
                    value);
}

std::string options_text(const component& x) {
  std::string result = "{";
  for (const auto& [name, value] : x.options)
    result += (result.size() > 1 ? ", " : "") + quoted(name) + ": " + option_text(value);
  return result + '}';
}

void require_good(const option_info& x) {
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (x.name.empty() || !(x.name[0] >= 'a' && x.name[0] <= 'z') ||
      !std::ranges::all_of(x.name, is_word))
    throw std::invalid_argument("option '" + x.name +
                                "': a name has small letters, digits and _, a letter first");
  if (!taken_value(x, x.fallback))
    throw std::invalid_argument("option '" + x.name + "': its default, " + option_text(x.fallback) +
                                ", is no " + type_text(x));
}

} // namespace troupe
