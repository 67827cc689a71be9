// A job: everything that determines a training run, as a plain struct.
//
// Applications fill it in code; the `troupe` command fills it from a TOML file (docs/jobs.md lists
// the keys; `data.test_fraction` in a file is `job.data.test_fraction` here). The optional fields
// are resolved against the data by `resolve` (coordinators/job/resolve.hpp): only a resolved job
// has an identity. The comment of each field gives unit and range; `problems`
// (job_check.hpp) checks them.

#pragma once

#include "coordinators/job/stop_rule.hpp"
#include "coordinators/modes/cohort.hpp"
#include "coordinators/modes/model_merger.hpp"
#include "coordinators/modes/staleness_rule.hpp"
#include "coordinators/parallel/grid.hpp"
#include "models/base/names.hpp"
#include "models/base/number_format.hpp"
#include "models/kinds/option.hpp"
#include "models/losses/loss.hpp"
#include "models/math/products.hpp"
#include "models/merging/outer_rule.hpp"
#include "models/merging/parameter_average.hpp"
#include "models/metrics/threshold.hpp"
#include "models/network/activation.hpp"
#include "models/network/initialization.hpp"
#include "models/network/start_values.hpp"
#include "models/optimizers/optimizer_options.hpp"
#include "models/privacy/secret_stream.hpp"
#include "models/segments/layer_cuts.hpp"
#include "models/training/client_rows.hpp"
#include "models/training/row_options.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

enum class synthetic_kind : uint8_t { none, classification, regression };
enum class shuffle_kind : uint8_t { rows, lanes };
enum class model_kind : uint8_t {
  softmax_regression,
  neural_network,
  linear_regression,
  logistic_regression
};
enum class class_weight_kind : uint8_t { none, balanced, list };
enum class strategy_kind : uint8_t { gradients, parameters, federated };
enum class scheduler_policy : uint8_t { sharing, stealing };

template <>
struct name_table<synthetic_kind> {
  static constexpr std::array entries{named(synthetic_kind::classification, "classification"),
                                      named(synthetic_kind::regression, "regression")};
};
template <>
struct name_table<shuffle_kind> {
  static constexpr std::array entries{named(shuffle_kind::rows, "rows"),
                                      named(shuffle_kind::lanes, "lanes")};
};
template <>
struct name_table<model_kind> {
  static constexpr std::array entries{named(model_kind::linear_regression, "linear-regression"),
                                      named(model_kind::logistic_regression, "logistic-regression"),
                                      named(model_kind::softmax_regression, "softmax-regression"),
                                      named(model_kind::neural_network, "neural-network")};
};
template <>
struct name_table<strategy_kind> {
  static constexpr std::array entries{named(strategy_kind::gradients, "gradients"),
                                      named(strategy_kind::parameters, "parameters"),
                                      named(strategy_kind::federated, "federated")};
};
template <>
struct name_table<scheduler_policy> {
  static constexpr std::array entries{named(scheduler_policy::sharing, "sharing"),
                                      named(scheduler_policy::stealing, "stealing")};
};

/// csv: how cells are written; texts of one character, or none.
struct cell_options {
  std::string separator = ",";
  std::string quote = "\"";
  std::string decimal = "."; ///< or ","
  std::string comment{};     ///< what lines of comment begin with; empty: there are none
  size_t skip_lines = 0;     ///< above row 1

  friend bool operator==(const cell_options&, const cell_options&) = default;
};

// ---- What a job says of rows beyond what they are ----

/// Rows of lanes.
struct lane_sizes {
  std::optional<size_t>
    chunk_rows; ///< of a chunk, >= 1; absent: the file's, else about 1 MiB of rows
  std::optional<size_t> window_rows; ///< of all windows together, >= 1; absent: 64 MiB

  friend bool operator==(const lane_sizes&, const lane_sizes&) = default;
};

