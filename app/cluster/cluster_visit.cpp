#include "app/cluster/cluster_visit.hpp"

#include "app/cluster/node_choice.hpp"
#include "data/disk/atomic_file.hpp"
#include "data/text/failure.hpp"

#include <filesystem>
#include <fstream>
#include <optional>

#include <unistd.h>

namespace troupe {

namespace {

constexpr const char* director_address_name = "director-address";

std::string path_in(const std::string& directory) {
  return (std::filesystem::path{directory} / director_address_name).string();
}

/// The address ("host:port") that a director wrote. Throws failure(unavailable) when there is none.
std::string read_director_address(const std::string& directory) {
  const auto path = path_in(directory);
  std::ifstream in{path};
  std::string result;
  if (!std::getline(in, result) || result.empty())
    throw failure(failure_code::unavailable,
                  "no director tells its port here: the cluster is not running, or was started in "
                  "another folder",
                  path, "ask from the folder that it was started in, or give the director a port");
  return result;
}

endpoint director_address(const loaded_cluster& cluster) {
  const auto& director = cluster.plan.nodes[director_of(cluster.plan)];
  const auto fixed = parse_endpoint(director.address);
  return fixed.port != 0
           ? fixed
           : parse_endpoint(read_director_address(cluster.job.value.output.directory));
}

bool is_readable(const std::string& path) {
  return ::access(path.c_str(), R_OK) == 0;
}

// Any certificate of the authority will do: the one given, else that of the first node whose key
// can be read here. That is the node which runs on this machine.
tls_files own_files(const loaded_cluster& cluster, const visit_files& files) {
  if (!files.certificate.empty())
    return {cluster.tls->authority_file, files.certificate, files.key};
  for (size_t i = 0; i < cluster.plan.nodes.size(); ++i)
    if (const auto found = *tls_of(cluster, i);
        is_readable(found.certificate) && is_readable(found.key))
      return found;
  return *tls_of(cluster, director_of(cluster.plan)); // the failure names its files
}

std::optional<visit_security> security_of(const loaded_cluster& cluster, const visit_files& files) {
  if (!cluster.tls)
    return std::nullopt;
  return visit_security{own_files(cluster, files),
                        cluster.plan.nodes[director_of(cluster.plan)].name};
}

} // namespace

std::string status_of(const loaded_cluster& cluster, const visit_files& files) {
  return ask_for_status(director_address(cluster), visit_deadline, security_of(cluster, files));
}

told_address::told_address(const std::string& directory, const std::string& address)
  : path_(path_in(directory)) {
  write_file_atomically(path_, address + '\n');
}

told_address::~told_address() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

} // namespace troupe
