// The commands of `troupe`: each a function from its arguments to an exit code, or one that adds the command with
// its options to the command line. They throw failure; main prints it and turns its code into the exit code.

#pragma once

#include "app/page/page_place.hpp"
#include "data/formats/csv/csv_options.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace troupe {

struct train_arguments {
  std::string job_file;
  std::vector<std::string> sets; ///< "a.b=value", in order
  bool json = false;
  bool quiet = false;
  bool resume = false; ///< not with `overwrite`
  bool overwrite = false;
  std::string replay;       ///< folder of an asynchronous run to repeat, with its job; empty: none
  bool stats = false;       ///< also print which replica waited for which
  bool tensorboard = false; ///< also write the history for TensorBoard
  std::string trace;        ///< file of the run's timeline; empty: none is wanted
  std::optional<page_place> dashboard{}; ///< where the page of the run is served; nothing: nowhere
  std::string flight = "/dev/shm"; ///< folder of the flight recorder's file; "off": none is kept
};

/// Trains a job and writes its run directory. 0; 1 when training diverged; 130 or 143 when a signal
/// ended it early. Prints the summary, or with `json` exactly one object, failures included.
int train_command(const train_arguments& arguments);

/// What one process of a cluster is started with; `run.job_file` is the cluster file.
struct node_arguments {
  train_arguments run;
  std::string name; ///< empty: by rank (node_choice.hpp), else that of this machine
  /// From `troupe launch`: "NAME=HOST:PORT" instead of what the file says, and a socket that is
  /// bound to the node's own address and does not listen yet; -1: none.
  std::vector<std::string> addresses;
  int inherited_listen_fd = -1;
};

/// Takes part in a run as one of the nodes of a cluster. The director does what train_command does.
/// Any other node writes no file and nothing to standard output. It gives 0 once the director has
/// ended the run, 130 or 143 when a signal made it leave.
struct client_arguments {
  std::string server, data, name, server_name;
  std::vector<std::string> sets;
  std::string ca, certificate, key; ///< empty: the connection is plain
  uint64_t patience = 3'600;        ///< seconds
  bool quiet = false;
};

int client_command(const client_arguments& arguments);

int node_command(const node_arguments& arguments);

/// Starts every node of a cluster file as a process of its own and waits for all of them. Gives the
/// director's exit code, or that of a node which refused to take part.
int launch_command(const train_arguments& arguments);

struct status_arguments {
  std::string cluster_file;
  std::vector<std::string> sets; ///< as those of the cluster that runs
  bool json = false;
  bool explains = false;        ///< only why nothing moves
  std::string certificate_file; ///< to ask with; empty: a node's that can be read here
  std::string key_file;
};

/// Asks the director of a running cluster how training goes and prints a report, or with `json` one
/// object, failures included. Takes no part in the run.
int status_command(const status_arguments& arguments);

struct watch_arguments {
  std::string target; ///< a cluster file, or the folder of a run
  page_place page;
  std::vector<std::string> sets;
  std::string certificate_file; ///< to ask a secured cluster with, as in status_arguments
  std::string key_file;
};

/// Serves the page of a cluster that runs, or of a run that has ended, until it is interrupted.
int watch_command(const watch_arguments& arguments);

/// A data file ("-": standard input) for a trained model: what is known of its format and columns.
struct data_arguments {
  std::string file;
  std::string format = "auto";             ///< "auto" or the format's name
  std::string target;                      ///< the target's column; empty: by the model
  std::vector<std::string> ignore;         ///< to convert: columns that are no features
  std::string header = "auto";             ///< csv: "auto", "yes" or "no"
  std::optional<size_t> index_base;        ///< libsvm: 0 or 1; absent: the model's, else 1
  std::string labels_file;                 ///< idx, npy: the targets; empty: by name, else a column
  std::optional<csv_dialect> dialect = {}; ///< csv: absent: that of the model's own file
};

struct evaluate_arguments {
  std::string model_file; ///< or the folder of a run
  data_arguments data;    ///< no file: rows of the model's own run
  std::string rows;       ///< which of these: "train", "validation" or "test"; empty: test
  bool json = false;
};

/// Prints how well a model predicts a file with targets: a report, or with `json` one object,
/// failures included.
int evaluate_command(const evaluate_arguments& arguments);

/// What a model of characters is to write.
struct generation_options {
  size_t count = 0;        ///< characters to write
  std::string prompt = {}; ///< what they follow, UTF-8; of a long one the last window counts
  uint64_t seed = 0;       ///< of the draws: (seed, number of the character)
  bool is_greedy = false;  ///< the likeliest character each time, and nothing is drawn
};

