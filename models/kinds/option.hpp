// Options of a kind that an application adds: each is one row, and reading files, checks, identities,
// model files and `troupe config keys` follow it.
//
//   struct wave_options {
//     size_t harmonics = 3;
//   };
//   troupe::option("harmonics", &wave_options::harmonics, troupe::within(1, 64), "sines added")
//
// An option is a bool, a whole number, a double, a text, or a vector of whole numbers or doubles. The
// struct has its default.

#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace troupe {

// A component: a thing of a job that has a kind and options of that kind, as plain values.
//
// Kinds that come with the library have fields of their own in a job; those that an application adds
// (kind_table.hpp) have this. It is what files, identities and model files keep of them.

/// A value of an option.
using option_value =
  std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>>;

struct component {
  std::string kind;                            ///< empty: none
  std::map<std::string, option_value> options; ///< by name; the others have their kind's defaults

  bool is_set() const { return !kind.empty(); }
  friend bool operator==(const component&, const component&) = default;
};

/// What values an option may have: of numbers their bounds, of texts the choices. Lists: each element.
struct option_range {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool above_least = false;         ///< `least` itself is none
  bool below_most = false;          ///< `most` itself is none
  std::vector<std::string> choices; ///< texts; empty: any

  friend bool operator==(const option_range&, const option_range&) = default;
};

inline option_range anything() {
  return {};
}
/// [least, most].
inline option_range within(double least, double most) {
  return {least, most, false, false, {}};
}
/// [least, most): a decay, say.
inline option_range from_to_below(double least, double most) {
  return {least, most, false, true, {}};
}
inline option_range at_least(double least) {
  return {least, std::numeric_limits<double>::infinity(), false, false, {}};
}
inline option_range above(double least) {
  return {least, std::numeric_limits<double>::infinity(), true, false, {}};
}
inline option_range one_of(std::vector<std::string> choices) {
  option_range result;
  result.choices = std::move(choices);
  return result;
}

/// A row as seen from outside its kind.
struct option_info {
  std::string name;
  option_value fallback; ///< its alternative is the option's type
  option_range range;
  std::string meaning; ///< one line for people

  friend bool operator==(const option_info&, const option_info&) = default;
};

/// "number in [0, 1)", "integer from 1 to 64", "list of integers >= 0", "\"a\" | \"b\"".
std::string type_text(const option_info& x);

/// The value as the option has it: a whole number is one for a double too. Nothing when it is of
/// another type, out of range or not finite.
std::optional<option_value> taken_value(const option_info& x, const option_value& value);

/// A value as identities write it: numbers with a fraction as hexadecimal bits, texts quoted.
std::string bits_text(const option_value& value);

/// A value for people, as TOML has it: `0.5`, `[1, 2]`, `"abc"`.
std::string option_text(const option_value& value);

/// Options as one line of JSON, an object: doubles keep their point.
std::string options_text(const component& x);

namespace detail {

template <class T>
concept whole_number = std::integral<T> && !std::same_as<T, bool>;

template <class T>
struct is_whole_list : std::false_type {};
template <whole_number T>
struct is_whole_list<std::vector<T>> : std::true_type {};

template <class T>
option_value to_option(const T& x) {
  if constexpr (whole_number<T>)
    return static_cast<int64_t>(x);
  else if constexpr (is_whole_list<T>::value)
    return std::vector<int64_t>(x.begin(), x.end());
  else
    return x;
}

template <class T>
T from_option(const option_value& value) {
  if constexpr (whole_number<T>) {
    return static_cast<T>(std::get<int64_t>(value));
  } else if constexpr (is_whole_list<T>::value) {
    const auto& list = std::get<std::vector<int64_t>>(value);
    return T(list.begin(), list.end());
  } else {
    return std::get<T>(value);
  }
}

/// Numbers that a member of this type can hold.
template <class T>
option_range bounded_by_type(option_range range) {
  if constexpr (whole_number<T>) {
    range.least = std::max(range.least, static_cast<double>(std::numeric_limits<T>::min()));
    range.most = std::min(range.most, static_cast<double>(std::numeric_limits<T>::max()));
  } else if constexpr (is_whole_list<T>::value) {
    return bounded_by_type<typename T::value_type>(std::move(range));
  }
  return range;
}

} // namespace detail

/// A row of a kind with the options `Options`.
template <class Options>
struct option_row {
  option_info info;
  std::function<void(Options&, const option_value&)> set;
  std::function<option_value(const Options&)> get;
};

/// Throws std::invalid_argument for a name that is none (small letters, digits and _, a letter first),
/// and when the default is out of range.
void require_good(const option_info& x);

template <class Options, class T>
option_row<Options> option(std::string name, T Options::*member, option_range range,
                           std::string meaning) {
  option_row<Options> result;
  result.info = {std::move(name), detail::to_option(Options{}.*member),
                 detail::bounded_by_type<T>(std::move(range)), std::move(meaning)};
  require_good(result.info);
  result.set = [member](Options& x, const option_value& value) {
    x.*member = detail::from_option<T>(value);
  };
  result.get = [member](const Options& x) { return detail::to_option(x.*member); };
  return result;
}

} // namespace troupe
