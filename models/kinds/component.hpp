// A component: a thing of a job that has a kind and options of that kind, as plain values.
//
// Kinds that come with the library have fields of their own in a job; those that an application adds
// (kind_table.hpp) have this. It is what files, identities and model files keep of them.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace troupe {

/// A value of an option.
using option_value =
  std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>>;

struct component {
  std::string kind;                            ///< empty: none
  std::map<std::string, option_value> options; ///< by name; the others have their kind's defaults

  bool is_set() const { return !kind.empty(); }
  friend bool operator==(const component&, const component&) = default;
};

} // namespace troupe
