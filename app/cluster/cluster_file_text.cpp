// What a cluster file comes to, as text and as facts.

#include "app/cluster/cluster_file.hpp"
#include "app/cluster/cluster_schema.hpp"
#include "app/job/job_text.hpp"
#include "coordinators/job/keys/job_keys.hpp"

#include <algorithm>
#include <filesystem>

namespace troupe {

size_t director_of(const cluster_plan& plan) {
  const auto found = std::ranges::find(plan.nodes, true, &cluster_node::is_director);
  return static_cast<size_t>(found - plan.nodes.begin());
}

bool is_open_to_strangers(const loaded_cluster& x) {
  const auto is_reachable = [](const std::string& text) {
    endpoint address;
    return !read_address(text, address) && !is_loopback(address);
  };
  return !x.tls && std::ranges::any_of(x.plan.nodes, [&](const cluster_node& node) {
    return is_reachable(node.address) || is_reachable(node.listen);
  });
}

namespace {

std::string full_path(const std::string& path) {
  return std::filesystem::absolute(path).lexically_normal().string();
}

/// How a node reads its rows, where it is not as the job says.
std::string rows_text(const loaded_cluster& x, size_t index) {
  auto own = x.job.value;
  own.data = x.node_data[index];
  own.data.file = full_path(own.data.file);
  std::string result;
  for (const auto& key : fixed_job_keys()) {
    const auto name = key.path.substr(key.path.find('.') + 1);
    const bool may_differ = key.path.starts_with("data.") &&
                            std::ranges::find(node_data_keys, name) != node_data_keys.end();
    if (const auto text = key.get(own); may_differ && text && text != key.get(x.job.value))
      result += (result.empty() ? "" : ", ") + name + " = " + *text;
  }
  return result;
}

std::string node_text(const loaded_cluster& x, size_t index) {
  node_entry node;
  static_cast<cluster_node&>(node) = x.plan.nodes[index];
  if (x.tls) {
    node.certificate = full_path(x.tls->credentials[index].certificate_file);
    node.key = full_path(x.tls->credentials[index].key_file);
  }
  std::string result = "\n[[node]]\n";
  for (const auto& key : node_schema())
    if (const auto text = key.get(node))
      result += key.path + " = " + *text + '\n';
  return result + (node.holds_rows ? "data = { " + rows_text(x, index) + " }\n" : "");
}

} // namespace

std::string cluster_text(const loaded_cluster& x) {
  job described = x.job.value;
  described.training.replicas.reset(); // the nodes say how many
  const auto& timeouts = x.plan.timeouts;
  std::string result = "insecure = " + toml_text(x.plan.insecure) + "\n";
  if (x.plan.min_nodes)
    result += "min_nodes = " + toml_text(uint64_t{*x.plan.min_nodes}) + "\n";
  if (x.plan.max_nodes)
    result += "max_nodes = " + toml_text(uint64_t{*x.plan.max_nodes}) + "\n";
  result += "\n" + job_text(described);
  if (const auto& join = x.plan.join)
    result += "\n[join]\naccepts = " + toml_text(join->accepts) +
              "\nlisten = " + toml_text(join->listen) +
              "\nreplicas = " + toml_text(uint64_t{join->replica_count}) +
              "\nshards = " + toml_text(uint64_t{join->shard_count}) + "\n";
  if (x.tls)
    result += "\n[tls]\nca = " + toml_text(full_path(x.tls->authority_file)) + "\n";
  result += "\n[network]\ncarrier = " + toml_text(std::string{name_of(x.plan.carrier)}) + "\n";
  result += "\n[timeouts]\nheartbeat = " + toml_text(duration_text(timeouts.heartbeat)) +
            "\nlost_after = " + toml_text(duration_text(timeouts.lost_after)) +
            "\njoin = " + toml_text(duration_text(timeouts.join)) +
            "\nsettle = " + toml_text(duration_text(timeouts.settle)) +
            "\nleave = " + toml_text(duration_text(timeouts.leave)) + "\n";
  const auto& recovery = x.plan.recovery;
  result += "\n[recovery]\ncopies = " + toml_text(uint64_t{recovery.copies}) + "\n";
  if (recovery.copy_every)
    result += "copy_every = " + toml_text(*recovery.copy_every) + "\n";
  result += "director_pauses = " + toml_text(recovery.director_pauses) + "\n";
  for (size_t i = 0; i < x.plan.nodes.size(); ++i)
    result += node_text(x, i);
  return result;
}

} // namespace troupe
