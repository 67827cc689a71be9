// Values out of JSON that somebody else wrote: a count that is no whole number from 0 up is refused, where
// the library would convert it, whatever that gives. And into JSON what may be absent: null.

#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Deeper text is not parsed: the JSON library recurses as deep as the text. What Troupe writes has a handful of levels.
inline bool is_nested_too_deep(std::string_view text) {
  constexpr size_t nesting_max = 32;
  size_t depth = 0;
  bool is_string = false;
  for (size_t i = 0; i < text.size() && depth <= nesting_max; ++i) {
    const char c = text[i];
    if (c == '"')
      is_string = !is_string;
    else if (is_string && c == '\\')
      ++i;
    else if (!is_string && (c == '[' || c == '{'))
      ++depth;
    else if (!is_string && (c == ']' || c == '}') && depth > 0)
      --depth;
  }
  return depth > nesting_max;
}

/// A value for JSON.
template <class Json, class Value>
Json json_of(const Value& x) {
  return x;
}

template <class Json, class Value>
Json json_of(const std::optional<Value>& x) {
  return x ? Json(*x) : Json(nullptr);
}

template <class Json, class Value>
Json json_of(const std::map<std::string, std::optional<Value>>& x) {
  auto result = Json::object();
  for (const auto& [key, one] : x)
    result[key] = json_of<Json>(one);
  return result;
}

/// Throws nlohmann::json::exception for a value of another type.
template <class Json, class Value>
void read_value_of(const Json& from, Value& out) {
  from.get_to(out);
}

template <class Json, std::unsigned_integral Count>
requires(!std::same_as<Count, bool>) void read_value_of(const Json& from, Count& out) {
  out =
    static_cast<Count>(from.template get_ref<const typename Json::number_unsigned_t&>()); // 64 bits
}

template <class Json, class Value>
void read_value_of(const Json& from, std::optional<Value>& out) {
  if (out.reset(); !from.is_null())
    read_value_of(from, out.emplace());
}

template <class Json, class Value>
void read_value_of(const Json& from, std::vector<Value>& out) {
  out.clear();
  for (const auto& one : from.template get_ref<const typename Json::array_t&>())
    read_value_of(one, out.emplace_back());
}

template <class Json, class Value>
void read_value_of(const Json& from, std::map<std::string, Value>& out) {
  out.clear();
  for (const auto& [key, one] : from.template get_ref<const typename Json::object_t&>())
    read_value_of(one, out[key]);
}

} // namespace troupe
