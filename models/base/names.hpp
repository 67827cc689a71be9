// Names of enumerations: one table per enumeration, used by job files, error messages and model
// files alike, so a word is spelled in one place only.
//
// An enumeration takes part by specialising `name_table`:
//
//   template <> struct name_table<colour> {
//     static constexpr std::array entries{named(colour::red, "red"), named(colour::blue, "blue")};
//   };
//
// `name_of(colour::red)` is then "red", `from_name<colour>("blue")` is colour::blue, and
// `all_names<colour>()` is "red, blue". Names in job files use hyphens.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

template <class Enum>
struct name_table;

/// One row of a table: a value and its name.
template <class Enum>
constexpr std::pair<Enum, std::string_view> named(Enum value, std::string_view name) {
  return {value, name};
}

/// The name of `value`; "?" for a value outside the table.
template <class Enum>
constexpr std::string_view name_of(Enum value) {
  for (const auto& [candidate, name] : name_table<Enum>::entries)
    if (candidate == value)
      return name;
  return "?";
}

/// The value called `name`, or nothing.
template <class Enum>
constexpr std::optional<Enum> from_name(std::string_view name) {
  for (const auto& [value, candidate] : name_table<Enum>::entries)
    if (candidate == name)
      return value;
  return std::nullopt;
}

/// Every name of an enumeration, in table order, separated by ", ".
template <class Enum>
std::string all_names() {
  std::string result;
  for (const auto& [value, name] : name_table<Enum>::entries) {
    if (!result.empty())
      result += ", ";
    result += name;
  }
  return result;
}

// Some enumerations take values that an application adds (models/kinds/added_kinds.hpp). They have numbers of the
// process alone, from here on; their enumerations specialise `name_of` and `from_name`.
inline constexpr uint16_t first_added_value = 256;

template <class Enum>
constexpr bool is_added(Enum value) {
  return static_cast<uint16_t>(value) >= first_added_value;
}

/// Declares, in namespace troupe, the names of an enumeration that takes such values, its own and added ones, and the list of all.
#define TROUPE_TAKES_ADDITIONS(Enum)                                                               \
  template <>                                                                                      \
  std::string_view name_of<Enum>(Enum value);                                                      \
  template <>                                                                                      \
  std::optional<Enum> from_name<Enum>(std::string_view name);                                      \
  std::vector<Enum> all_values(Enum)

} // namespace troupe
