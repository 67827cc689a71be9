#include "troupe/app/cluster/cluster_file.hpp"
#include "troupe/app/cluster/cluster_schema.hpp"
#include "troupe/app/cluster/cluster_text.hpp"
#include "troupe/app/commands/commands.hpp"
#include "troupe/app/job/job_file.hpp"
#include "troupe/app/job/job_schema.hpp"
#include "troupe/app/terminal/output.hpp"

namespace troupe {

int config_check_command(const std::string& file) {
  if (is_cluster_file(file))
    load_cluster(file, {}, process_environment());
  else
    load_job(file, {}, process_environment());
  print_result(file + ": ok\n");
  return 0;
}

int config_show_command(const std::string& file, const std::vector<std::string>& sets) {
  // The constants that the job's rule works with, spelled out.
  const auto complete = [](job& x) { x.optimizer = with_defaults(x.optimizer); };
  if (is_cluster_file(file)) {
    auto x = load_cluster(file, sets, process_environment());
    complete(x.job.value);
    print_result(cluster_text(x));
  } else {
    auto x = load_job(file, sets, process_environment());
    complete(x);
    print_result(job_text(x));
  }
  return 0;
}

int config_keys_command() {
  print_result(job_keys_markdown());
  return 0;
}

} // namespace troupe
