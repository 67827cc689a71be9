// Rows of a part of a file (rows_file/), as a row_source: a range or some rows are read when they are
// asked for, and only their chunks; a window of chunks is read ahead. Features become floats, and
// standardised ones, on the way to whoever computes: the same bits as from memory.

#pragma once

#include "data/rows_file/rows_file.hpp"
#include "data/rows_file/stored_chunks.hpp"
#include "data/training_rows/chunk_split.hpp"
#include "data/training_rows/prepare.hpp"
#include "data/training_rows/row_source.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace troupe {

/// What the parts of one file have in common.
struct stored_data {
  stored_data(rows_file file, const chunk_split& parts, standardization map)
    : chunks(std::move(file)), split(parts), features(std::move(map)) {}

  const rows_header& header() const { return chunks.file().header(); }

  stored_chunks chunks;
  chunk_split split;
  standardization features; ///< empty: as they lie in the file
};

class stored_source : public row_source {
public:
  stored_source(std::shared_ptr<stored_data> data, row_part part);

  size_t row_count() const override { return begins_->back(); }
  batch range(size_t begin, size_t count, batch_reader& reader) const override;
  batch gather(std::span<const uint32_t> rows, batch_reader& reader) const override;
  std::shared_ptr<const row_source> window(std::span<const uint32_t> chunks) const override;
  std::vector<uint64_t> chunk_begins() const override { return *begins_; }
  std::vector<int32_t> labels_of_chunk(size_t chunk) const override;

private:
  /// A chunk and which of its rows are of this part; none are named where all are.
  struct held_chunk {
    uint32_t number = 0;
    stored_chunk_ptr chunk;
    std::vector<uint32_t> rows;
  };
  using held_chunks = std::vector<held_chunk>; ///< by number

  stored_source(const stored_source& whole, held_chunks held);

  uint32_t chunk_of(uint32_t row) const;
  held_chunk hold(const stored_chunk_ptr& chunk) const;
  /// Those of these rows' chunks that are not held by this window already.
  held_chunks hold_missing(std::span<const uint32_t> rows) const;

  std::shared_ptr<stored_data> data_;
  row_part part_;
  std::shared_ptr<const std::vector<uint64_t>> begins_; ///< rows of the part before each chunk
  held_chunks held_;                                    ///< of a window
};

/// Prepares rows that stay in a file: who trains on them reads windows of them. What `prepare` does to all
/// rows is done to each when it is read.
///
/// By lanes: `options.chunk_rows` are the file's. Takes no time for the rows unless some are kept for
/// testing or validation: then labels or targets are read.
///
/// Throws failure(bad_data) when no row would be left for training; what rows_file throws.
prepared_data prepare_stored(rows_file file, const prepare_options& options);

} // namespace troupe