/// Where the rows come from: a file, several, of which each is a holding, or made by a rule (exactly one of the three).
struct data_options : column_options, part_options, synthetic_options {
  std::string file;     ///< path; empty when synthetic or in holdings
  std::string holdings; ///< paths of files, by a pattern; or empty
  std::string table{}; ///< path of a table or a model that says how rows are read; empty: none does
  bool at_nodes =
    false; ///< nodes of a cluster have rows of their own; `file` is then this node's, or empty
  std::string test_file;                           ///< path of rows for testing; empty: none
  std::string validation_file;                     ///< likewise for validation
  synthetic_kind synthetic = synthetic_kind::none; ///< none when a file is named
  file_format format = file_format::by_name;
  cell_options cells;
  size_t index_base = 1; ///< libsvm: the first feature's index, 0 or 1
  row_form dense = row_form::by_content;
  std::optional<size_t> hash_bits; ///< libsvm: features are hashed to 2^bits, 4 to 30
  std::string labels_file;         ///< idx, npy: path; empty: by the file's name
  bool standardize = false;        ///< features to mean 0, deviation 1; sparse rows to at most 1
  std::optional<target_scale_kind>
    target_scale; ///< of a regression; absent: target_scale_of (resolve.hpp)
  /// rows: all of them, anew each epoch, in memory. lanes: by chunks and windows
  /// (coordinators/step/lane_order.hpp); a file of rows then stays on the disk.
  shuffle_kind shuffle = shuffle_kind::rows;
  lane_sizes lanes;
  window_options text;

  friend bool operator==(const data_options&, const data_options&) = default;
};

struct model_options : loss_constants, start_options {
  model_kind kind = model_kind::neural_network;
  std::vector<size_t> hidden;                         ///< units of each hidden layer, >= 1
  activation_list activation = activation_kind::relu; ///< one for all hidden layers or one for each
  std::optional<loss_kind> loss;                      ///< absent: by kind, for networks by target
  bool bias = true;                                   ///< false: no layer has one
  double dropout = 0;                                 ///< share of hidden units, [0, 1)
  std::optional<initialization_kind> initialization;  ///< absent: he for rectifiers, else xavier
  double initialization_scale = default_initialization_scale; ///< of uniform and normal, > 0
  /// Parts in which cut layers are computed, 1 to 64: of the result, whoever computes them
  /// (models/segments/layer_cuts.hpp). Absent: by the narrowest hidden layer, 1 below 1,024 units.
  std::optional<size_t> cuts;
  std::vector<layer_cut>
    cut; ///< of each layer; empty: the cheapest ones. Resolved: none without cuts
  /// A kind that the application adds (models/kinds/model_kinds.hpp), in place of `kind` and what
  /// belongs to a network.
  component own;
  /// Options of a loss and of activations that the application adds, until `resolve` makes them values with these.
  component added{};
  std::shared_ptr<const start_values> start{}; ///< null: values by the seed

  friend bool operator==(const model_options&, const model_options&) = default;
};

/// The name of its kind, whoever brought it.
inline std::string kind_name(const model_options& x) {
  return x.own.is_set() ? x.own.kind : std::string{name_of(x.kind)};
}

/// What a sample of each class counts in the loss.
struct class_weight_options {
  class_weight_kind kind = class_weight_kind::none; ///< balanced: N / (C n_c) for class c
  std::vector<double> values;                       ///< list: by class, each >= 0, one above 0
  /// list: of which classes, one for each value; other classes count 1. Empty: of all, in their order.
  std::vector<std::string> names = {};

  friend bool operator==(const class_weight_options&, const class_weight_options&) = default;
};

/// What is told of a run as it goes.
struct history_options {
  size_t evaluate_every = 1; ///< epochs between evaluations; 0: at the end only
  size_t history_every = 1;  ///< epochs between rows of the history, >= 1
  /// What patience, the best version and the plateau go by: "loss", "accuracy", "r2" or a metric, of the
  /// validation rows, else the test rows.
  std::string watch = "loss";
  /// Figures of test and validation rows beside the loss, by kind (models/kinds/metric_kinds.hpp).
  std::vector<std::string> metrics{};

  friend bool operator==(const history_options&, const history_options&) = default;
};

