#include "app/commands/run_command.hpp"

#include "app/commands/commands.hpp"
#include "app/job/job_text.hpp"
#include "app/page/page_place.hpp"
#include "app/run/signals.hpp"
#include "app/terminal/output.hpp"
#include "app/tools/tool_lines.hpp"
#include "models/keys/closest_name.hpp"
#include "troupe/version.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <functional>

namespace {

using troupe::failure;
using troupe::failure_code;

// The program's commands, and which one the user chose.
struct command_line {
  CLI::App app{"Trains models with a company of actors.", "troupe"};
  troupe::train_arguments train; // of `launch` too
  troupe::node_arguments node;
  troupe::client_arguments client;
  troupe::status_arguments status;
  troupe::watch_arguments watch;
  troupe::doctor_arguments doctor;
  troupe::show_arguments show;
  troupe::evaluate_arguments evaluate;
  troupe::predict_arguments predict;
  troupe::init_arguments init;
  troupe::importance_arguments importance;
  troupe::data_line data;
  troupe::certs_line certs;
  troupe::trace_arguments trace;
  troupe::tool_line tools;
  std::string file;
  bool json = false;
  std::function<int()> chosen;
};

// What `train`, `node` and `launch` have in common.
void add_run_options(CLI::App& command, troupe::train_arguments& x) {
  troupe::add_sets(command, x.sets);
  command.add_flag("--json", x.json, "Prints the result as one JSON object");
  command.add_flag("--quiet", x.quiet, "Shows no progress");
  command.add_flag("--stats", x.stats, "Also prints who computed, waited and came late");
  troupe::add_page_options(command, x.dashboard);
  command.add_option("--flight", x.flight, "Folder for what actors did last, /dev/shm; off: none")
    ->type_name("FOLDER");
  command
    .add_option("--trace", x.trace, "Writes a timeline of all actors' work, for ui.perfetto.dev")
    ->type_name("FILE");
  command.add_flag("--tensorboard", x.tensorboard, "Also writes the history for TensorBoard");
  auto* resume = command.add_flag("--resume", x.resume, "Continues a run from its checkpoint");
  command.add_flag("--overwrite", x.overwrite, "Replaces a run in the same directory")
    ->excludes(resume);
}

void add_train(command_line& x) {
  auto* train = x.app.add_subcommand("train", "Trains the model that a job file describes");
  auto* job =
    train->add_option("job", x.train.job_file, "The job file; 'troupe config keys' lists its keys")
      ->type_name("JOB.toml");
  auto* replay =
    train
      ->add_option("--replay", x.train.replay,
                   "Repeats an asynchronous run, bit for bit, with the job in its folder")
      ->type_name("RUN");
  add_run_options(*train, x.train);
  train->parse_complete_callback([job, replay] {
    if (job->empty() && replay->empty())
      throw CLI::RequiredError("job");
    if (!job->empty() && !replay->empty())
      throw CLI::ExcludesError("--replay", "job");
  });
  train->footer("Example:\n  troupe train examples/digits.toml --set training.epochs=5");
  train->callback([&x] { x.chosen = [&x] { return troupe::train_command(x.train); }; });
}

void add_cluster_file(CLI::App& command, std::string& file) {
  command.add_option("cluster", file, "The cluster file (docs/clusters.md)")
    ->required()
    ->type_name("CLUSTER.toml");
}

void add_launch(command_line& x) {
  auto* launch = x.app.add_subcommand("launch", "Starts every node of a cluster on this machine");
  add_cluster_file(*launch, x.train.job_file);
  add_run_options(*launch, x.train);
  launch->footer("Example:\n  troupe launch examples/cluster/two_nodes.toml");
  launch->callback([&x] { x.chosen = [&x] { return troupe::launch_command(x.train); }; });
}

void add_node(command_line& x) {
  auto* node = x.app.add_subcommand("node", "Takes part in a run as one node of a cluster");
  add_cluster_file(*node, x.node.run.job_file);
  node
    ->add_option("--name", x.node.name,
                 "Which node; by default that of the process's rank, or the machine's")
    ->type_name("NAME");
  add_run_options(*node, x.node.run);
  node
    ->add_option("--address", x.node.addresses,
                 "Where a node is dialled, in place of what the file says; of one that the file "
                 "does not list, what it is "
                 "to tell the others")
    ->allow_extra_args(false)
    ->type_name("NAME=HOST:PORT");
  // For `launch` only: the empty group hides it from --help.
  node->add_option("--inherited-listen-fd", x.node.inherited_listen_fd)->group("");
  node->footer("Example:\n  troupe node cluster.toml --name main");
  node->callback([&x] { x.chosen = [&x] { return troupe::node_command(x.node); }; });
}

void add_client(command_line& x) {
  auto* client = x.app.add_subcommand("client", "Takes part in federated rounds with its own rows");
  auto& own = x.client;
  client->add_option("server", own.server, "Where the server listens (federated.listen)")
    ->required()
    ->type_name("HOST:PORT");
  client->add_option("--data", own.data, "The client's rows, which stay here")
    ->required()
    ->type_name("FILE");
  client->add_option("--set", own.sets, "How they are read: --set data.separator=';'")
    ->allow_extra_args(false)
    ->type_name("data.KEY=VALUE");
  client
    ->add_option("--name", own.name,
                 "The client's name; by default the certificate's, or the file's without extension")
    ->type_name("NAME");
  auto* ca =
    client->add_option("--ca", own.ca, "Of the authority that signed the server's certificate")
      ->type_name("FILE");
  auto* certificate = client->add_option("--certificate", own.certificate, "Proves the name")
                        ->type_name("FILE")
                        ->needs(ca);
  auto* key = client->add_option("--key", own.key, "Belongs to the certificate")
                ->type_name("FILE")
                ->needs(certificate);
  ca->needs(key);
  client
    ->add_option("--server-name", own.server_name,
                 "What the server's certificate is for; by default HOST")
    ->type_name("NAME")
    ->needs(ca);
  client
    ->add_option("--patience", own.patience, "Seconds to dial a server that is not there (3600)")
    ->type_name("N");
  client->add_flag("--quiet", own.quiet, "Says nothing of rounds");
  client->footer("Example:\n  troupe client localhost:7070 --data clients/north.csv");
  client->callback([&x] { x.chosen = [&x] { return troupe::client_command(x.client); }; });
}

// Adds the options for asking a secured cluster.
template <class Arguments>
void add_visit_options(CLI::App& command, Arguments& x) {
  auto* certificate =
    command.add_option("--certificate", x.certificate_file, "To ask a secured cluster with")
      ->type_name("FILE");
  auto* key =
    command.add_option("--key", x.key_file, "Belongs to the certificate")->type_name("FILE");
  certificate->needs(key);
  key->needs(certificate);
}

void add_status(command_line& x) {
  auto* status = x.app.add_subcommand("status", "Says how training goes on a running cluster");
  add_cluster_file(*status, x.status.cluster_file);
  troupe::add_sets(*status, x.status.sets);
  status->add_flag("--json", x.status.json, "Prints one JSON object");
  status->add_flag("--explain", x.status.explains, "Prints only who holds up the run, and why");
  add_visit_options(*status, x.status);
  status->footer("Example:\n  troupe status examples/cluster/two_nodes.toml");
  status->callback([&x] { x.chosen = [&x] { return troupe::status_command(x.status); }; });
}

void add_watch(command_line& x) {
  auto* watch = x.app.add_subcommand("watch", "Shows a run in a browser");
  watch->add_option("target", x.watch.target, "A cluster file, or the folder of a run")
    ->required()
    ->type_name("CLUSTER.toml|RUN");
  troupe::add_page_options(*watch, x.watch.page);
  troupe::add_sets(*watch, x.watch.sets);
  add_visit_options(*watch, x.watch);
  watch->footer("Example:\n  troupe watch runs/digits");
  watch->callback([&x] { x.chosen = [&x] { return troupe::watch_command(x.watch); }; });
}

// What the keys data.format, target, header and index_base of a job say of its data.
void add_data_options(CLI::App& command, troupe::data_arguments& x) {
  command.add_option("--format", x.format, "auto, csv, libsvm, idx, npy, rows or text")
    ->type_name("FORMAT");
  command.add_option("--target", x.target, "The target's column: \"last\", a name or an index")
    ->type_name("COLUMN");
  command.add_option("--header", x.header, "csv: whether row 1 is a header: auto, yes or no")
    ->type_name("WHEN");
  command
    .add_option("--index-base,--index_base", x.index_base,
                "libsvm: the index of the first feature, 0 or 1")
    ->type_name("INDEX");
}

// The two files and what is known of their columns, alike for `evaluate` and `predict`.
template <class Arguments>
CLI::Option* add_model_and_data(CLI::App& command, Arguments& x, const std::string& about_data) {
  command.add_option("model", x.model_file, "A trained model, as 'troupe train' wrote it")
    ->required()
    ->type_name("MODEL");
  auto* data = command.add_option("data", x.data.file, about_data)->type_name("DATA");
  add_data_options(command, x.data);
  return data;
}

void add_evaluate(command_line& x) {
  auto* evaluate = x.app.add_subcommand("evaluate", "Says how well a model predicts");
  add_model_and_data(
    *evaluate, x.evaluate,
    "Rows with features and targets, in any format, '-' to read them from standard "
    "input; without it those that the model's own run kept aside");
  evaluate->add_option("--rows", x.evaluate.rows, "Without DATA: test, validation or train")
    ->type_name("PART");
  evaluate
    ->add_option("--labels-file,--labels_file", x.evaluate.data.labels_file,
                 "idx, npy: the file of the targets")
    ->type_name("FILE");
  evaluate->add_flag("--json", x.evaluate.json, "Prints one JSON object");
  evaluate->footer("Example:\n  troupe evaluate runs/digits\n  troupe evaluate "
                   "runs/digits/model.safetensors digits.csv.gz");
  evaluate->callback([&x] { x.chosen = [&x] { return troupe::evaluate_command(x.evaluate); }; });
}

void add_predict(command_line& x) {
  auto* predict = x.app.add_subcommand("predict", "Predicts every row of a file");
  add_model_and_data(*predict, x.predict,
                     "Rows with the model's features, in any format; '-' reads standard input");
  predict
    ->add_option("--rows", x.predict.rows,
                 "In place of DATA: those of the model's own run: test, validation or train")
    ->type_name("PART");
  predict
    ->add_option("--keep", x.predict.keep,
                 "Columns of DATA, by name or index, whose cells stand before each prediction; CSV")
    ->delimiter(',')
    ->allow_extra_args(false)
    ->type_name("COLUMN,..");
  predict->add_option("-o,--output", x.predict.output_file, "Writes FILE: .csv or .npy")
    ->type_name("FILE");
  predict->add_flag("--probabilities", x.predict.probabilities, "Adds each class's probability");
  auto& generate = x.predict.generate;
  auto* count =
    predict
      ->add_option("--generate", generate.count,
                   "In place of DATA: prints so many characters that a model of a text writes")
      ->type_name("N");
  predict->add_option("--prompt", generate.prompt, "What they follow")
    ->type_name("TEXT")
    ->needs(count);
  predict->add_option("--seed", generate.seed, "Of the draws (0)")->type_name("N")->needs(count);
  predict->add_flag("--greedy", generate.is_greedy, "The likeliest ones: nothing is drawn")
    ->needs(count);
  predict->footer("Example:\n  troupe predict runs/digits new.csv -o out.csv\n  "
                  "troupe predict runs/churn --rows test --keep customer_id --probabilities");
  predict->callback([&x] { x.chosen = [&x] { return troupe::predict_command(x.predict); }; });
}

void add_inspect(command_line& x) {
  auto* inspect = x.app.add_subcommand("inspect", "Shows what a model file holds");
  inspect->add_option("model", x.file, "A trained model")->required()->type_name("MODEL");
  inspect->add_flag("--json", x.json, "Prints one JSON object");
  inspect->footer("Example:\n  troupe inspect runs/digits/model.safetensors");
  inspect->callback([&x] { x.chosen = [&x] { return troupe::inspect_command(x.file, x.json); }; });
}

void add_doctor(command_line& x) {
  auto* doctor = x.app.add_subcommand("doctor", "Says whether a run would work on this machine");
  doctor->add_option("file", x.doctor.file, "A job or cluster file")->type_name("FILE");
  troupe::add_sets(*doctor, x.doctor.sets);
  doctor->add_flag("--json", x.doctor.json, "Prints one JSON object");
  doctor->footer("Example:\n  troupe doctor examples/cluster/two_nodes.toml");
  doctor->callback([&x] { x.chosen = [&x] { return troupe::doctor_command(x.doctor); }; });
}

void add_version(command_line& x) {
  auto* version = x.app.add_subcommand("version", "Prints versions, arithmetic and instructions");
  version->add_flag("--json", x.json, "Prints one JSON object");
  version->footer("Example:\n  troupe version --json");
  version->callback([&x] { x.chosen = [&x] { return troupe::version_command(x.json); }; });
}

// A number with a sign would be read as one beyond counting.
void require_whole_numbers(CLI::App& command) {
  const auto problem = [](const std::string& text) {
    const bool is_odd = text.find_first_not_of("0123456789") != text.npos;
    return is_odd ? "expected a whole number of 0 or more, got '" + text + "'" : "";
  };
  for (auto* option : command.get_options())
    if (const auto type = option->get_type_name() + ':'; // what else is checked stands behind it
        type.starts_with("N:") || type.starts_with("UINT:"))
      option->check(problem);
  for (auto* inner : command.get_subcommands([](const CLI::App*) { return true; }))
    require_whole_numbers(*inner);
}

// Names of a command's commands and long options, for suggestions.
std::vector<std::string> words_of(const CLI::App& command) {
  std::vector<std::string> result;
  for (const auto* inner : command.get_subcommands([](const CLI::App*) { return true; }))
    result.push_back(inner->get_name());
  for (const auto* option : command.get_options())
    for (const auto& name : option->get_lnames())
      result.push_back("--" + name);
  return result;
}

// The key that an option like "--epochs" or "-o" of a command that takes --set may have meant, and how to
// say so: with the value that came with it.
std::string set_hint(const CLI::App& command, const std::string& word, const char* next) {
  const size_t equals = word.find('=');
  if (!command.get_option_no_throw("--set") || !word.starts_with("-"))
    return {};
  const size_t dashes = word.starts_with("--") ? 2 : 1;
  std::string name = word.substr(dashes, equals - dashes);
  std::ranges::replace(name, '-', '_');
  const auto key = troupe::key_called(name);
  if (!key)
    return {};
  const std::string value = equals != word.npos    ? word.substr(equals + 1)
                            : next && *next != '-' ? next
                                                   : "VALUE";
  return "keys of a job are set by --set " + *key + "=" + value;
}

// The failure for a refused command line: most often its reason is the first word that the
// innermost given command does not know.
failure usage_failure(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  const CLI::App* command = &app;
  std::string path = app.get_name();
  const auto see = [&] { return "see '" + path + " --help'"; };
  const auto usage_of = [](const std::string& what, const std::string& hint) {
    return failure{failure_code::usage, what, {}, hint};
  };
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (const auto found = command->get_subcommands(
          [&](const CLI::App* inner) { return inner->get_name() == word; });
        !found.empty()) {
      command = found.front();
      path += " " + word;
      continue;
    }
    const auto words = words_of(*command);
    const auto name = word.substr(0, word.find('='));
    const bool is_word = command->get_option_no_throw(name) != nullptr;
    if (const auto hint = is_word ? "" : set_hint(*command, word, argv[i + 1]); !hint.empty())
      return usage_of("there is no option '" + word + "'", hint);
    if (command->get_option_no_throw("--set") && name.size() < word.size() && name[0] != '-' &&
        std::string_view{argv[i - 1]}.find('=') != name.npos)
      return usage_of("'" + word + "' is no option",
                      "each key has a --set of its own: --set " + word);
    const auto hint = troupe::did_you_mean(word, words);
    if (command->get_require_subcommand_min() > 0 && !word.starts_with("-"))
      return usage_of("unknown command '" + word + "'", hint.empty() ? see() : hint);
    if (!hint.empty() && !is_word)
      return usage_of(error.what(), hint);
  }
  return usage_of(error.what(), see());
}

