// Batches out of a data set: consecutive rows as they lie in memory, or gathered by an order. Of sparse
// rows only where they lie is gathered: a batch looks at their entries in the data set.

#pragma once

#include "data/table/dataset.hpp"
#include "models/base/batch.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

struct standardization; // data/training_rows/prepare.hpp

/// Rows [begin, begin + count) of `source`, without a copy: lent ones have their own places. The batch
/// looks at the data set's memory.
batch batch_of_rows(const dataset& source, size_t begin, size_t count);

/// Asks for the first of these rows, as many as a core can wait for at once (4 KiB): who gathers them
/// a little later finds them in a cache. Of sparse rows only targets.
void ask_for_rows(const dataset& source, std::span<const uint32_t> rows);

/// Gathers rows into memory of its own, which it uses again for the next batch.
class batch_reader {
public:
  /// Memory for a batch of N rows, F features and T targets (0: labels instead), to be written.
  struct space {
    std::span<uint32_t> numbers; ///< N
    std::span<float> features;   ///< N x F
    std::span<int32_t> labels;   ///< N, or none
    std::span<float> targets;    ///< N x T
    std::span<float> weights;    ///< N, or none

    batch rows() const;
  };

  /// Good until the next call.
  space room(size_t row_count, size_t feature_count, size_t target_count, bool weighted = false);

  /// The rows of several batches of one shape, none of them this reader's. Good until the next call.
  batch join(std::span<const batch> parts);

  /// The rows `source.row(rows[i])`, standardised here when there is a map. The batch is good until the
  /// next call.
  batch gather(const dataset& source, std::span<const uint32_t> rows,
               const standardization* map = nullptr);

private:
  sparse_rows look_at(const sparse_matrix& source, std::span<const uint32_t> rows);

  std::vector<uint32_t> numbers_;
  std::vector<float> features_;
  std::vector<int32_t> labels_;
  std::vector<float> targets_;
  std::vector<float> weights_;
  std::vector<uint64_t> begins_; ///< of sparse rows
  std::vector<uint64_t> ends_;
};

} // namespace troupe
