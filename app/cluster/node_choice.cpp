#include "troupe/app/cluster/node_choice.hpp"

#include "troupe/actors/net/socket/tls_identity.hpp"
#include "troupe/app/cluster/node_address.hpp"
#include "troupe/models/keys/closest_name.hpp"

#include <array>

#include <unistd.h>

namespace troupe {

namespace {

std::vector<std::string> names_of(const cluster_plan& plan) {
  std::vector<std::string> result;
  for (const auto& node : plan.nodes)
    result.push_back(node.name);
  return result;
}

std::string listed(const std::vector<std::string>& names) {
  std::string result;
  for (const auto& name : names)
    result += (result.empty() ? "" : ", ") + name;
  return result;
}

size_t node_at(const node_rank& rank, const std::vector<std::string>& names) {
  if (rank.index < names.size())
    return rank.index;
  throw failure(failure_code::usage,
                "this is process " + std::to_string(rank.index) +
                  " (counted from 0), and the cluster has " + std::to_string(names.size()) +
                  " nodes",
                rank.variable, "start as many processes as there are nodes: " + listed(names));
}

} // namespace

size_t choose_node(const cluster_plan& plan, const std::string& name, const std::string& host,
                   const std::optional<node_rank>& rank) {
  const auto names = names_of(plan);
  if (name.empty()) {
    if (rank)
      return node_at(*rank, names);
    if (const auto found = plan.find(host.substr(0, host.find('.'))))
      return *found;
    throw failure(failure_code::usage, "no node is called as this machine, '" + host + "'", {},
                  "add --name and one of: " + listed(names));
  }
  if (const auto found = plan.find(name))
    return *found;
  const auto hint = did_you_mean(name, names);
  throw failure(failure_code::usage, "the cluster has no node '" + name + "'", "--name",
                hint.empty() ? "use one of: " + listed(names) : hint);
}

void expect_ports(const loaded_cluster& cluster) {
  std::vector<job_error> errors;
  for (size_t i = 0; i < cluster.plan.nodes.size(); ++i) {
    endpoint address;
    read_address(cluster.plan.nodes[i].address, address);
    if (address.port == 0)
      errors.push_back(
        {cluster.places[i],
         "node '" + cluster.plan.nodes[i].name + "' has port 0: nobody could find it",
         "give it a port, or start all nodes with 'troupe launch'"});
  }
  if (!errors.empty())
    throw job_errors(std::move(errors));
}

std::optional<tls_files> tls_of(const loaded_cluster& cluster, size_t node) {
  if (!cluster.tls)
    return std::nullopt;
  const auto& [certificate, key] = cluster.tls->credentials[node];
  return tls_files{cluster.tls->authority_file, certificate, key};
}

std::optional<tls_files> checked_tls_of(const loaded_cluster& cluster, size_t node) {
  const auto result = tls_of(cluster, node);
  if (result)
    load_tls(*result, cluster.plan.nodes[node].name);
  return result;
}

std::string insecure_warning(const std::string& file) {
  return "troupe: warning: " + file +
         ": insecure = true: anyone on the network can take part in this run, read and change what "
         "is sent (data, model), end it, and make its processes crash; [tls] prevents that "
         "(docs/security.md)\n";
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

} // namespace troupe
