// Joiner places: how many nodes that no file lists the director lets in. It counts those that have their names here, and for
// a while those that were lost: who has lost its link alone comes again, and is to find its place.

#pragma once

#include "coordinators/base/moment.hpp"
#include "coordinators/links/admission.hpp"
#include "coordinators/links/name_registry.hpp"
#include "coordinators/membership/cluster_plan.hpp"

#include <map>
#include <string>
#include <utility>

namespace troupe {

class joiner_places {
public:
  joiner_places() = default;
  explicit joiner_places(cluster_plan plan) : plan_(std::move(plan)) {}

  void on_lost(const std::string& name, moment now) {
    if (!plan_.lists(name))
      lost_[name] = now;
  }

  /// Whether a node may come, beside those that have names.
  verdict on_candidate(const std::string& name, const name_registry& names, moment now) {
    if (plan_.lists(name))
      return {};
    std::erase_if(lost_, [&](const auto& entry) {
      return now - entry.second >= plan_.timeouts.lost_after || entry.first == name;
    });
    const auto others = names.count_if([&](const std::string& other) {
      return other != name && !plan_.lists(other) && !lost_.contains(other);
    });
    return others + lost_.size() < plan_.joiner_count_max() ? verdict{} : cluster_is_full(plan_);
  }

  friend bool operator==(const joiner_places&, const joiner_places&) = default;

private:
  cluster_plan plan_;
  std::map<std::string, moment> lost_;
};

} // namespace troupe