struct training_options : history_options, stop_rule_options, threshold_options {
  strategy_kind strategy = strategy_kind::gradients;
  consistency_kind consistency = consistency_kind::synchronous;
  /// Rows of a whole step, >= 1; 0 means all training rows ("all").
  size_t batch_size = 32;
  std::optional<size_t> slices;                    ///< >= 1; absent: clamp(batch_size / 64, 1, 16)
  std::optional<size_t> replicas;                  ///< >= 1; absent: min(cores, slices)
  number_format exchange = number_format::float32; ///< of gradients and of each sum of two
  size_t epochs = 10;                              ///< >= 1
  std::optional<uint64_t> steps;                   ///< >= 1; training ends at whichever comes first
  /// The result is the version with the least watched loss, not the last one; absent: when there
  /// are validation rows and evaluations on the way.
  std::optional<bool> keep_best;
  class_weight_options class_weights;
  component
    own{}; ///< of a stop rule that is added: its options, until `resolve` makes them one value with `rule`
  std::vector<std::string> freeze{}; ///< patterns of names of tensors that stay as they are
  // Strategy `parameters` only (coordinators/modes/local_rounds.hpp).
  std::optional<size_t> members;       ///< models trained apart, >= 1; absent: slices
  std::optional<uint64_t> local_steps; ///< steps of each member in a round, >= 1; absent: 10
  // Other consistencies than synchronous only (coordinators/modes/staleness_rule.hpp).
  size_t staleness_max = 0;                     ///< bounded: clocks a replica may be ahead
  size_t first_count = 1;                       ///< half_synchronous: gradients of a step, >= 1
  double lag_ratio = 1.5;                       ///< lag: > 0, times replicas: updates too late
  step_scaling late_steps = step_scaling::none; ///< of late gradients
  double delay_compensation = 0;                ///< lambda >= 0; 0: late gradients stay as they are

  friend bool operator==(const training_options&, const training_options&) = default;
};

/// Strategies `parameters` and `federated`: how the members' or clients' models become one.
struct merge_section {
  merge_options members = {.rule = merge_rule::weighted, .weighting = merge_weighting::samples};
  std::optional<double> elastic_alpha; ///< in (0, 1]: elastic averaging in place of all the others
  outer_options outer;
  averaging_options averaging; ///< of the main model, for evaluation and as the result
  size_t flipped_members = 0;  ///< rehearsal: the last members hand in their update reversed ..
  double flip_factor = 10;     ///< .. and so many times as long, > 0

  friend bool operator==(const merge_section&, const merge_section&) = default;
};

/// Clients that dial in to a federated run (actors/net/clients/client_port.hpp). Off: no `listen`.
struct client_port_section {
  std::string listen;          ///< "host:port" of the server; empty: clients are simulated
  std::string admit = "*";     ///< names of clients that may take part, * for any letters
  std::string denied;          ///< path of a list of names that may not; empty: none
  uint64_t round_time = 600;   ///< seconds to wait for clients, and then for their updates, >= 1
  size_t clients_max = 10'000; ///< that may be connected, >= 1
  std::string ca, certificate, key; ///< paths; empty: connections are not secured

  /// No key: the clients are those of a record of rounds, which has their names; `clients_from` has their rows.
  bool repeats = false;

  friend bool operator==(const client_port_section&, const client_port_section&) = default;
};

/// Strategy `federated` (coordinators/modes/federated_rounds.hpp).
struct federated_section : client_port_section {
  size_t clients = 100;                                ///< >= 1, at most the training rows
  size_t cohort = 10;                                  ///< clients of a round, 1 to clients
  client_sampling sampling = client_sampling::uniform; ///< who they are
  size_t rounds = 100;                                 ///< >= 1
  std::optional<uint64_t> local_epochs; ///< visits of a client's rows in a round, >= 1; absent: 1
  std::optional<uint64_t> local_steps;  ///< or so many steps, >= 1
  partition_kind partition = partition_kind::iid; ///< whose rows they are
  size_t labels = 2;                              ///< partition labels: classes of a client, >= 1
  double spread = 1;                              ///< dirichlet: alpha > 0; sizes: sigma >= 0
  /// Partition column: the column that says whose a row is. Partition files: the path of clients' files,
  /// with * for any letters. Both: `clients` are as many as there are; resolved it says how many.
  std::string clients_from = {};
  double over_selection = 0;      ///< share of clients invited beyond the cohort, [0, 10]
  double drop_out = 0;            ///< chance that a client does not answer, [0, 1)
  std::optional<double> deadline; ///< > 0: rows that a client of speed 1 trains on in time
  double speed_spread = 0;        ///< of clients' speeds, e^(spread z), [0, 10]
  size_t min_count = 1;           ///< clients below which a round is void, 1 to cohort
  size_t groups = 1;              ///< that are merged by the rule, to cohort; 0: one a client
  double proximal = 0;            ///< mu of FedProx, >= 0
  double update_range = 1024;     ///< greatest change of a parameter that is taken, > 0
  uint64_t weight_max = 1024;     ///< of a client weighed by its rows, >= 1
  bool evaluate_clients = false;  ///< the final model, on each client's test rows; no part of it

