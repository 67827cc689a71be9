#include "app/cluster/cluster_visit.hpp"
#include "app/commands/commands.hpp"
#include "app/run/training_run.hpp"
#include "app/terminal/output.hpp"
#include "app/terminal/reports.hpp"

#include <nlohmann/json.hpp>

namespace troupe {

namespace {

std::string with_job(const std::string& status, const std::string& job_name) {
  nlohmann::ordered_json result{{"job", job_name}};
  result.update(nlohmann::ordered_json::parse(status));
  return result.dump() + '\n';
}

int run_status(const status_arguments& arguments, std::string& job_name) {
  if (!is_cluster_file(arguments.cluster_file))
    throw failure(failure_code::bad_job,
                  "this is a job file, and 'troupe train' can be asked by nobody: it has no port",
                  arguments.cluster_file,
                  "give the cluster file of 'troupe launch' or 'troupe node'; 'troupe train' shows "
                  "its progress itself");
  const auto cluster = load_cluster(arguments.cluster_file, arguments.sets, process_environment());
  job_name = cluster.job.value.name;
  const auto status = status_of(cluster, {arguments.certificate_file, arguments.key_file});
  print_result(arguments.json       ? with_job(status, job_name)
               : arguments.explains ? wait_report(status)
                                    : status_report(status));
  return 0;
}

} // namespace

int status_command(const status_arguments& arguments) {
  return with_failure_object(
    arguments.json, [&](std::string& job_name) { return run_status(arguments, job_name); });
}

} // namespace troupe
