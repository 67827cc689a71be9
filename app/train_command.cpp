#include "troupe/actors/model_writer.hpp"
#include "troupe/actors/train.hpp"
#include "troupe/app/commands.hpp"
#include "troupe/app/job_file.hpp"
#include "troupe/app/job_schema.hpp"
#include "troupe/app/numerics_choice.hpp"
#include "troupe/app/output.hpp"
#include "troupe/app/progress.hpp"
#include "troupe/app/run_report.hpp"
#include "troupe/app/signals.hpp"
#include "troupe/data/atomic_file.hpp"
#include "troupe/data/history_file.hpp"
#include "troupe/data/run_directory.hpp"
#include "troupe/data/summary_file.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/atom.hpp>

#include <algorithm>
#include <optional>
#include <thread>

namespace troupe {

namespace {

class system_config : public caf::actor_system_config {
public:
  explicit system_config(const runtime_options& options) {
    configure(*this);
    const size_t cores = std::max(1u, std::thread::hardware_concurrency());
    set("scheduler.policy", caf::atom_from_string(std::string{name_of(options.policy)}));
    set("scheduler.max-threads", options.threads.value_or(cores));
    set("logger.verbosity", caf::atom("quiet"));
  }
};

// The earlier run's files go when training has begun, which is when the data proved readable.
class lazy_beginning {
public:
  lazy_beginning(run_directory& folder, const job& x) : folder_(folder), job_(x) {}

  void operator()() {
    if (!begun_)
      folder_.begin(job_text(job_));
    begun_ = true;
  }

private:
  run_directory& folder_;
  const job& job_;
  bool begun_ = false;
};

training_result train_with_progress(const job& x, const train_arguments& arguments,
                                    lazy_beginning& begin) {
  std::optional<progress_display> display;
  if (!arguments.quiet)
    display.emplace(stderr, style_for(stderr));
  train_options options;
  options.on_progress = [&](const training_progress& progress) {
    begin();
    if (display)
      display->show(progress);
  };
  options.stop_requested = [] { return stop_signal() != 0; };
  system_config config{x.runtime};
  caf::actor_system system{config};
  return train(system, x, options);
}

training_result train_or_say_where(const loaded_job& x, const train_arguments& arguments,
                                   lazy_beginning& begin) {
  try {
    return train_with_progress(x.value, arguments, begin);
  } catch (const failure& error) {
    throw_with_place(error, x.places);
  }
}

// The summary is written last: it is what makes a run finished.
void write_files(const run_directory& folder, training_result& result, const failure* error) {
  auto& summary = result.summary;
  const std::string model = folder.file(model_file_name);
  summary.parameters_sha256 = write_model(model, result);
  summary.model_file = model;
  write_file_atomically(folder.file(history_file_name), history_text(result.history));
  write_file_atomically(folder.file(job_file_name), job_text(result.resolved));
  write_file_atomically(folder.file(summary_file_name),
                        summary_json(summary, json_layout::indented, error));
}

int run(const train_arguments& arguments, std::string& job_name) {
  const auto loaded =
    load_job_and_places(arguments.job_file, arguments.sets, process_environment());
  const auto& x = loaded.value;
  job_name = x.name;
  ensure_numerics(x.runtime.numerics, arguments.process_arguments);
  watch_stop_signals();
  run_directory folder{x.output.directory, arguments.overwrite};
  lazy_beginning begin{folder, x};
  auto result = train_or_say_where(loaded, arguments, begin);
  begin();
  std::optional<failure> error;
  if (result.problem)
    error.emplace(failure_code::diverged, *result.problem, x.name,
                  "lower optimizer.learning_rate; the model holds the last finite parameters");
  write_files(folder, result, error ? &*error : nullptr);
  if (error)
    print_message(error_text(*error));
  const auto text =
    arguments.json ? summary_json(result.summary, json_layout::one_line, error ? &*error : nullptr)
                   : run_report(result.summary);
  print_result(text, "the files in " + folder.path() + " are complete");
  if (error)
    return static_cast<int>(failure_code::diverged);
  return stop_signal() != 0 ? 128 + stop_signal() : 0;
}

// With --json scripts read the reason from standard output. An error of writing there must not hide
// the first one.
void print_failure_object(const failure& error, const std::string& job_name) {
  try {
    print_result(failure_json(error, job_name));
  } catch (const failure&) {
    print_message("troupe: error: standard output: cannot write the result\n");
  }
}

} // namespace

int train_command(const train_arguments& arguments) {
  std::string job_name;
  try {
    return run(arguments, job_name);
  } catch (const failure& error) {
    // When the result itself could not be printed, a second attempt would only follow half of it.
    if (arguments.json && error.where() != standard_output)
      print_failure_object(error, job_name);
    throw;
  } catch (const std::exception& error) {
    const failure internal{failure_code::internal, error.what(), {}, "please report this"};
    if (arguments.json)
      print_failure_object(internal, job_name);
    throw internal;
  }
}

} // namespace troupe
