#include "app/cluster/cluster_file.hpp"
#include "app/cluster/cluster_schema.hpp"
#include "app/commands/commands.hpp"
#include "app/job/job_file.hpp"
#include "app/job/job_text.hpp"
#include "app/run/run_start.hpp"
#include "app/run/training_run.hpp"
#include "app/terminal/figures_text.hpp"
#include "app/terminal/output.hpp"
#include "app/terminal/reports.hpp"
#include "coordinators/parallel/parallel_plan.hpp"
#include "models/kinds/optimizer_kinds.hpp"

#include <CLI/CLI.hpp>

#include <filesystem>
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
  if (!run.replicas) { // each replica of this mode has a whole model
    print_result(arguments.json ? plan_json(run.processes) : plan_report(run.processes));
    return 0;
  }
  print_result(arguments.json ? plan_json(*run.replicas) : plan_report(*run.replicas));
  for (const auto& warning : run.replicas->warnings)
    print_message("troupe: warning: " + warning + '\n');
  return 0;
}

// A node's machine needs the authority's certificate and its own two files: the others may be elsewhere.
void warn_of_missing_files(const cluster_tls& x) {
  std::vector<std::string> paths{x.authority_file};
  for (const auto& node : x.credentials)
    paths.insert(paths.end(), {node.certificate_file, node.key_file});
  for (const auto& path : paths)
    if (std::error_code ignored; !std::filesystem::exists(path, ignored))
      print_message("troupe: warning: " + path +
                    ": not on this machine, where its node does not start without\n");
}

/// Prints "FILE: ok", or throws every error of the job or cluster file. Warns of files of [tls] that are not here.
int config_check_command(const std::string& file) {
  if (is_cluster_file(file)) {
    if (const auto x = load_cluster(file, {}, process_environment()); x.tls)
      warn_of_missing_files(*x.tls);
  } else {
    load_job(file, {}, process_environment());
  }
  print_result(file + ": ok\n");
  return 0;
}

/// Prints the job, or the cluster and its job, with every key, defaults included. With `plan` it reads
/// the job's data, and prints how much each replica would hold, send and compute: tables, or with
/// `json` one object, failures included. Throws what `train` would refuse.
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

/// Prints the table of keys as docs/jobs.md holds it, or with `json` as one object by path.
int config_keys_command(bool json) {
  if (!json) {
    print_result(job_keys_markdown());
    return 0;
  }
  nlohmann::ordered_json result;
  for (const auto& key : job_keys())
    result[key.path] = {{"type", key.words()},
                        {"default", key.get({}).value_or("")},
                        {"unset", key.unset},
                        {"meaning", key.meaning},
                        {"effect", name_of(key.effect)}};
  print_result(one_line(result));
  return 0;
}

} // namespace

// "--set a.b=1 job.toml" must not take the file.
void add_sets(CLI::App& command, std::vector<std::string>& sets) {
  command.add_option("--set", sets, "Sets a key; the value is TOML, or else a string")
    ->type_name("KEY=VALUE")
    ->allow_extra_args(false);
}

void add_config(CLI::App& app, show_arguments& x, std::function<int()>& chosen) {
  auto* config = app.add_subcommand("config", "Checks and shows job and cluster files");
  config->require_subcommand(1);
  config->footer("Example:\n  troupe config check examples/digits.toml");
  auto* check = config->add_subcommand("check", "Says whether a job or cluster file is right");
  check->add_option("file", x.file, "The file")->required()->type_name("FILE");
  check->footer("Example:\n  troupe config check examples/digits.toml");
  check->callback([&] { chosen = [&x] { return config_check_command(x.file); }; });
  auto* show = config->add_subcommand("show", "Prints a job with every key, defaults included");
  show->add_option("file", x.file, "The file")->required()->type_name("FILE");
  add_sets(*show, x.sets);
  auto* plan = show->add_flag(
    "--plan", x.plan, "Prints who would hold, send and compute how much (docs/parallel.md)");
  show->add_flag("--json", x.json, "Prints the plan as one JSON object")->needs(plan);
  show->footer("Example:\n  troupe config show examples/digits.toml --set optimizer.kind=adam\n"
               "  troupe config show examples/wide_network.toml --plan");
  show->callback([&] { chosen = [&x] { return config_show_command(x); }; });
  auto* keys = config->add_subcommand("keys", "Prints every key of a job file, with its meaning");
  keys->footer("Example:\n  troupe config keys | less");
  keys->add_flag("--json", x.json,
                 "Prints one JSON object by key, with what part in the result each has");
  keys->callback([&] { chosen = [&x] { return config_keys_command(x.json); }; });
}

} // namespace troupe
