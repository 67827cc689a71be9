#include "app/run/training_run.hpp"

#include "actors/run/job_data.hpp"
#include "actors/run/model_writer.hpp"
#include "actors/run/private_run.hpp"
#include "app/job/job_text.hpp"
#include "app/page/page_server.hpp"
#include "app/run/replay.hpp"
#include "app/run/run_description.hpp"
#include "app/run/run_start.hpp"
#include "app/run/signals.hpp"
#include "app/run/trace_output.hpp"
#include "app/terminal/output.hpp"
#include "app/terminal/progress.hpp"
#include "app/terminal/reports.hpp"
#include "coordinators/job/training_modes.hpp"
#include "data/disk/atomic_file.hpp"
#include "data/records/event_file.hpp"
#include "data/records/history_file.hpp"
#include "data/records/summary_file.hpp"
#include "data/records/tensorboard_file.hpp"
#include "data/run_folder/run_directory.hpp"
#include "data/text/failure.hpp"

#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>
#include <vector>

namespace troupe {

namespace {

// The files of a run that grow while it lasts: a reader sees each row and each event as soon as it
// is there. A disk that refuses one must not end the run: live_files gives that file up with one
// warning, and training goes on.

class live_files {
public:
  /// `earlier`: the rows that a resumed run goes on from, at `version`; nothing for one that begins. `warn` gets a
  /// whole line for a file that is given up. No file is touched before `begin`: until then the folder may be an
  /// earlier run's.
  live_files(const run_directory& folder, bool wants_tensorboard,
             std::optional<std::vector<history_row>> earlier, uint64_t version,
             std::function<void(const std::string&)> warn)
    : history_path_(folder.file(history_file_name)),
      rounds_path_(folder.file(rounds_file_name)),
      tensorboard_folder_(folder.file(tensorboard_folder_name)),
      event_path_(folder.file(event_file_name)),
      wants_tensorboard_(wants_tensorboard),
      earlier_(std::move(earlier)),
      version_(version),
      warn_(std::move(warn)) {}

  /// The folder is this run's: `event` is the first of this process's life. What came before is
  /// left out.
  void begin(const run_event& event) {
    history_.is_wanted = rounds_.is_wanted = events_.is_wanted = true;
    tensorboard_.is_wanted = wants_tensorboard_;
    add(event);
  }

  void add(const history_row& row) {
    const auto add_row = [&](auto& out) { out.add(row); };
    attempt(
      history_,
      [&](auto& out) { out.emplace(history_path_, earlier_.value_or(std::vector<history_row>{})); },
      add_row);
    attempt(
      tensorboard_, [&](auto& out) { out.emplace(tensorboard_folder_, earlier_); }, add_row);
    add({event_kind::row, row.steps, "epoch " + std::to_string(row.epoch) + " has a row"}, &row);
  }

  /// Federated rounds; of a run without them none.
  void add(const std::vector<round_record>& rounds) {
    if (!rounds.empty())
      attempt(
        rounds_, [&](auto& out) { out.emplace(rounds_path_, version_); },
        [&](auto& out) { out.add(rounds); });
  }

  void add(const run_event& event) { add(event, nullptr); }

private:
  // A file that is made when it is needed, until the disk refuses something.
  template <class Writer>
  struct growing {
    bool is_wanted = false;
    std::optional<Writer> out{};
  };
  template <class Writer, class Make, class Put>
  void attempt(growing<Writer>& file, const Make& make, const Put& put) {
    if (!file.is_wanted)
      return;
    try {
      if (!file.out)
        make(file.out);
      put(*file.out);
    } catch (const failure& error) {
      file.is_wanted = false;
      warn_("troupe: warning: " + std::string{error.what()} + '\n');
    }
  }

  void add(const run_event& event, const history_row* row) {
    const event_time now{std::chrono::steady_clock::now() - since_,
                         std::chrono::system_clock::now()};
    attempt(
      events_, [&](auto& out) { out.emplace(event_path_); },
      [&](auto& out) { out.add(event, now, row); });
  }