int parse_and_run(int argc, char** argv) {
  command_line line;
  line.app.require_subcommand(1);
  line.app.footer("Example:\n  troupe train examples/digits.toml");
  line.app.set_version_flag("--version", "troupe " TROUPE_VERSION, "Prints the version");
  add_train(line);
  add_launch(line);
  add_node(line);
  add_client(line);
  add_status(line);
  add_watch(line);
  add_evaluate(line);
  add_predict(line);
  add_inspect(line);
  troupe::add_compare(line.app, line.tools, line.chosen);
  troupe::add_sweep(line.app, line.tools, line.chosen);
  troupe::add_importance(line.app, line.importance, line.chosen);
  troupe::add_init(line.app, line.init, line.chosen);
  troupe::add_data(line.app, line.data, line.chosen);
  troupe::add_config(line.app, line.show, line.chosen);
  add_doctor(line);
  troupe::add_certs(line.app, line.certs, line.chosen);
  troupe::add_trace(line.app, line.trace, line.chosen);
  add_version(line);
  troupe::add_tool_services(line.app, line.tools, line.chosen);
  require_whole_numbers(line.app);
  // `troupe` alone and `troupe help COMMAND` ask for help; the parser takes the last word first.
  std::vector<std::string> words{argv + std::min(argc, 1), argv + argc};
  std::ranges::reverse(words);
  if (words.empty() || words.back() == "help") {
    words.resize(words.size() - std::min<size_t>(words.size(), 1));
    words.insert(words.begin(), "--help");
  }
  try {
    line.app.parse(words);
  } catch (const CLI::Success& asked_for_help) {
    return line.app.exit(asked_for_help);
  } catch (const CLI::ParseError& error) {
    throw usage_failure(line.app, error, argc, argv);
  }
  return line.chosen();
}

} // namespace

namespace troupe {

int run_command(int argc, char** argv) {
  hold_standard_streams();
  ignore_signals_of_writes();
  try {
    return parse_and_run(argc, argv);
  } catch (const failure& error) {
    print_message(error_text(error));
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    const auto unexpected = as_failure(error);
    print_message(error_text(unexpected));
    return static_cast<int>(unexpected.code());
  }
}

} // namespace troupe
