// What a training run leaves for people and scripts: figures of each epoch and of the whole run.
// Writers: data/records/history_file.hpp (CSV) and data/records/summary_file.hpp (JSON).

#pragma once

#include "models/base/version_hash.hpp"
#include "models/metrics/metric.hpp"
#include "models/training/round_record.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// How well a model does. Losses are means over samples; absent figures were not measured. Each has a row in
/// data/records/history_figures.cpp.
struct result_figures {
  std::optional<double> train_loss;     ///< as trained, over an epoch's samples
  std::optional<double> train_accuracy; ///< classification, as trained
  std::optional<double> test_loss;
  std::optional<double> test_accuracy; ///< classification
  std::optional<double> test_r2;       ///< regression
  std::optional<double> validation_loss;
  std::optional<double> validation_accuracy; ///< classification
  std::optional<double> validation_r2;       ///< regression
  metric_figures metrics{};                  ///< those that the job asks for

  friend bool operator==(const result_figures&, const result_figures&) = default;
};

/// One row of the history.
struct history_row : result_figures {
  size_t epoch = 0;         ///< counted from 1
  uint64_t steps = 0;       ///< steps done by the end of this row: the version of the parameters
  double seconds = 0;       ///< since training started
  double learning_rate = 0; ///< of the row's last step
  std::optional<version_hash> hash{}; ///< of the version

  friend bool operator==(const history_row&, const history_row&) = default;
};

/// What one replica did, and whose wait it was. Times in milliseconds.
struct trainer_record {
  std::string process;
  uint64_t replica = 0;      ///< its index there
  uint64_t results = 0;      ///< steps or tasks it answered
  uint64_t applied = 0;      ///< gradients that moved the model; 0 where models are merged
  uint64_t discarded = 0;    ///< gradients that came too late
  uint64_t refused = 0;      ///< results of work that others had by then
  uint64_t lost = 0;         ///< times it was lost
  uint64_t last_count = 0;   ///< steps or rounds at which the others waited for it
  double last_by_ms = 0;     ///< for so long, in all
  double last_by_max_ms = 0; ///< the longest of these waits
  double waited_ms = 0;      ///< it waited for others
  double computed_ms = 0;
  double network_ms = 0;      ///< on the way and in queues
  std::vector<uint64_t> lags; ///< gradients 0, 1, 2-3, 4-7 .. updates late
  std::string partition = {}; ///< of a split model, in words; empty: each replica has it whole

  friend bool operator==(const trainer_record&, const trainer_record&) = default;
};

/// What processes sent each other.
struct wire_record {
  std::map<std::string, uint64_t> bytes_by_kind; ///< kinds without any are left out
  uint64_t bytes_early = 0;
  uint64_t resends = 0;

  uint64_t bytes_sent() const {
    uint64_t result = 0;
    for (const auto& [kind, bytes] : bytes_by_kind)
      result += bytes;
    return result;
  }
};

/// What losses of processes came to, over all lives of the run; of a director that was killed up to its last
/// checkpoint.
struct recovery_figures {
  uint64_t lives = 1;  ///< of its director: each --resume begins one
  uint64_t views = 1;  ///< cluster views that were published
  uint64_t joins = 0;  ///< processes that came while training went on
  uint64_t leaves = 0; ///< processes that asked to leave, and left
  uint64_t replicas_lost = 0;
  uint64_t rollbacks = 0; ///< terms that began behind what was done
  uint64_t steps_again =
    0; ///< undone by roll-backs, and by a director's end as far as the history knew
  double seconds_elapsed = 0; ///< since training began, the time between lives left out
  double seconds_again = 0;   ///< that the undone steps took when they were done first
  double seconds_still = 0;   ///< in which a cluster did no step, beyond three usual ones each time

  /// The share of the elapsed time that brought the run on.
  double goodput() const {
    const auto lost = std::min(seconds_again + seconds_still, seconds_elapsed);
    return seconds_elapsed > 0 ? 1 - lost / seconds_elapsed : 1;
  }

  friend bool operator==(const recovery_figures&, const recovery_figures&) = default;
};

/// Calls the function with the name of each of them, and the member.
template <class Recovery, class Function>
void each_recovery_figure(Recovery& x, Function f) {
  f("lives", x.lives);
  f("views", x.views);
  f("joins", x.joins);
  f("leaves", x.leaves);
  f("replicas_lost", x.replicas_lost);
  f("rollbacks", x.rollbacks);
  f("steps_again", x.steps_again);
  f("seconds_elapsed", x.seconds_elapsed);
  f("seconds_again", x.seconds_again);
  f("seconds_still", x.seconds_still);
}

/// What a run was asked for beside what all runs tell.
struct asked_figures {
  std::optional<uint64_t>
    best_version{}; ///< equals `steps`; absent: the result is the last version
  std::optional<double>
    threshold{}; ///< the probability from which on one of two classes is decided for
  std::optional<client_totals> clients{}; ///< of a federated run, since its process began
  std::optional<client_evaluation> client_figures{}; ///< how the result serves federated clients
  /// Rising: steps from which results made the learning rate lower (optimizer.plateau).
  std::vector<uint64_t> rate_reductions{};
};

/// Where a run was.
struct placement_record {
  size_t nodes = 1;
  std::map<std::string, uint64_t> spans_by_node{}; ///< parameters that each node owns at the end
};

/// The object that `--json` prints and summary.json holds. Its results are those of the history's row of the
/// result.
struct training_summary : result_figures,
                          recovery_figures,
                          asked_figures,
                          wire_record,
                          placement_record {
  std::string job;      ///< its name
  std::string strategy; ///< "gradients"
  size_t replicas = 0;
  size_t slices = 0;
  uint64_t steps = 0; ///< of the result: its version, which may be below the one training ended at
  size_t epochs = 0;  ///< finished ones
  uint64_t samples = 0; ///< training rows of all steps up to the version training ended at
  double seconds = 0; ///< of training, over all lives of the run; not of reading and writing files
  double samples_per_second = 0; ///< samples / seconds
  std::string parameters_sha256; ///< of the model file's data section
  std::string job_sha256;
  std::string arithmetic; ///< models/base/arithmetic.hpp
  std::string model_file; ///< path; empty when none was written
  std::string stopped_by; ///< "epochs", "steps", "target-loss", "patience", "interrupt"
  /// Rows computed by each replica that is there at the end, since its process began; repetitions
  /// after roll-backs included.
  std::vector<uint64_t> samples_by_replica;
  uint64_t steps_executed = 0; ///< of the busiest of them, at least those that training ended at
  /// Work that nobody did, as it ended several who had it: in words, with its rows.
  std::vector<std::string> left_out{};
  bool reproducible = true;             ///< the parameters' bits follow from the job alone
  std::vector<trainer_record> trainers; ///< by replica; empty for solvers
};

} // namespace troupe
