#include "actors/net/links/peer_process.hpp"

#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"
#include "troupe/version.hpp"

#include <random>

namespace troupe {

void expect_peer(const caf::actor_system& system, const cluster_plan& cluster,
                 const std::string& own_name) {
  if (!system.has_middleman())
    throw failure(failure_code::internal, "the actor system has no middleman", {},
                  "call troupe::configure_node(config, timeouts) before making the actor system");
  std::set<std::string> names;
  for (const auto& node : cluster.nodes)
    if (!names.insert(node.name).second)
      throw failure(failure_code::bad_job, "two nodes are called " + shown_text(node.name),
                    "cluster", "give each node a name of its own");
  if (!names.contains(own_name))
    throw failure(failure_code::bad_job, "no node is called " + shown_text(own_name), "cluster",
                  "name one of the plan's nodes");
}

gate_options peer_gate(const caf::actor_system& system, const peer_process& x) {
  std::random_device random;
  gate_options result;
  result.facts.version = TROUPE_VERSION;
  result.facts.node = x.own_name;
  result.facts.cluster = x.words;
  result.facts.process = to_string(system.node());
  result.facts.life = (uint64_t{random()} << 32) | random();
  result.plan = x.cluster;
  result.plan.join.reset(); // all of these processes are listed
  for (auto& node : result.plan.nodes)
    node.is_director = false; // there is no director
  result.tls = x.tls;
  for (const auto& node : x.cluster.nodes) {
    if (node.name == x.own_name) {
      result.listen = parse_endpoint(node.listen.empty() ? node.address : node.listen);
      break;
    }
    result.dials.push_back({node.name, parse_endpoint(node.address)});
  }
  return result;
}

} // namespace troupe
