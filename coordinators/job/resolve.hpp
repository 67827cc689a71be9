// From what a user wrote to what is trained: defaults that depend on the data or the machine are
// filled in, and the job gets its identity.

#pragma once

#include "coordinators/job/job.hpp"
#include "coordinators/job/stop_rule.hpp"
#include "coordinators/membership/holders.hpp"
#include "coordinators/parallel/grid.hpp"
#include "coordinators/step/timeline.hpp"
#include "models/metrics/metric_set.hpp"
#include "models/network/model.hpp"
#include "models/training/regularization.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// Rows in holdings: none where all rows are one; one holding is trained on as if it were all rows.
struct held_shape {
  std::vector<holding_size> sizes{}; ///< in their order
  /// Which one a process has, by its name, where they have holders; else all have all.
  std::map<std::string, size_t, std::less<>> by_process{};
};

/// What a job's data turned out to be.
struct data_shape {
  size_t train_row_count = 0; ///< >= 1
  size_t test_row_count = 0;
  size_t feature_count = 0; ///< >= 1
  size_t output_count = 0;  ///< classes or targets, >= 1
  bool classification = false;
  std::vector<size_t> class_counts = {}; ///< classification: training rows of each class
  double target_minimum = 0;             ///< regression: the lowest target of all rows
  size_t validation_row_count = 0;
  std::vector<std::string> class_names = {}; ///< classification: as messages show them
  std::vector<std::string> class_texts = {}; ///< classification: as the data has them
  std::vector<size_t> class_rows = {};       ///< classification: rows of each class in all parts
  bool sparse = false;                       ///< rows are
  size_t entry_count = 0;                    ///< of sparse rows, in all parts
  size_t chunk_rows = 0;      ///< rows of a chunk where they are visited by lanes; else 0
  bool stays_in_file = false; ///< only windows of the training rows are in memory
  size_t client_count = 0;    ///< who has training rows, where rows say whose they are; else 0
  bool weighted = false;      ///< rows have weights
  target_scale scale = {};    ///< regression: by which the training rows' targets are scaled
  std::shared_ptr<const start_values> start{}; ///< parameters that training begins from
  held_shape held{};                           ///< where rows lie in holdings

  /// Rows for testing and validation, as they are judged.
  evaluation_rows evaluated() const;
};

/// The loss a job trains with: the given one, else by model and, for networks, by target.
loss_kind loss_of(const model_options& options, bool classification);

/// How a regression's targets are scaled: as the job says, else to mean 0 and deviation 1 for a network that descends
/// along gradients of a loss that takes a scale. Not by default in federated training, whose
/// clients' targets nobody has seen together.
target_scale_kind target_scale_of(const job& x);

/// What a job wants its target column to be: classes (true), numbers (false), or whatever the data
/// looks like (nothing).
std::optional<bool> wants_classes(const model_options& options);

/// What a sample of each class counts, by class; empty when all count 1. Balanced weights are
/// N / (C n_c): N training rows, C classes, n_c training rows of class c.
std::vector<float> class_weights_of(const job& x, const data_shape& shape);

/// The class that a job's threshold is for, of two: the given one, else the rarer one in training. Nothing where the
/// job wants no threshold, or there is no such class.
std::optional<size_t> threshold_class_of(const job& x, const data_shape& shape);

/// `x` with every optional field filled in; `core_count` is the machine's. A full batch (0) becomes
/// the number of training rows, a larger batch is cut to it.
job resolve(const job& x, const data_shape& shape, size_t core_count);

/// Problems that show only beside the data: a loss that does not fit the target, say.
std::vector<job_problem> problems_with_data(const job& resolved, const data_shape& shape);

/// What the windows of all lanes hold by default, as numbers in memory: read in a tenth of a second,
/// and twenty thousand rows of a thousand features. Half of it mixes half as well where rows are
/// sorted.
inline constexpr uint64_t window_bytes_by_default = uint64_t{64} << 20;

/// Chunks of a window of each lane, of a resolved job; 1 where there are no lanes.
size_t window_chunks_of(const job& resolved);

/// Training rows of each holding; none: rows lie in none.
std::vector<size_t> training_rows_of(const data_shape& shape);

/// The timeline of a resolved job.
timeline timeline_of(const job& resolved, const data_shape& shape);

/// Which processes may compute which slices.
row_holders holders_of(const data_shape& shape, const timeline& plan);

/// What is in the memory of one process: where rows have holders, of all parts its own, and those that all read.
data_shape shape_at(const data_shape& all, const std::string& process);

/// The model of a resolved job.
std::unique_ptr<model> make_model(const job& resolved, const data_shape& shape);

/// What a resolved job's metrics judge.
metric_input metric_input_of(const job& resolved, const data_shape& shape);

/// The metrics of a resolved job. Throws std::invalid_argument where one has nothing to say of it.
/// What is done to a mean gradient before the optimizer takes it.
regularization changes_of(const job& resolved, const model& network);

metric_set metrics_of(const job& resolved, const data_shape& shape);

/// How a resolved job splits its model over replicas.
model_split split_of(const job& resolved, const segment_chain& chain);

/// The text whose SHA-256 is the job's identity: one `key = value` a line, of exactly those keys
/// that determine version v + 1 from version v, numbers as hexadecimal bits.
std::string identity_text(const job& resolved, const std::string& data_fingerprint);

/// A line for each metric of a resolved job, and each kind that is the application's own, as in
/// "optimizer lion 1 = 9f3a0c11d2e4b587": name, version and probe (models/kinds/probe.hpp). Empty when
/// it has none.
std::string kind_words(const job& resolved, const data_shape& shape);

} // namespace troupe
