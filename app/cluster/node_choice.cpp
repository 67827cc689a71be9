#include "app/cluster/node_choice.hpp"

#include "actors/net/socket/endpoint.hpp"
#include "actors/net/socket/tls_identity.hpp"
#include "app/cluster/cluster_schema.hpp"
#include "data/text/failure.hpp"
#include "models/base/listed.hpp"
#include "models/keys/closest_name.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include <unistd.h>

namespace troupe {

namespace {

constexpr const char* index_variable = "TROUPE_NODE_INDEX";
constexpr const char* hostname_variable = "TROUPE_NODE_FROM_HOSTNAME";
constexpr std::array launcher_variables{"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};

const std::string* find(const environment& variables, std::string_view name) {
  const auto found = std::ranges::find(variables, name, &environment::value_type::first);
  return found == variables.end() ? nullptr : &found->second;
}

std::optional<size_t> number_of(std::string_view text) {
  size_t result = 0;
  const auto* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, result);
  return error == std::errc{} && rest == end ? std::optional{result} : std::nullopt;
}

node_rank rank_in(const std::string& value, const std::string& variable) {
  if (const auto index = number_of(value))
    return {*index, variable};
  throw failure(failure_code::usage, "'" + value + "' is no number of a process", variable,
                "give it a whole number counted from 0, or name the node with --name");
}

// Of "troupe-2.troupe.default.svc" the 2.
node_rank rank_of_host(const std::string& host) {
  const auto machine = host.substr(0, host.find('.'));
  const auto dash = machine.rfind('-');
  if (dash != std::string::npos)
    if (const auto index = number_of(std::string_view{machine}.substr(dash + 1)))
      return {*index, hostname_variable};
  throw failure(failure_code::usage, "this machine, '" + host + "', is not called NAME-NUMBER",
                hostname_variable, "unset it, and name the node with --name");
}

bool is_yes(const std::string* value) {
  return value && !value->empty() && *value != "0";
}

std::vector<std::string> names_of(const cluster_plan& plan) {
  std::vector<std::string> result;
  for (const auto& node : plan.nodes)
    result.push_back(node.name);
  return result;
}

std::string node_at(const node_rank& rank, const std::vector<std::string>& names, bool may_join) {
  if (rank.index < names.size())
    return names[rank.index];
  if (may_join)
    return "join-" + std::to_string(rank.index);
  throw failure(failure_code::usage,
                "this is process " + std::to_string(rank.index) +
                  " (counted from 0), and the cluster has " + std::to_string(names.size()) +
                  " nodes",
                rank.variable, "start as many processes as there are nodes: " + listed(names));
}

} // namespace

std::optional<node_rank> find_rank(const environment& variables, const std::string& host) {
  if (const auto* value = find(variables, index_variable))
    return rank_in(*value, index_variable);
  if (is_yes(find(variables, hostname_variable)))
    return rank_of_host(host);
  for (const auto* name : launcher_variables)
    if (const auto* value = find(variables, name))
      return rank_in(*value, name);
  return std::nullopt;
}

std::string choose_name(const cluster_plan& plan, const std::string& name, const std::string& host,
                        const std::optional<node_rank>& rank) {
  const auto names = names_of(plan);
  if (name.empty()) {
    if (rank)
      return node_at(*rank, names, plan.join.has_value());
    const auto machine = host.substr(0, host.find('.'));
    if (plan.lists(machine) || (plan.join && is_node_name(machine)))
      return machine;
    if (plan.join)
      return "join-" + std::to_string(random_number() % 100'000'000);
    throw failure(failure_code::usage, "no node is called as this machine, '" + host + "'", {},
                  "add --name and one of: " + listed(names));
  }
  if (plan.lists(name) || (plan.join && is_node_name(name)))
    return name;
  if (plan.join)
    throw failure(failure_code::usage, "'" + name + "' is no name for a node", "--name",
                  "use up to 63 of a-z, 0-9, '-', '_' and '.', a letter or digit first");
  const auto hint = did_you_mean(name, names);
  throw failure(failure_code::usage, "the cluster has no node '" + name + "'", "--name",
                hint.empty() ? "use one of: " + listed(names) : hint);
}

size_t take_node(loaded_cluster& cluster, const std::string& name) {
  auto& plan = cluster.plan;
  if (const auto found = plan.find(name))
    return *found;
  const auto& join = *plan.join;
  cluster_node here{name, {}, join.listen, false, join.replica_count, join.shard_count};
  here.is_listed = false;
  plan.nodes.push_back(here);
  cluster.places.push_back("[join]");
  if (cluster.tls)
    cluster.tls->credentials.push_back(cluster.tls->of_joiners);
  return plan.nodes.size() - 1;
}

size_t choose_node(loaded_cluster& cluster, const std::string& name, const std::string& host,
                   const std::optional<node_rank>& rank) {
  return take_node(cluster, choose_name(cluster.plan, name, host, rank));
}

void expect_ports(const loaded_cluster& cluster) {
  std::vector<job_error> errors;
  for (size_t i = 0; i < cluster.plan.nodes.size(); ++i) {
    endpoint address;
    read_address(cluster.plan.nodes[i].address, address);
    const bool is_told = cluster.plan.nodes[i].is_listed || !cluster.plan.nodes[i].address.empty();
    if (is_told && is_any_address(address))
      errors.push_back({cluster.places[i],
                        "'" + cluster.plan.nodes[i].address + "' cannot be dialled",
                        "name an address that the others know"});
    else if (is_told && address.port == 0)
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
    load_tls(*result, cluster.plan.proof_name(cluster.plan.nodes[node].name));
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
