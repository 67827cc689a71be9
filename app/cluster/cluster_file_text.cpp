// A cluster as the text of a file.

#include "app/cluster/cluster_file.hpp"
#include "app/cluster/cluster_schema.hpp"
#include "app/job/job_text.hpp"

#include <filesystem>

namespace troupe {

namespace {

std::string full_path(const std::string& path) {
  return std::filesystem::absolute(path).lexically_normal().string();
}

std::string node_text(const loaded_cluster& x, size_t index) {
  const auto& node = x.plan.nodes[index];
  std::string result =
    "\n[[node]]\nname = " + toml_text(node.name) + "\naddress = " + toml_text(node.address) +
    "\nlisten = " + toml_text(node.listen) + "\ndirector = " + toml_text(node.is_director) +
    "\nreplicas = " + toml_text(uint64_t{node.replica_count}) +
    "\nshards = " + toml_text(uint64_t{node.shard_count}) + "\n";
  if (node.memory_bytes)
    result += "memory = " + toml_text(memory_size_text(*node.memory_bytes)) + "\n";
  if (x.tls)
    result += "certificate = " + toml_text(full_path(x.tls->credentials[index].certificate_file)) +
              "\nkey = " + toml_text(full_path(x.tls->credentials[index].key_file)) + "\n";
  return result;
}

} // namespace

std::string cluster_text(const loaded_cluster& x) {
  job described = x.job.value;
  described.training.replicas.reset(); // the nodes say how many
  const auto& timeouts = x.plan.timeouts;
  std::string result = "insecure = " + toml_text(x.plan.insecure) + "\n";
  if (x.plan.min_nodes)
    result += "min_nodes = " + toml_text(uint64_t{*x.plan.min_nodes}) + "\n";
  result += "\n" + job_text(described);
  if (x.tls)
    result += "\n[tls]\nca = " + toml_text(full_path(x.tls->authority_file)) + "\n";
  result += "\n[network]\ncarrier = " + toml_text(std::string{name_of(x.plan.carrier)}) + "\n";
  result += "\n[timeouts]\nheartbeat = " + toml_text(duration_text(timeouts.heartbeat)) +
            "\nlost_after = " + toml_text(duration_text(timeouts.lost_after)) +
            "\njoin = " + toml_text(duration_text(timeouts.join)) + "\n";
  for (size_t i = 0; i < x.plan.nodes.size(); ++i)
    result += node_text(x, i);
  return result;
}

} // namespace troupe
