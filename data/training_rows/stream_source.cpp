#include "data/training_rows/stream_source.hpp"

#include "data/text/checksum.hpp"
#include "data/training_rows/stored_source.hpp"
#include "models/base/copy_values.hpp"

#include <stdexcept>
#include <string>

namespace troupe {

namespace {

/// 2 MiB. A run that goes back to a checkpoint further behind is not held against what it had read.
constexpr size_t known_max = size_t{1} << 15;

} // namespace

void stream_source::require_same(uint64_t begin, const rows_chunk& rows) const {
  const auto checksums = checksums_of(rows);
  const std::lock_guard guard{mutex_};
  const auto [found, is_new] = known_.try_emplace({begin, rows.row_count}, checksums);
  if (found->second != checksums)
    rows_->refuse_change(begin, rows.row_count);
  if (is_new && known_.size() > known_max)
    known_.erase(known_.begin());
}

batch stream_source::range(size_t begin, size_t count, batch_reader& reader) const {
  const auto rows = rows_->part(begin, count);
  require_same(begin, rows);
  const auto& header = rows_->header();
  const auto room = reader.room(count, header.feature_count, header.target_count());
  for (size_t i = 0; i < count; ++i)
    rows_->copy_features(rows, i,
                         room.features.subspan(i * header.feature_count, header.feature_count));
  copy_values(rows.labels, room.labels.begin());
  copy_values(rows.targets, room.targets.begin());
  if (!map_.empty())
    standardize(map_, room.features);
  auto result = room.rows();
  result.row_numbers = {};
  result.first_row = begin;
  return result;
}

batch stream_source::gather(std::span<const uint32_t> rows, batch_reader& reader) const {
  for (size_t i = 1; i < rows.size(); ++i)
    if (rows[i] != rows[0] + i)
      throw std::logic_error("rows without an end are read in their order");
  return range(rows.empty() ? 0 : rows[0], rows.size(), reader);
}

prepared_data prepare_stream(std::shared_ptr<const supplied_rows> rows,
                             const prepare_options& options) {
  auto result = prepare_stored(rows, options);
  const auto name = "endless " + rows->fingerprint();
  result.fingerprint = sha256_hex(std::as_bytes(std::span{name}));
  result.chunk_rows = 0;
  result.chunk_begins.clear();
  result.stored = {std::make_shared<stream_source>(std::move(rows), result.features), {}, {}};
  return result;
}

} // namespace troupe
