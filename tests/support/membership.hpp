// Short names for the decisions of the membership rule, so that tests read as tables.

#pragma once

#include "coordinators/membership/membership_rule.hpp"

#include <gtest/gtest.h>

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

/// "0..2", of a split model "0..2:0..1/2..4": slices, segments, parts.
inline std::string text_of(const partition& work) {
  const bool is_part = !work.segments.empty() || !work.parts.empty();
  return text_of(work.slices) +
         (is_part ? ":" + text_of(work.segments) + "/" + text_of(work.parts) : "");
}

/// "1.2 from 8: a r0..2 r- s0..1, b r2..4": the members with what each replica and shard owns.
inline std::string text_of(const cluster_view& view) {
  auto result = std::to_string(view.id.term) + "." + std::to_string(view.id.number) + " from " +
                std::to_string(view.start_version) + ":";
  for (size_t m = 0; m < view.members.size(); ++m) {
    result += (m > 0 ? ", " : " ") + view.members[m].name;
    for (const auto& place : view.replicas)
      if (place.member == m)
        result += " r" + text_of(place.work());
    for (const auto& place : view.shards)
      if (place.member == m)
        result += " s" + text_of(place.blocks);
    for (const auto& one : view.holders)
      if (one.member == m)
        result += " has " + text_of(one.blocks);
  }
  return result;
}

struct text_of_decision {
  std::string operator()(const persist_term& what) const {
    return "persist " + std::to_string(what.term);
  }
  std::string operator()(const ask_copies& what) const {
    std::string result = "ask";
    for (const auto& name : what.names)
      result += " " + name;
    return result;
  }
  std::string operator()(const ask_cut& what) const { return "cut: " + what.reason; }
  std::string operator()(const publish& what) const {
    return (what.is_cut ? "cut " : what.restarts ? "restart " : "view ") + text_of(what.view);
  }
  std::string operator()(const wait_for& what) const {
    std::string result =
      "wait since " + std::to_string(what.since.time_since_epoch() / std::chrono::milliseconds{1});
    for (const auto& name : what.names)
      result += " " + name;
    return result;
  }
  std::string operator()(const turn_away& what) const {
    return (what.has_left ? "let go " : "turn away ") + what.name +
           std::to_string(what.incarnation);
  }
  std::string operator()(const stays_out& what) const { return "stays out " + what.name; }
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
  return std::visit(
    [](const auto& what) -> std::string {
      if constexpr (requires { what.reason; })
        return what.reason;
      else
        return "a question";
    },
    decision);
}

/// a: one replica; b: one replica; s, t: one shard each. 4 slices, 2 blocks.
inline membership_options two_and_two() {
  return {.expected = {{"a", 1, 0}, {"b", 1, 0}, {"s", 0, 1}, {"t", 0, 1}},
          .home = {},
          .slice_count = 4,
          .parameter_count = 5000,
          .join_timeout = milliseconds{1000},
          .lost_after = milliseconds{100}};
}

inline member replica(const std::string& name, uint64_t incarnation = 1, size_t count = 1) {
  return {name, incarnation, count, 0};
}

inline member shard(const std::string& name, uint64_t incarnation = 1, size_t count = 1) {
  return {name, incarnation, 0, count};
}

/// All four have joined and term 1 is in use.
inline membership_rule running(const membership_options& options = two_and_two()) {
  membership_rule rule{options, at(0)};
  for (const auto& expected : options.expected)
    rule.on_joined({expected.name, 1, expected.replica_count, expected.shard_count}, at(0));
  rule.on_term_persisted(options.persisted_term + 1);
  EXPECT_EQ(rule.state(), membership_rule::phase::running);
  return rule;
}

} // namespace troupe::test
