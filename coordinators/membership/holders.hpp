// Holders: which processes have the rows of which holding (coordinators/step/timeline.hpp), and so may compute its slices.
//
// Where nobody is named, all have all rows. A process that holds nothing may own parameters, and computes nothing.

#pragma once

#include "coordinators/base/canonical_tree.hpp"
#include "coordinators/step/timeline.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

struct row_holders {
  std::vector<index_range> slices{};                       ///< of each holding, in order
  std::map<std::string, size_t, std::less<>> holding_of{}; ///< by a process's name

  bool empty() const { return slices.empty(); }

  /// The holding of a process; nothing where it has none, or all have all rows.
  std::optional<size_t> of(std::string_view name) const {
    const auto found = holding_of.find(name);
    return found == holding_of.end() ? std::nullopt : std::optional{found->second};
  }

  /// Whether a process may compute all of these slices.
  bool may_compute(std::string_view name, const index_range& wanted) const {
    if (empty() || wanted.empty())
      return true;
    const auto own = of(name);
    return own && slices[*own].contains(wanted);
  }

  /// "north, south": who has these rows.
  std::string names_of(size_t holding) const {
    std::string result;
    for (const auto& [name, own] : holding_of)
      if (own == holding)
        result += (result.empty() ? "" : ", ") + name;
    return result;
  }

  friend bool operator==(const row_holders&, const row_holders&) = default;
};

/// Where a parameter server gives out the work each replica has one slice of a view, for its place: those of a holding's
/// holders lie one behind the other. `replicas_of`: how many a process is to have.
template <class ReplicasOf>
row_holders by_replica(const row_holders& holders, ReplicasOf replicas_of) {
  row_holders result{{}, holders.holding_of};
  size_t begin = 0;
  for (size_t holding = 0; holding < holders.slices.size(); ++holding) {
    size_t end = begin;
    for (const auto& [name, own] : holders.holding_of)
      end += own == holding ? replicas_of(name) : 0;
    result.slices.push_back({begin, end});
    begin = end;
  }
  return result;
}

} // namespace troupe
