#include "troupe/actors/net/gate/visitor.hpp"
#include "troupe/app/cluster/cluster_file.hpp"
#include "troupe/app/cluster/director_address.hpp"
#include "troupe/app/cluster/node_choice.hpp"
#include "troupe/app/commands/commands.hpp"
#include "troupe/app/run/training_run.hpp"
#include "troupe/app/terminal/output.hpp"
#include "troupe/app/terminal/status_report.hpp"

#include <nlohmann/json.hpp>

#include <optional>

#include <unistd.h>

namespace troupe {

namespace {

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
tls_files own_files(const loaded_cluster& cluster, const status_arguments& arguments) {
  if (!arguments.certificate_file.empty())
    return {cluster.tls->authority_file, arguments.certificate_file, arguments.key_file};
  for (size_t i = 0; i < cluster.plan.nodes.size(); ++i)
    if (const auto files = *tls_of(cluster, i);
        is_readable(files.certificate) && is_readable(files.key))
      return files;
  return *tls_of(cluster, director_of(cluster.plan)); // the failure names its files
}

std::optional<visit_security> security_of(const loaded_cluster& cluster,
                                          const status_arguments& arguments) {
  if (!cluster.tls)
    return std::nullopt;
  return visit_security{own_files(cluster, arguments),
                        cluster.plan.nodes[director_of(cluster.plan)].name};
}

std::string with_job(const std::string& status, const std::string& job_name) {
  nlohmann::ordered_json result{{"job", job_name}};
  result.update(nlohmann::ordered_json::parse(status));
  return result.dump() + '\n';
}

int run(const status_arguments& arguments, std::string& job_name) {
  if (!is_cluster_file(arguments.cluster_file))
    throw failure(failure_code::bad_job,
                  "this is a job file, and 'troupe train' can be asked by nobody: it has no port",
                  arguments.cluster_file,
                  "give the cluster file of 'troupe launch' or 'troupe node'; 'troupe train' shows "
                  "its progress itself");
  const auto cluster = load_cluster(arguments.cluster_file, arguments.sets, process_environment());
  job_name = cluster.job.value.name;
  const auto status =
    ask_for_status(director_address(cluster), visit_deadline, security_of(cluster, arguments));
  print_result(arguments.json ? with_job(status, job_name) : status_report(status));
  return 0;
}

} // namespace

int status_command(const status_arguments& arguments) {
  return with_failure_object(arguments.json,
                             [&](std::string& job_name) { return run(arguments, job_name); });
}

} // namespace troupe
