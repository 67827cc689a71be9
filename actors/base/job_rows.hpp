// The rows that a job computes on: of a slice of a step, of a chunk of an evaluation. All replicas, trainers and
// solvers of a process share one object; its answers follow from the job alone.

#pragma once

#include "actors/protocol/messages.hpp"
#include "coordinators/step/lane_order.hpp"
#include "coordinators/step/timeline.hpp"
#include "data/training_rows/batch_reader.hpp"
#include "data/training_rows/part_choice.hpp"
#include "data/training_rows/row_source.hpp"
#include "models/metrics/metric_set.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

// The windows of lanes (coordinators/step/lane_order.hpp) that a process reads now. For each slice of its replicas
// these are the current window and the next, whose chunks it reads meanwhile. Slices come and go with the views; a new
// slice costs the reading of its window.
//
// Memory: at most two windows for each slice, and the chunks of both (one more where a step has
// rows of two). Opening a window takes its permutation: some 15 ns a row, once.

class lane_windows {
public:
  /// `source`: its rows are visited in the order of lanes.
  lane_windows(std::shared_ptr<const row_source> source, const lane_options& options);
  ~lane_windows();

  /// The rows of a slice of a step; good until the reader's next use. Thread-safe.
  batch of_slice(uint64_t step, size_t slice, batch_reader& reader);

  /// The numbers of these rows, without the rows.
  std::vector<size_t> numbers(uint64_t step, size_t slice) const;

private:
  struct window;
  using window_ptr = std::shared_ptr<window>;

  /// The windows with these positions of a slice's lane, in order. `goes_on`: opens the next one, too.
  std::vector<window_ptr> open(uint64_t epoch, size_t slice, const index_range& positions,
                               bool goes_on);
  window_ptr find_or_open(uint64_t epoch, size_t slice, size_t number);
  std::shared_ptr<const lane_epoch> order_of(uint64_t epoch);
  batch rows_of(const window& from, const index_range& positions, batch_reader& reader) const;

  std::shared_ptr<const row_source> source_;
  lane_order order_;
  timeline plan_;
  std::mutex mutex_;                                    ///< guards what follows
  std::list<std::shared_ptr<const lane_epoch>> orders_; ///< of the epochs asked for last
  std::vector<std::list<window_ptr>> windows_;          ///< of each slice, last used first
};

// ---- Whether windows mix a file: what the first windows of all lanes hold of each class ----

/// A class whose rows the first steps hardly see.
struct missed_class {
  size_t number = 0;
  size_t expected = 0; ///< rows of it in as many rows drawn from all
  size_t found = 0;    ///< in the first windows of all lanes
};

/// The class that the first windows of the first epoch miss most. It counts as missed if a random order would give at
/// least 20 of its rows, and these windows hold less than a quarter of that: then rows are nearly sorted. Reads the
/// labels of these windows' chunks. Nothing for numbers.
std::optional<missed_class> class_missed_by_windows(const row_source& rows,
                                                    const lane_options& lanes,
                                                    const std::vector<size_t>& class_counts);

class job_rows {
public:
  /// `window_chunks`: chunks of a window where rows lie in chunks, and so are visited by lanes. `holdings`: as many as
  /// the timeline has, whose rows lie one behind the other.
  job_rows(row_parts rows, const timeline& plan, uint64_t seed, size_t window_chunks,
           metric_set metrics = {}, const std::vector<holding_size>& holdings = {});

  const evaluation_rows& evaluated() const { return evaluated_; }

  /// The metrics of evaluations beside the loss.
  const metric_set& metrics() const { return metrics_; }

  const std::shared_ptr<const row_source>& train() const { return rows_.train; }
  const timeline& plan() const { return plan_; }
  /// The numbers of the training rows of a step's slice, from 0, in the order of training.
  std::vector<size_t> numbers(uint64_t step, size_t slice) const;
  size_t training_row_count() const { return rows_.train->row_count(); }

  /// The rows of a slice; valid until the reader's next use. Thread-safe if each thread has its own reader.
  batch of_slice(uint64_t step, size_t slice, batch_reader& reader) const;

  /// The rows of a chunk; valid likewise. First come the chunks of the test rows, then those of the validation rows.
  batch of_chunk(size_t chunk, batch_reader& reader) const;

private:
  /// The rows of one holding, or all.
  struct ordered_rows {
    size_t begin; ///< training rows before them
    epoch_order order;
  };

  static std::unique_ptr<const ordered_rows> make_order(size_t begin, uint64_t seed,
                                                        size_t row_count, bool shuffles);
  batch by_order(uint64_t step, size_t slice, batch_reader& reader) const;
  /// The first row of a step's epoch, where epochs are not shuffled.
  size_t first_of(uint64_t step, size_t begin) const;
  const ordered_rows& order_of(uint64_t step, size_t slice) const {
    return *orders_[orders_.size() == 1 ? 0 : plan_.holding_of(step, slice)];
  }

  row_parts rows_;
  metric_set metrics_;
  timeline plan_;
  evaluation_rows evaluated_;
  uint64_t seed_;
  std::vector<std::unique_ptr<const ordered_rows>> orders_;
  std::unique_ptr<lane_windows> lanes_; ///< instead
};

/// Adds the sums of the next chunk, of these rows, to `out`.
inline void add_chunk(evaluation& out, const model& network, const metric_set& metrics,
                      std::span<const float> parameters, const batch& rows, workspace& memory) {
  out.chunks.push_back(network.evaluate(parameters, rows, memory));
  if (!metrics.empty())
    out.metrics.push_back(metrics.judge(network, parameters, rows, memory));
}

// Row namer: names, for people, the rows of the data that a slice of a step trains on. It counts from 1, in the order
// of the file, rows kept for testing included; of holdings, in the order of each one's own.
struct row_namer {
  std::shared_ptr<const job_rows> rows;
  uint64_t seed = 0;     ///< of the job
  std::string file;      ///< empty: the rows were made, or given
  part_options kept{};   ///< of the rows of `file`: for testing, for validation
  size_t chunk_rows = 0; ///< where rows lie in chunks; 0: they do not
  /// Numbers of the training rows in the data, if known; null: (seed, kept) decide.
  std::shared_ptr<const std::vector<uint32_t>> source{};
  std::vector<held_rows> holdings{}; ///< then these say so, and which files they are

  /// Rows of the data, or of the slice's holding, from 0, in the order they are trained on.
  std::vector<size_t> rows_of(uint64_t step, size_t slice) const;
  /// "rows 3, 17 and 40 of digits.csv", ascending; of many only the first.
  std::string words(uint64_t step, std::span<const size_t> slices) const {
    return words(step, 1, slices);
  }
  /// The rows of several steps.
  std::string words(uint64_t first_step, uint64_t step_count, std::span<const size_t> slices) const;
};

} // namespace troupe