  std::string history_path_;
  std::string rounds_path_;
  std::string tensorboard_folder_;
  std::string event_path_;
  bool wants_tensorboard_;
  std::optional<std::vector<history_row>> earlier_;
  uint64_t version_;
  std::function<void(const std::string&)> warn_;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  growing<history_writer> history_;
  growing<rounds_writer> rounds_;
  growing<tensorboard_writer> tensorboard_;
  growing<event_writer> events_;
};

// How a run is asked for.
struct run_request {
  const train_arguments& arguments;
  const trainer& train;
  const finished_listener& on_finished;
  const run_place& where;
  const trace_output& records;
  const row_loader& load;
};

// Rounds that cannot be read for the page must not end the run.
std::vector<round_record> earlier_rounds(const run_directory& folder, uint64_t version) {
  try {
    return rounds_of_run(folder.path(), version);
  } catch (const failure& error) {
    print_message(std::string{"troupe: warning: "} + error.what() + '\n');
    return {};
  }
}

std::unique_ptr<live_page> page_of(const run_request& asked, const job& x,
                                   const training_inputs& inputs, const run_directory& folder) {
  if (!asked.arguments.dashboard)
    return nullptr;
  const auto& from = inputs.resume_from;
  auto result = std::make_unique<live_page>(
    *asked.arguments.dashboard, x.name, from ? from->history : std::vector<history_row>{},
    from ? earlier_rounds(folder, from->version) : std::vector<round_record>{});
  print_message("page      " + result->address() + '\n');
  return result;
}

run_event begin_of(const training_inputs& inputs) {
  const auto& from = inputs.resume_from;
  return from ? run_event{event_kind::resume, from->version,
                          "training goes on from the checkpoint of step " +
                            std::to_string(from->version)}
              : run_event{event_kind::begin, 0, "training begins"};
}

run_event end_of(const training_result& result) {
  const auto& summary = result.summary;
  return {result.problem ? event_kind::failed : event_kind::end, summary.steps,
          result.problem.value_or("the result is that of step " + std::to_string(summary.steps) +
                                  "; stopped by " + summary.stopped_by)};
}

// The begin and the end of a run are events too.
void note_begin_and_end(training_inputs& inputs, live_files& files) {
  inputs.on_ready = [&files, event = begin_of(inputs), begin = std::move(inputs.on_ready)] {
    begin();
    files.begin(event);
  };
  inputs.keep = [&files, keep = std::move(inputs.keep)](training_result& result) {
    files.add(end_of(result));
    keep(result);
  };
}

// The display outlives the training: a line that it left open is then ended. `has_trained` becomes
// true with the first reported step.
training_result train_with_progress(const job& x, training_inputs inputs, const run_request& asked,
                                    const run_directory& folder, bool& has_trained) {
  const auto& start = inputs.resume_from;
  live_files files{folder, asked.arguments.tensorboard,
                   start ? std::optional{start->history} : std::nullopt, start ? start->version : 0,
                   print_message};
  note_begin_and_end(inputs, files);
  uint64_t version = start ? start->version : 0;
  const auto page = page_of(asked, x, inputs, folder);
  std::optional<progress_display> display;
  if (!asked.arguments.quiet)
    display.emplace(stderr, style_for(stderr));
  const auto say = [&](const std::string& line) {
    files.add({event_kind::news, version, line});
    if (page)
      page->show_event(line);
    if (!display)
      return;
    display->end_line();
    log_news(line);
  };
  inputs.on_news = say;
  if (page)
    inputs.on_status = [&page](const training_status& status) { page->show(status); };
  inputs.stop_requested = [] { return stop_signal() != 0; };
  inputs.on_progress = [&](const training_progress& progress) {
    version = progress.version;
    has_trained = has_trained || version > 0;
    if (progress.finished_epoch) {
      files.add(*progress.finished_epoch);
      files.add(progress.rounds);
      if (page) {
        page->show_row(*progress.finished_epoch);
        page->show_rounds(progress.rounds);
      }
    }
    if (!progress.notice.empty())
      say(progress.notice);
    else if (display)
      display->show(progress);
  };
  try {
    return asked.train(x, std::move(inputs));
  } catch (const failure& error) {
    files.add({event_kind::failed, version, error.what()});
    throw;
  }
}

// A run that trained nothing leaves no folder in the way of others.
training_result train_in(const run_folders& folders, const job& x, training_inputs inputs,
                         const run_request& asked) {
  bool has_trained = false;
  try {
    return train_with_progress(x, std::move(inputs), asked, folders.run(), has_trained);
  } catch (const std::exception&) {
    if (!has_trained)
      folders.take_back();
    throw;
  }
}

// The model first, into the room that was taken for it: so a full disk costs as little as possible.
// The summary last, after all others: it makes a run finished.
void write_files(const run_directory& folder, atomic_file& model, training_result& result,
                 const failure* error) {
  auto& summary = result.summary;
  std::optional<failure> first;
  const auto attempt = [&](const auto& write) {
    try {
      write();
    } catch (const failure& found) {
      if (!first)
        first = found;
    }
  };
  attempt([&] {
    summary.parameters_sha256 = write_model(model, result);
    summary.model_file = model.path();
  });
  attempt(
    [&] { write_file_atomically(folder.file(history_file_name), history_text(result.history)); });
  attempt([&] { write_file_atomically(folder.file(job_file_name), job_text(result.resolved)); });
  if (!first)
    attempt([&] {
      write_file_atomically(folder.file(summary_file_name),
                            summary_json(summary, json_layout::indented, error));
    });
  if (first && !summary.model_file.empty())
    throw failure(first->code(), first->reason() + "; the model is kept in " + model.path(),
                  first->where(), first->hint());
  if (first)
    throw failure(*first);
}

std::optional<failure> divergence_of(const training_result& result, const std::string& job_name) {
  if (!result.problem)
    return std::nullopt;
  return failure{failure_code::diverged, *result.problem, job_name,
                 std::string{"lower optimizer.learning_rate; the model holds the "} +
                   (result.summary.best_version ? "best" : "last finite") + " parameters"};
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

void describe(const job& x, const prepared_data& data, const run_place& where) {
  const auto found = describe_run(x, data, std::thread::hardware_concurrency(), where);
  print_message(found.text);
  for (const auto& warning : found.warnings)
    print_message("troupe: warning: " + warning + '\n');
}

// Of a run that was stopped. A checkpoint that is missing is told under --quiet too.
void print_way_on(const checkpoint_store& store, const training_result& result, bool quiet) {
  const uint64_t end = result.history.empty() ? 0 : result.history.back().steps;
  const auto versions = store.versions();
  const auto newest = versions.empty() ? 0 : versions.back();
  const auto way_on = newest > 0 ? "--resume goes on from step " + std::to_string(newest) + '\n'
                      : end > 0  ? "--resume cannot go on\n"
                                 : "--resume begins anew\n";
  if (newest < end)
    print_message("troupe: warning: there is no checkpoint of step " + std::to_string(end) + ": " +
                  way_on);
  else if (!quiet)
    print_message("stopped   " + way_on);
}

/// The rows of a job, and, where nodes have rows of their own, what they have agreed on.
struct loaded_rows {
  std::shared_ptr<const prepared_data> data;
  std::string table;
};

int train_from(run_start start, const job& x, loaded_rows rows, run_folders& folders,
               const run_request& asked) {
  const auto& arguments = asked.arguments;
  atomic_file model{folders.run().file(model_file_name)};
  model.reserve(start.model_file_bytes);
  std::optional<failure> error;
  training_inputs inputs;
  inputs.data = std::move(rows.data);
  inputs.table = rows.table;
  inputs.resume_from = std::move(start.resume_from);
  inputs.checkpoints = folders.checkpoints();
  inputs.trace = asked.records.trace();
  if (!is_reproducible(x.training))
    inputs.decisions.file = folders.run().file(sequence_file_name);
  else if (x.federated.has_port())
    inputs.decisions.file = folders.run().file(clients_file_name);
  std::optional<recorded_run> recorded;
  if (!arguments.replay.empty()) {
    recorded = read_recorded_run(arguments.replay);
    expect_same_job(*recorded, start.identity);
    inputs.decisions.replay = recorded->decisions;
    inputs.decisions.rounds = recorded->rounds;
  }
  inputs.scratch_folder =
    folders.checkpoints()->directory(); // which is cleared of what is left there
  // From here on the earlier run is gone: this one can be trained.
  inputs.on_ready = [&] {
    folders.begin(job_text(x), start.identity);
    if (!rows.table.empty())
      write_file_atomically(folders.run().file(table_file_name), rows.table);
    asked.records.take_in();
  };
  if (!arguments.quiet)
    describe(x, *inputs.data, asked.where);
  inputs.keep = [&](training_result& result) {
    error = divergence_of(result, x.name);
    write_files(folders.run(), model, result, error ? &*error : nullptr);
  };
  const auto result = train_in(folders, x, std::move(inputs), asked);
  if (error)
    print_message(error_text(*error));
  if (result.resolved.training.threshold != threshold_kind::none && !result.threshold)
    print_message("troupe: warning: training.threshold: no threshold reaches that on the "
                  "validation rows, so the "
                  "likeliest class is decided for\n");
  print_summary(result.summary, folders.run(), arguments.json, error ? &*error : nullptr);
  if (arguments.stats)
    print_statistics(result, arguments.json);
  if (recorded && stop_signal() == 0)
    print_message("replay    " + outcome_of_replay(*recorded, result.summary) + '\n');
  if (result.summary.stopped_by == name_of(stop_reason::interrupt))
    print_way_on(*folders.checkpoints(), result, arguments.quiet);
  if (error)
    return static_cast<int>(failure_code::diverged);
  return stop_signal() != 0 ? 128 + stop_signal() : 0;
}

earlier_run treatment_of(const train_arguments& arguments) {
  if (arguments.resume)
    return earlier_run::resume;
  return arguments.overwrite ? earlier_run::replace : earlier_run::refuse;
}

int find_and_train(const job& x, run_folders& folders, const run_request& asked) {
  const auto& [arguments, train, on_finished, where, records, load] = asked;
  loaded_rows rows;
  if (arguments.resume && folders.run().has(table_file_name)) {
    std::ifstream in{folders.run().file(table_file_name), std::ios::binary};
    rows.table.assign(std::istreambuf_iterator<char>{in}, {});
  }
  rows.data = load ? load(x, rows.table) : load_data(x, [] { return stop_signal() != 0; });
  auto start = find_start(x, *rows.data, folders, print_message, where);
  if (!arguments.quiet)
    print_message(start.note);
  if (start.finished) {
    print_summary(*start.finished, folders.run(), arguments.json, nullptr);
    if (!on_finished)
      return 0;
    training_inputs inputs;
    inputs.data = std::move(rows.data);
    inputs.table = std::move(rows.table);
    inputs.stop_requested = [] { return stop_signal() != 0; };
    on_finished(x, std::move(inputs), *start.finished);
    return 0;
  }
  return train_from(std::move(start), x, std::move(rows), folders, asked);
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

// A command that SIGTERM stopped ends with that signal's code, wherever the stop showed.
int with_code_of_signal(const std::function<int(std::string&)>& body, std::string& job_name) {
  try {
    return body(job_name);
  } catch (const failure& error) {
    const auto told = with_signal(error);
    if (told.code() == error.code())
      throw; // it may be more than a failure: every error of a job
    throw told;
  }
}

} // namespace

int run_training(const loaded_job& loaded, const train_arguments& arguments, const trainer& train,
                 const finished_listener& on_finished, const run_place& where,
                 const row_loader& load) {
  run_folders folders{loaded.value, treatment_of(arguments)};
  const auto process = where.cluster.nodes.empty() ? std::string{only_process_name}
                                                   : where.cluster.nodes.at(*where.own).name;
  const trace_output records{arguments, loaded.value, process, {true, where.has_all_nodes}};
  try {
    return find_and_train(with_key(loaded.value), folders,
                          {arguments, train, on_finished, where, records, load});
  } catch (const failure& error) {
    throw_with_place(error, loaded);
  }
}

int with_failure_object(bool json, const std::function<int(std::string& job_name)>& body) {
  std::string job_name;
  try {
    return with_code_of_signal(body, job_name);
  } catch (const failure& error) {
    // When the result itself could not be printed, a second attempt would only follow half of it.
    if (json && error.where() != standard_output)
      print_failure_object(error, job_name);
    throw;
  } catch (const std::exception& error) {
    const auto unexpected = as_failure(error);
    if (json)
      print_failure_object(unexpected, job_name);
    throw unexpected;
  }
}

int with_failure_object(bool json, const std::function<int()>& command) {
  return with_failure_object(json, [&](std::string&) { return command(); });
}

} // namespace troupe
