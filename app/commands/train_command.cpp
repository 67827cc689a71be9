#include "actors/run/job_data.hpp"
#include "app/commands/commands.hpp"
#include "app/job/job_file.hpp"
#include "app/run/replay.hpp"
#include "app/run/signals.hpp"
#include "app/run/system_config.hpp"
#include "app/run/training_run.hpp"
#include "app/terminal/output.hpp"
#include "coordinators/job/private_job.hpp"
#include "coordinators/job/resolve.hpp"
#include "data/checkpoint/checkpoint_store.hpp"
#include "data/records/summary_file.hpp"
#include "data/run_folder/run_directory.hpp"

#include <caf/actor_system.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

namespace troupe {

namespace {

namespace fs = std::filesystem;

/// As given; by default as many threads as the job has use for.
runtime_options runtime_of(const job& x, const prepared_data& data) {
  auto result = x.runtime;
  result.threads = threads_of(x, shape_of(data));
  return result;
}

training_result train_here(const job& x, training_inputs inputs) {
  system_config config{runtime_of(x, *inputs.data)};
  caf::actor_system system{config};
  inputs.on_ready();
  auto result = train(system, x, std::move(inputs.data), inputs);
  inputs.keep(result);
  return result;
}

/// Whether the run in a folder has ended, and was not stopped where --resume would go on.
bool is_finished(const std::string& folder, const std::string& elsewhere) {
  const auto& checkpoints = elsewhere.empty() ? folder : elsewhere;
  const auto path = (fs::path{folder} / summary_file_name).string();
  std::ifstream in{path, std::ios::binary};
  if (!in)
    return false;
  const auto summary = read_summary(std::string{std::istreambuf_iterator<char>{in}, {}}, path);
  return summary.stopped_by != name_of(stop_reason::interrupt) || !checkpoint_in(checkpoints);
}

/// Where nobody named a folder, a finished run stays and this one goes beside it: runs/NAME-2, -3 ... Not that of a
/// private job, whose folder has its ledger. --resume goes on with the first of these that is not finished.
void keep_finished_run(loaded_job& x, const train_arguments& arguments) {
  std::error_code ignored;
  auto& chosen = x.value.output.directory;
  const auto taken = chosen;
  const auto& elsewhere = x.value.checkpoint.directory;
  if (arguments.overwrite || x.places.by_key.contains("output.directory") || is_private(x.value) ||
      !is_finished(taken, elsewhere))
    return;
  const auto goes_on = [&] {
    return arguments.resume && fs::exists(fs::path{chosen} / identity_file_name, ignored) &&
           !is_finished(chosen, elsewhere);
  };
  for (size_t i = 2; fs::exists(chosen, ignored) && !goes_on(); ++i)
    chosen = taken + '-' + std::to_string(i);
  if (arguments.resume && !fs::exists(chosen, ignored))
    chosen = taken;
  else
    print_message("troupe: " + taken + " has a finished run: this one is " +
                  (arguments.resume
                     ? "gone on with in " + chosen + "\n"
                     : "written to " + chosen + " (--overwrite replaces the first)\n"));
}

int run_train(const train_arguments& arguments, std::string& job_name) {
  const bool repeats = !arguments.replay.empty();
  const bool repeats_rounds = repeats && has_rounds(arguments.replay);
  auto sets = arguments.sets;
  if (repeats_rounds) // the clients' rows are here now, and nobody dials in
    for (const auto* key :
         {"listen", "admit", "denied", "round_time", "clients_max", "ca", "certificate", "key"})
      sets.insert(sets.begin(), "federated." + std::string{key} + '=');
  if (repeats_rounds && std::ranges::none_of(sets, [](const auto& x) {
        return x.starts_with("federated.partition=");
      }))
    throw failure(failure_code::usage, "the record has the clients' names, and not their rows",
                  arguments.replay,
                  "name their files: --set 'federated.partition={files=\"clients/*.csv\"}'");
  auto loaded = load_job_and_places(repeats ? job_of_record(arguments.replay) : arguments.job_file,
                                    sets, process_environment());
  loaded.value.federated.repeats = repeats_rounds;
  job_name = loaded.value.name;
  if (const auto named = std::string_view{"output.directory="};
      repeats &&
      std::ranges::none_of(arguments.sets, [&](const auto& x) { return x.starts_with(named); })) {
    loaded.value.output.directory =
      fs::path{arguments.replay + "/"}.parent_path().string() + "-replay";
    loaded.places.by_key.erase("output.directory");
  }
  keep_finished_run(loaded, arguments);
  watch_stop_signals();
  return run_training(loaded, arguments, train_here);
}

} // namespace

int train_command(const train_arguments& arguments) {
  return with_failure_object(arguments.json,
                             [&](std::string& job_name) { return run_train(arguments, job_name); });
}

} // namespace troupe
