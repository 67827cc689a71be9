// Figures of a record: `each_trainer_figure(record, f)`, say, calls f with the key and the member of each, a line a
// figure. What writes, reads or shows such records gives it an f: those for JSON are here.

#pragma once

#include "data/text/json_value.hpp"

#include <cstdint>
#include <type_traits>

namespace troupe {

/// What becomes of a figure when there is none of it.
enum class none_is : uint8_t { shown, no_column, left_out };

template <class Value>
bool is_none(const Value& x) {
  if constexpr (requires { x.empty(); })
    return x.empty();
  else
    return !x;
}

/// Writes figures behind what `object` has.
template <class Json>
struct figures_into {
  Json& object;

  template <class Value>
  void operator()(const char* key, const Value& x, none_is when_none = none_is::shown,
                  const char* = nullptr) const {
    if (when_none != none_is::left_out || !is_none(x))
      object[key] = json_of<Json>(x);
  }
};

/// Reads those that are members; what is absent or null keeps its value. Throws nlohmann::json::exception.
template <class Json>
struct figures_from {
  const Json& object;

  template <class Value>
  void operator()(const char* key, Value&& x, none_is = none_is::shown,
                  const char* = nullptr) const {
    if constexpr (std::is_lvalue_reference_v<Value>)
      if (const auto value = object.value(key, Json()); !value.is_null())
        read_value_of(value, x);
  }
};

template <class Json>
figures_into(Json&) -> figures_into<Json>;
template <class Json>
figures_from(const Json&) -> figures_from<Json>;

} // namespace troupe
