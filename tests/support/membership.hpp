// Short names for the decisions of the membership rule, so that tests read as tables.

#pragma once

#include "troupe/coordinators/membership_rule.hpp"

#include <string>
#include <vector>

namespace troupe::test {

/// Milliseconds after the start.
inline moment at(int64_t ms) {
  return moment{milliseconds{ms}};
}

inline std::string text_of(const index_range& range) {
  return range.empty() ? "-" : std::to_string(range.begin) + ".." + std::to_string(range.end);
}

/// "1.2 from 8: a r0..2 r- s0..1, b r2..4": the members with what each replica and shard owns.
inline std::string text_of(const cluster_view& view) {
  auto result = std::to_string(view.id.term) + "." + std::to_string(view.id.number) + " from " +
                std::to_string(view.start_version) + ":";
  for (size_t m = 0; m < view.members.size(); ++m) {
    result += (m > 0 ? ", " : " ") + view.members[m].name;
    for (const auto& place : view.replicas)
      if (place.member == m)
        result += " r" + text_of(place.slices);
    for (const auto& place : view.shards)
      if (place.member == m)
        result += " s" + text_of(place.blocks);
  }
  return result;
}

struct text_of_decision {
  std::string operator()(const persist_term& what) const {
    return "persist " + std::to_string(what.term);
  }
  std::string operator()(const publish& what) const {
    return (what.restarts ? "restart " : "view ") + text_of(what.view);
  }
  std::string operator()(const wait_for& what) const {
    std::string result =
      "wait since " + std::to_string(what.since.time_since_epoch() / std::chrono::milliseconds{1});
    for (const auto& name : what.names)
      result += " " + name;
    return result;
  }
  std::string operator()(const turn_away& what) const {
    return "turn away " + what.name + std::to_string(what.incarnation);
  }
  std::string operator()(const give_up&) const { return "give up"; }
  std::string operator()(const stand_down&) const { return "stand down"; }
};

using texts = std::vector<std::string>;

inline texts texts_of(const membership_decisions& decisions) {
  texts result;
  for (const auto& decision : decisions)
    result.push_back(std::visit(text_of_decision{}, decision));
  return result;
}

inline std::string reason_of(const membership_decision& decision) {
  return std::visit([](const auto& what) { return what.reason; }, decision);
}

} // namespace troupe::test
