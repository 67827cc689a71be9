// Rows without an end (rows_file/row_supply.hpp), as a row_source: each is read when a step wants it, in their order, and
// none is kept. Those of later epochs have later numbers.

#pragma once

#include "data/rows_file/row_supply.hpp"
#include "data/training_rows/row_source.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace troupe {

class stream_source : public row_source {
public:
  /// `map`: features are standardised by it; empty: they are not.
  stream_source(std::shared_ptr<const supplied_rows> rows, standardization map)
    : rows_(std::move(rows)), map_(std::move(map)) {}

  /// Of an epoch.
  size_t row_count() const override { return rows_->header().row_count; }
  bool is_endless() const override { return true; }
  /// Throws failure(bad_data) for what is no row, and for rows that are others than when they were read before.
  batch range(size_t begin, size_t count, batch_reader& reader) const override;
  /// Of consecutive numbers alone: throws std::logic_error for others.
  batch gather(std::span<const uint32_t> rows, batch_reader& reader) const override;

private:
  void require_same(uint64_t begin, const rows_chunk& rows) const;

  std::shared_ptr<const supplied_rows> rows_;
  standardization map_;
  mutable std::mutex mutex_; ///< guards what follows
  /// Of what was read last, by its first row and number of rows: a step that is done again has to have the same rows.
  mutable std::map<std::pair<uint64_t, size_t>, std::array<uint64_t, 2>> known_;
};

/// Prepares rows without an end: what scales features and targets is of the first epoch. No parts are taken from them.
prepared_data prepare_stream(std::shared_ptr<const supplied_rows> rows,
                             const prepare_options& options);

} // namespace troupe
