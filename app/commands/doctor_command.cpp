#include "app/cluster/cluster_file.hpp"
#include "app/commands/commands.hpp"
#include "app/doctor/doctor_judgement.hpp"
#include "app/run/training_run.hpp"
#include "app/terminal/output.hpp"

namespace troupe {

namespace {

void examine_machine(findings& out, const wishes& wanted) {
  const auto machine = look_at_machine();
  out.push_back(judge_processors(machine, wanted));
  out.push_back(judge_arithmetic(machine, wanted));
  const auto devices = judge_devices(look_at_devices(), wanted);
  out.insert(out.end(), devices.begin(), devices.end());
  out.push_back(judge_descriptors(machine, wanted));
  out.push_back(judge_clock(machine));
}

wishes wishes_of(const job& x, size_t node_count) {
  return {x.runtime.threads, x.runtime.instructions, node_count, x.runtime.device};
}

void examine_folders(findings& out, const job& x) {
  out.push_back(judge_folder("output", look_at_folder(x.output.directory)));
  if (!x.checkpoint.directory.empty() && x.checkpoint.directory != x.output.directory)
    out.push_back(judge_folder("checkpoints", look_at_folder(x.checkpoint.directory)));
}

void examine_credentials(findings& out, const cluster_node& node, const node_credentials& x) {
  out.push_back(
    judge_certificate("certificate of " + node.name, look_at_certificate(x.certificate_file)));
  out.push_back(judge_key("key of " + node.name, look_at_key(x.key_file)));
}

// Certificates of other machines' nodes need not be here.
void examine_nodes(findings& out, const loaded_cluster& x) {
  if (x.tls)
    out.push_back(judge_certificate("authority", look_at_certificate(x.tls->authority_file)));
  for (size_t i = 0; i < x.plan.nodes.size(); ++i) {
    const auto& node = x.plan.nodes[i];
    const auto state = look_at_port(node);
    out.push_back(judge_port(node, state));
    const bool is_here = state != port_state::elsewhere && state != port_state::unknown_host;
    if (x.tls && is_here)
      examine_credentials(out, node, x.tls->credentials[i]);
  }
}

void examine_training(findings& out, const loaded_job& loaded, const cluster_plan& cluster) {
  try {
    const auto found = judge_plan(plan_run(loaded, cluster));
    out.insert(out.end(), found.begin(), found.end());
  } catch (const failure& error) {
    out.push_back(judge_unplanned(error));
  }
}

findings examine(const doctor_arguments& arguments) {
  findings result;
  const auto& file = arguments.file;
  if (file.empty()) {
    examine_machine(result, {});
  } else if (is_cluster_file(file)) {
    const auto cluster = load_cluster(file, arguments.sets, process_environment());
    examine_machine(result, wishes_of(cluster.job.value, cluster.plan.nodes.size()));
    examine_folders(result, cluster.job.value);
    examine_nodes(result, cluster);
    examine_training(result, cluster.job, cluster.plan);
  } else {
    const auto x = load_job_and_places(file, arguments.sets, process_environment());
    examine_machine(result, wishes_of(x.value, 0));
    examine_folders(result, x.value);
    examine_training(result, x, {});
  }
  return result;
}

int report(const findings& all, bool json_wanted) {
  print_result(json_wanted ? doctor_json(all) : doctor_report(all));
  const auto* failed = first_failed(all);
  return failed ? static_cast<int>(failed->code) : 0;
}

} // namespace

int doctor_command(const doctor_arguments& arguments) {
  return with_failure_object(
    arguments.json, [&](std::string&) { return report(examine(arguments), arguments.json); });
}

} // namespace troupe
