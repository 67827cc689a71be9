#include "troupe/app/training_run.hpp"

#include "troupe/actors/job_data.hpp"
#include "troupe/actors/model_writer.hpp"
#include "troupe/app/job_schema.hpp"
#include "troupe/app/output.hpp"
#include "troupe/app/progress.hpp"
#include "troupe/app/run_report.hpp"
#include "troupe/app/run_start.hpp"
#include "troupe/app/signals.hpp"
#include "troupe/data/atomic_file.hpp"
#include "troupe/data/history_file.hpp"
#include "troupe/data/run_directory.hpp"
#include "troupe/data/summary_file.hpp"

#include <utility>

namespace troupe {

namespace {

// The display outlives the training: a line that it left open is then ended.
training_result train_with_progress(const job& x, training_inputs inputs, const trainer& train,
                                    bool quiet) {
  std::optional<progress_display> display;
  if (!quiet)
    display.emplace(stderr, style_for(stderr));
  const auto say = [&](const std::string& line) {
    if (!display)
      return;
    display->end_line();
    print_message(line + '\n');
  };
  inputs.on_news = say;
  inputs.on_progress = [&](const training_progress& progress) {
    if (!progress.notice.empty())
      say(progress.notice);
    else if (display)
      display->show(progress);
  };
  return train(x, std::move(inputs));
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

void print_summary(const training_summary& summary, const run_directory& folder, bool as_json,
                   const failure* error) {
  const auto text =
    as_json ? summary_json(summary, json_layout::one_line, error) : run_report(summary);
  print_result(text, "the files in " + folder.path() + " are complete");
}

// With --json the figures are in the object, and nothing may follow it.
void print_statistics(const training_result& result, bool as_json) {
  if (result.statistics.empty())
    print_message("troupe: --stats: nobody waits in this run\n");
  else if (!as_json)
    print_result('\n' + result.statistics);
}

int train_from(run_start start, const job& x, std::shared_ptr<const prepared_data> data,
               run_folders& folders, const train_arguments& arguments, const trainer& train) {
  // From here on the earlier run is gone: the data proved readable and fit for the job.
  folders.begin(job_text(x), start.identity);
  training_inputs inputs{std::move(data), nullptr, std::move(start.resume_from), {}, {}};
  if (x.checkpoint.every_steps > 0)
    inputs.checkpoints = folders.checkpoints();
  auto result = train_with_progress(x, std::move(inputs), train, arguments.quiet);
  std::optional<failure> error;
  if (result.problem)
    error.emplace(failure_code::diverged, *result.problem, x.name,
                  std::string{"lower optimizer.learning_rate; the model holds the "} +
                    (result.summary.best_version ? "best" : "last finite") + " parameters");
  write_files(folders.run(), result, error ? &*error : nullptr);
  if (error)
    print_message(error_text(*error));
  print_summary(result.summary, folders.run(), arguments.json, error ? &*error : nullptr);
  if (arguments.stats)
    print_statistics(result, arguments.json);
  if (error)
    return static_cast<int>(failure_code::diverged);
  return stop_signal() != 0 ? 128 + stop_signal() : 0;
}

earlier_run treatment_of(const train_arguments& arguments) {
  if (arguments.resume)
    return earlier_run::resume;
  return arguments.overwrite ? earlier_run::replace : earlier_run::refuse;
}

int find_and_train(const job& x, run_folders& folders, const train_arguments& arguments,
                   const trainer& train, const finished_listener& on_finished) {
  auto data = load_data(x);
  auto start = find_start(x, *data, folders, print_message);
  if (!arguments.quiet)
    print_message(start.note);
  if (start.finished) {
    print_summary(*start.finished, folders.run(), arguments.json, nullptr);
    if (on_finished)
      on_finished(x, {std::move(data), nullptr, std::nullopt, {}, {}}, *start.finished);
    return 0;
  }
  return train_from(std::move(start), x, std::move(data), folders, arguments, train);
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

int run_training(const loaded_job& loaded, const train_arguments& arguments, const trainer& train,
                 const finished_listener& on_finished) {
  run_folders folders{loaded.value, treatment_of(arguments)};
  try {
    return find_and_train(loaded.value, folders, arguments, train, on_finished);
  } catch (const failure& error) {
    throw_with_place(error, loaded.places);
  }
}

int with_failure_object(bool json, const std::function<int(std::string& job_name)>& body) {
  std::string job_name;
  try {
    return body(job_name);
  } catch (const failure& error) {
    // When the result itself could not be printed, a second attempt would only follow half of it.
    if (json && error.where() != standard_output)
      print_failure_object(error, job_name);
    throw;
  } catch (const std::exception& error) {
    const failure internal{failure_code::internal, error.what(), {}, "please report this"};
    if (json)
      print_failure_object(internal, job_name);
    throw internal;
  }
}

} // namespace troupe
