// The rows that a replica computes on: of a slice of a step, of a chunk of an evaluation.

#pragma once

#include "troupe/coordinators/step/timeline.hpp"
#include "troupe/data/training_rows/batch_reader.hpp"
#include "troupe/data/training_rows/epoch_order.hpp"
#include "troupe/data/training_rows/prepare.hpp"

#include <memory>

namespace troupe {

struct replica_rows {
  std::shared_ptr<const prepared_data> data;
  std::shared_ptr<const epoch_order> order;
  timeline plan;
  uint64_t seed = 0; ///< of the job

  evaluation_rows evaluated() const { return {data->test.row_count, data->validation.row_count}; }

  /// They stay good while `reader` is not used for others.
  batch of_slice(uint64_t step, size_t slice, batch_reader& reader) const {
    const auto positions = plan.rows_of_slice(step, slice);
    const auto shuffled = order->of(plan.epoch_of(step));
    auto rows = shuffled
                  ? reader.gather(data->train,
                                  std::span{*shuffled}.subspan(positions.begin, positions.size()))
                  : batch_of_rows(data->train, positions.begin, positions.size());
    rows.seed = seed;
    rows.step = step;
    return rows;
  }

  batch of_chunk(size_t chunk) const {
    const auto& source = chunk < evaluated().test_chunk_count() ? data->test : data->validation;
    const auto rows = evaluated().rows_of_chunk(chunk);
    return batch_of_rows(source, rows.begin, rows.size());
  }
};

} // namespace troupe
