#include "troupe/app/cluster/cluster_file.hpp"
#include "troupe/app/cluster/cluster_schema.hpp"
#include "troupe/app/cluster/cluster_text.hpp"
#include "troupe/app/commands/commands.hpp"
#include "troupe/app/job/job_file.hpp"
#include "troupe/app/job/job_schema.hpp"
#include "troupe/app/run/planned_run.hpp"
#include "troupe/app/terminal/figures_text.hpp"
#include "troupe/app/terminal/output.hpp"
#include "troupe/app/terminal/plan_report.hpp"
#include "troupe/models/kinds/optimizer_kinds.hpp"

#include <utility>

namespace troupe {

namespace {

std::pair<loaded_job, cluster_plan> load(const show_arguments& arguments) {
  if (!is_cluster_file(arguments.file))
    return {load_job_and_places(arguments.file, arguments.sets, process_environment()), {}};
  auto loaded = load_cluster(arguments.file, arguments.sets, process_environment());
  return {std::move(loaded.job), std::move(loaded.plan)};
}

int show_plan(const show_arguments& arguments) {
  const auto [loaded, cluster] = load(arguments);
  const auto run = plan_run(loaded, cluster);
  if (!run.replicas)
    throw failure(failure_code::bad_job,
                  "each replica of this mode has a whole model: there is nothing to plan",
                  "training", "leave --plan out");
  print_result(arguments.json ? plan_json(*run.replicas) : plan_report(*run.replicas));
  for (const auto& warning : run.replicas->warnings)
    print_message("troupe: warning: " + warning + '\n');
  return 0;
}

} // namespace

int config_check_command(const std::string& file) {
  if (is_cluster_file(file))
    load_cluster(file, {}, process_environment());
  else
    load_job(file, {}, process_environment());
  print_result(file + ": ok\n");
  return 0;
}

int config_show_command(const show_arguments& arguments) {
  if (arguments.plan)
    return with_failure_object(arguments.json, [&] { return show_plan(arguments); });
  // The constants that the job's rule works with, spelled out.
  const auto complete = [](job& x) { x.optimizer = with_kind_defaults(x.optimizer); };
  if (is_cluster_file(arguments.file)) {
    auto x = load_cluster(arguments.file, arguments.sets, process_environment());
    complete(x.job.value);
    print_result(cluster_text(x));
  } else {
    auto x = load_job(arguments.file, arguments.sets, process_environment());
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
