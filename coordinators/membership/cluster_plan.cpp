#include "coordinators/membership/cluster_plan.hpp"

#include <algorithm>

namespace troupe {

bool is_node_name(std::string_view text) {
  constexpr size_t length_max = 63; // of a label in a certificate's names
  const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !text.empty() && text.size() <= length_max && is_plain(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_plain(c) || c == '-' || c == '_' || c == '.'; });
}

std::string cluster_words(const cluster_plan& plan) {
  std::string result;
  const auto add = [&](const std::string& key, const std::string& value) {
    result += (result.empty() ? "" : "\n") + key + " = " + value;
  };
  const auto add_time = [&](const char* key, milliseconds time) {
    add(key, std::to_string(time.count()) + " ms");
  };
  add_time("timeouts.heartbeat", plan.timeouts.heartbeat);
  add_time("timeouts.lost_after", plan.timeouts.lost_after);
  add_time("timeouts.join", plan.timeouts.join);
  add_time("timeouts.settle", plan.timeouts.settle);
  for (const auto& node : plan.nodes)
    if (node.is_director)
      add("director", node.name);
  if (plan.join) {
    add("join.accepts", plan.join->accepts);
    add("max_nodes", std::to_string(plan.node_count_max()));
  }
  for (size_t i = 0; i < plan.nodes.size(); ++i) {
    const auto& node = plan.nodes[i];
    if (!node.is_listed)
      continue;
    add("node " + std::to_string(i + 1), node.name);
    add("replicas of node " + node.name, std::to_string(node.replica_count));
    add("shards of node " + node.name, std::to_string(node.shard_count));
    if (node.holds_rows)
      add("rows of node " + node.name, "its own");
  }
  return result;
}

} // namespace troupe
