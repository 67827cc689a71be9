// Batches out of a data set: consecutive rows as they lie in memory, or gathered by an order.

#pragma once

#include "troupe/data/table/dataset.hpp"
#include "troupe/models/base/batch.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// Rows [begin, begin + count) of `source`, without a copy. The batch looks at the data set's
/// memory.
batch batch_of_rows(const dataset& source, size_t begin, size_t count);

/// Gathers rows into memory of its own, which it uses again for the next batch.
class batch_reader {
public:
  /// The rows `source.row(rows[i])`. The batch is good until the next call.
  batch gather(const dataset& source, std::span<const uint32_t> rows);

private:
  std::vector<uint32_t> numbers_;
  std::vector<float> features_;
  std::vector<int32_t> labels_;
  std::vector<float> targets_;
};

} // namespace troupe