  bool has_port() const { return !listen.empty(); }
  friend bool operator==(const federated_section&, const federated_section&) = default;
};

/// The key of a private run, read from its file.
struct privacy_key {
  secret_key bytes{};
  std::string hash; ///< may be told

  friend bool operator==(const privacy_key&, const privacy_key&) = default;
};

/// Federated rounds whose sums are clipped, noised and accounted (docs/federated.md). Off: none is set.
struct privacy_section {
  std::optional<double> clip_norm;        ///< C of each client's update, in [2^-30, 2^30]
  std::optional<double> noise_multiplier; ///< z, in [2^-10, 2^10]; absent: by epsilon
  std::optional<double> epsilon;          ///< > 0: training stops before it is exceeded
  double delta = 1e-5;                    ///< in (0, 1), below 1 / clients
  std::string key_file;                   ///< path of a key, made if there is none
  std::optional<privacy_key> key;         ///< absent: not read yet

  friend bool operator==(const privacy_section&, const privacy_section&) = default;
};

/// Who carries what of a model: never part of the result (coordinators/parallel/grid.hpp).
struct parallel_options {
  std::optional<size_t>
    data;              ///< groups with slices of their own: another name of training.replicas
  size_t tensor = 1;   ///< replicas that share the parts of each cut layer, 1 to model.cuts
  size_t pipeline = 1; ///< stages that layers are spread over, 1 to the number of segments
  pipeline_schedule schedule = pipeline_schedule::one_forward_one_backward;
  std::vector<size_t> stages; ///< segments of each stage, each >= 1; empty: balanced by their work
  /// Replicas fetch what others own segment by segment, and keep none of it.
  bool sharded = false;

  /// Replicas that share a model.
  size_t group_size() const { return tensor * pipeline; }
  /// Replicas compute tile by tile, and processes hold what is theirs of a model.
  bool splits() const { return group_size() > 1 || sharded; }
  friend bool operator==(const parallel_options&, const parallel_options&) = default;
};

struct runtime_options {
  std::optional<size_t> threads; ///< of the scheduler, >= 1; absent: as are useful
  scheduler_policy policy = scheduler_policy::sharing;
  std::optional<products::instruction_set> instructions; ///< of products; absent: the fastest
  std::string device = "cpu"; ///< what replicas compute on (models/device/on_devices.hpp)
  /// Who may be lost with the same work before it is not given out again; 0: no matter how many
  /// (coordinators/membership/lost_work.hpp, coordinators/modes/trainer_roster.hpp).
  size_t attempts = 3;
  /// Seconds after which a task that nobody answers is given to another trainer, at least: where a
  /// parameter server has trainers. 0: never
  uint64_t lease = 60;

  friend bool operator==(const runtime_options&, const runtime_options&) = default;
};

struct output_options {
  std::string directory; ///< empty: runs/NAME

  friend bool operator==(const output_options&, const output_options&) = default;
};

/// Saving the state on the way; no part of the result.
struct checkpoint_options {
  uint64_t every_steps = 0; ///< steps between checkpoints; 0: none
  /// Nobody said how many: `resolve` finds an interval, for modes that have checkpoints.
  bool by_default = false;
  std::string directory; ///< empty: the output directory
  size_t keep = 2;       ///< checkpoints that stay, >= 1

  bool are_written() const { return every_steps > 0 || by_default; }
  friend bool operator==(const checkpoint_options&, const checkpoint_options&) = default;
};

struct job {
  std::string name; ///< for people; the file's name without its extension by default
  uint64_t seed = 0;
  data_options data;
  model_options model;
  optimizer_options optimizer;
  training_options training;
  merge_section merge;
  federated_section federated;
  privacy_section privacy;
  parallel_options parallel;
  runtime_options runtime;
  checkpoint_options checkpoint;
  output_options output;

  friend bool operator==(const job&, const job&) = default;
};

// One thing that is wrong with a job, in words for people.

/// One thing wrong with a job: the key as a job file spells it, why, and what to do.
struct job_problem {
  std::string key;
  std::string why;
  std::string hint;

  friend bool operator==(const job_problem&, const job_problem&) = default;
};

/// Collects problems; each check reads as one line of a specification. Views, as most checks hold.
class problem_list {
public:
  void require(bool holds, std::string_view key, std::string_view why, std::string_view hint) {
    if (!holds)
      found.push_back({std::string{key}, std::string{why}, std::string{hint}});
  }

  std::vector<job_problem> found;
};

} // namespace troupe
