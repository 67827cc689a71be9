#include "actors/run/job_data.hpp"
#include "app/commands/commands.hpp"
#include "app/job/job_file.hpp"
#include "app/run/signals.hpp"
#include "app/run/system_config.hpp"
#include "app/run/training_run.hpp"
#include "coordinators/job/resolve.hpp"

#include <caf/actor_system.hpp>

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

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

int run_train(const train_arguments& arguments, std::string& job_name) {
  const auto loaded =
    load_job_and_places(arguments.job_file, arguments.sets, process_environment());
  job_name = loaded.value.name;
  watch_stop_signals();
  return run_training(loaded, arguments, train_here);
}

} // namespace

int train_command(const train_arguments& arguments) {
  return with_failure_object(arguments.json,
                             [&](std::string& job_name) { return run_train(arguments, job_name); });
}

} // namespace troupe
