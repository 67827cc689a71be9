// Where rows come from, for whoever computes on them: consecutive ones or some by number, and never
// all at once. Where they lie (in memory, in a file) is the source's own affair; the values of a row
// are the same bits however it is asked for.
//
//   const auto rows = rows_of(data);                       // data: shared, prepared
//   network.gradient(p, rows.train->gather(ids, reader), out, memory);

#pragma once

#include "data/training_rows/batch_reader.hpp"
#include "data/training_rows/prepare.hpp"
#include "models/base/batch.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace troupe {

/// Rows 0 .. N - 1 of one part of the data. All functions are thread-safe.
class row_source {
public:
  virtual ~row_source() = default;

  virtual size_t row_count() const = 0; ///< N
  /// Rows of epoch e are those from e N on, in their order.
  virtual bool is_endless() const { return false; }

  /// Rows [begin, begin + count), count >= 0. The batch looks at the source's memory or at the
  /// reader's: it is good until the reader's next use.
  virtual batch range(size_t begin, size_t count, batch_reader& reader) const = 0;

  /// The rows of these numbers, in their order. The batch is good until the reader's next use.
  virtual batch gather(std::span<const uint32_t> rows, batch_reader& reader) const = 0;

  /// These rows will be gathered in a moment: whoever has them in memory asks for them now, so that they
  /// come while others are computed on.
  virtual void expect(std::span<const uint32_t>) const {}

  /// A source for rows of these chunks alone, which are brought into memory now, and stay there for
  /// as long as it does. Null: all rows are at hand here.
  virtual std::shared_ptr<const row_source> window(std::span<const uint32_t>) const {
    return nullptr;
  }

  /// Rows before each chunk, and at the end N; empty where rows do not lie in chunks.
  virtual std::vector<uint64_t> chunk_begins() const { return {}; }

  /// The labels of the rows of a chunk; none where rows have none, or do not lie in chunks.
  virtual std::vector<int32_t> labels_of_chunk(size_t) const { return {}; }
};

/// The rows of a data set in memory. Ranges are not copied, but of lent rows that are standardised or lie
/// apart.
class rows_in_memory : public row_source {
public:
  /// `chunk_begins` as chunk_begins() gives them. `map`: rows are standardised when they are asked for;
  /// null: they are as they are to be.
  explicit rows_in_memory(std::shared_ptr<const dataset> rows,
                          std::vector<uint64_t> chunk_begins = {},
                          std::shared_ptr<const standardization> map = nullptr)
    : rows_(std::move(rows)), chunk_begins_(std::move(chunk_begins)), map_(std::move(map)) {}

  size_t row_count() const override { return rows_->row_count; }
  batch range(size_t begin, size_t count, batch_reader& reader) const override;
  batch gather(std::span<const uint32_t> rows, batch_reader& reader) const override;
  void expect(std::span<const uint32_t> rows) const override { ask_for_rows(*rows_, rows); }
  std::vector<uint64_t> chunk_begins() const override { return chunk_begins_; }
  std::vector<int32_t> labels_of_chunk(size_t chunk) const override;

private:
  std::shared_ptr<const dataset> rows_;
  std::vector<uint64_t> chunk_begins_;
  std::shared_ptr<const standardization> map_;
};

/// Some rows of N, which are the only ones that are here, with their numbers among all.
class rows_at_home : public row_source {
public:
  /// `rows`: those from number `begin` on.
  rows_at_home(std::shared_ptr<const row_source> rows, size_t begin, size_t row_count)
    : rows_(std::move(rows)), begin_(begin), row_count_(row_count) {}

  size_t row_count() const override { return row_count_; }
  /// Throw std::logic_error for a row that is not here: nobody may ask for it.
  batch range(size_t begin, size_t count, batch_reader& reader) const override;
  batch gather(std::span<const uint32_t> rows, batch_reader& reader) const override;

private:
  void require_here(size_t row) const;

  std::shared_ptr<const row_source> rows_;
  size_t begin_;
  size_t row_count_;
};

/// The parts of prepared data: none is null, one that was not kept has no rows, and each keeps
/// `data` alive.
row_parts rows_of(const std::shared_ptr<const prepared_data>& data);

/// The seed of a holding's own order, of several.
uint64_t holding_seed(uint64_t job_seed, size_t holding);

// In which order an epoch visits the training rows.
//
// A mini-batch run shuffles the rows anew each epoch, as a function of (seed, epoch) alone; a full
// batch keeps them as they are, since every step sees them all. One object serves all replicas of a
// process; the orders of the newest epochs are kept, so most calls only copy a pointer.

class epoch_order {
public:
  /// `row_count` rows, at most 2^32 - 1. `shuffled` is false for a full batch. `seed`: of the job, or `holding_seed`.
  epoch_order(uint64_t seed, size_t row_count, bool shuffled);

  /// The row at each position of epoch `epoch` (from 0); null when rows are not shuffled.
  /// Thread-safe.
  std::shared_ptr<const std::vector<uint32_t>> of(uint64_t epoch) const;

private:
  struct entry {
    uint64_t epoch;
    std::shared_ptr<const std::vector<uint32_t>> rows;
  };

  uint64_t seed_;
  size_t row_count_;
  bool shuffled_;
  mutable std::mutex mutex_;
  mutable std::vector<entry> kept_; ///< at most two: replicas may stand on both sides of a boundary
};

} // namespace troupe