struct predict_arguments {
  std::string model_file;        ///< or the folder of a run
  data_arguments data;           ///< its targets, if it has any, are left out
  std::string rows;              ///< without data, as in evaluate_arguments; empty: none
  std::vector<std::string> keep; ///< csv: columns whose cells stand beside each prediction
  std::string output_file;       ///< .csv or .npy; empty: standard output, as CSV
  bool probabilities = false;
  generation_options generate; ///< no characters: rows of `data` are predicted
};

/// Writes one prediction for each row of a file, with or without targets; the file may be larger
/// than memory. Or prints characters that a model of a text writes.
int predict_command(const predict_arguments& arguments);

/// Prints what a model file holds: a report, or with `json` one object, failures included.
int inspect_command(const std::string& model_file, bool json);

struct importance_arguments {
  std::string model_file;    ///< or the folder of a run
  std::string rows = "test"; ///< which of the run's rows
  size_t repeats = 5;
  uint64_t seed = 0;
  bool json = false;
};

/// Adds `troupe importance`: which columns a model goes by. It writes importance.json into the run's folder.
void add_importance(CLI::App& app, importance_arguments& x, std::function<int()>& chosen);

struct init_arguments {
  std::string file;
  std::string output; ///< the job; empty: the file's name with .toml, here; "-": standard output
  std::string target; ///< empty: guessed
  std::string date_order; ///< "day-first" or "month-first"; empty: guessed
  std::string header = "auto";
  bool overwrite = false;
};

/// Adds `init` to `app`: it writes a commented job for a CSV file, and says what was taken for what.
void add_init(CLI::App& app, init_arguments& x, std::function<int()>& chosen);

struct convert_arguments {
  data_arguments data;
  std::string output;
  std::string targets = "auto"; ///< "auto", "classes" or "numbers"
  uint64_t chunk_rows = 0;      ///< 0: about 1 MiB of rows
  bool shuffle = false;
  uint64_t seed = 0; ///< of the shuffle
  bool overwrite = false;
  bool quiet = false;
};

struct split_arguments {
  std::string file;
  std::string output; ///< PREFIX of PREFIX-0.safetensors, ..
  size_t parts = 0;   ///< files of neighbouring rows, as equal as can be
  bool overwrite = false;
};

struct table_arguments {
  std::string job;
  std::vector<std::string> sets;
  std::string output;
  bool overwrite = false;
};

/// What was given to `data`, which works on files of rows for training (data/rows_file/rows_header.hpp).
struct data_line {
  convert_arguments convert;
  split_arguments split;
  table_arguments table;
  std::string file;
  bool json = false;
  bool quiet = false;
};

/// Adds `data` to `app`; what of it is called puts itself into `chosen`.
void add_data(CLI::App& app, data_line& x, std::function<int()>& chosen);

struct certs_arguments {
  std::string name;               ///< of the authority
  std::vector<std::string> names; ///< of nodes
  std::string file;               ///< `check`
  uint32_t days = 0;              ///< for which the certificate is good
  bool overwrites = false;        ///< replaces files that are there
};

/// What was given to `certs`.
struct certs_line {
  certs_arguments authority{"troupe cluster", {}, {}, 3650, false};
  certs_arguments node{{}, {}, {}, 365, false};
};

/// Adds `certs` to `app`; what of it is called puts itself into `chosen`.
void add_certs(CLI::App& app, certs_line& x, std::function<int()>& chosen);

struct show_arguments {
  std::string file;
  std::vector<std::string> sets;
  bool plan = false;
  bool json = false; ///< with `plan` only
};

/// Adds the option --set, with one value each time it is given.
void add_sets(CLI::App& command, std::vector<std::string>& sets);

/// Adds `config` to `app`; what of it is called puts itself into `chosen`.
void add_config(CLI::App& app, show_arguments& x, std::function<int()>& chosen);

/// Of `trace`: timelines that runs have written with --trace, and what flight recorders hold.
struct trace_arguments {
  std::vector<std::string> files; ///< timelines to merge
  std::string output;
  std::string flight;  ///< a flight recorder's file, to show
  size_t records = 20; ///< of each actor
  bool json = false;
};

/// Adds `trace` to `app`; the subcommand that is called puts itself into `chosen`. One merges the timelines
/// of a run's processes into one, on the director's clock, and prints how exact it is. The other prints what
/// the actors of a process did last, or with `json` all of it as one object.
void add_trace(CLI::App& app, trace_arguments& x, std::function<int()>& chosen);

struct doctor_arguments {
  std::string file; ///< a job or cluster file; empty: the machine alone
  std::vector<std::string> sets;
  bool json = false;
};

/// Says whether this machine can take part: a line for each check, or with `json` one object. 0, or
/// the exit code that the first failed check would give a run.
int doctor_command(const doctor_arguments& arguments);

/// Prints versions, the arithmetic and the instructions that products use.
int version_command(bool json);

} // namespace troupe
