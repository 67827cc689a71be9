// The rows that a job computes on: of a slice of a step, of a chunk of an evaluation. One for all
// replicas, trainers and solvers of a process; what they compute on follows from the job alone.

#pragma once

#include "troupe/actors/base/lane_windows.hpp"
#include "troupe/coordinators/step/timeline.hpp"
#include "troupe/data/training_rows/epoch_order.hpp"
#include "troupe/data/training_rows/row_source.hpp"
#include "troupe/models/metrics/metric_set.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace troupe {

class job_rows {
public:
  /// `window_chunks`: chunks of a window where rows lie in chunks, and so are visited by lanes.
  job_rows(row_parts rows, const timeline& plan, uint64_t seed, size_t window_chunks,
           metric_set metrics = {});

  evaluation_rows evaluated() const {
    return {rows_.test->row_count(), rows_.validation->row_count()};
  }

  /// What evaluations judge beside the loss.
  const metric_set& metrics() const { return metrics_; }

  const std::shared_ptr<const row_source>& train() const { return rows_.train; }
  /// Which training rows a slice of a step trains on, from 0, in that order.
  std::vector<size_t> numbers(uint64_t step, size_t slice) const;
  size_t training_row_count() const { return rows_.train->row_count(); }

  /// They stay good until the reader's next use. Thread-safe, as long as each has its own reader.
  batch of_slice(uint64_t step, size_t slice, batch_reader& reader) const;

  /// Likewise; first the chunks of the test rows, then those of the validation rows.
  batch of_chunk(size_t chunk, batch_reader& reader) const;

private:
  batch by_order(uint64_t step, size_t slice, batch_reader& reader) const;

  row_parts rows_;
  metric_set metrics_;
  timeline plan_;
  uint64_t seed_;
  std::optional<epoch_order> order_;
  std::unique_ptr<lane_windows> lanes_; ///< instead
};

} // namespace troupe
