#include "data/training_rows/row_source.hpp"

#include "data/text/failure.hpp"
#include "models/base/random.hpp"

#include <limits>
#include <numeric>

namespace troupe {

batch rows_in_memory::range(size_t begin, size_t count, batch_reader& reader) const {
  if (!map_ && rows_->lent.places.empty())
    return batch_of_rows(*rows_, begin, count);
  std::vector<uint32_t> rows(count);
  std::iota(rows.begin(), rows.end(), static_cast<uint32_t>(begin));
  return gather(rows, reader);
}

batch rows_in_memory::gather(std::span<const uint32_t> rows, batch_reader& reader) const {
  return reader.gather(*rows_, rows, map_.get());
}

std::vector<int32_t> rows_in_memory::labels_of_chunk(size_t chunk) const {
  if (chunk_begins_.empty() || rows_->labels.empty())
    return {};
  const auto begin = rows_->labels.begin();
  return {begin + static_cast<std::ptrdiff_t>(chunk_begins_[chunk]),
          begin + static_cast<std::ptrdiff_t>(chunk_begins_[chunk + 1])};
}

row_parts rows_of(const std::shared_ptr<const prepared_data>& data) {
  auto result = data->stored;
  const auto add = [&](std::shared_ptr<const row_source>& part, const dataset& rows,
                       std::vector<uint64_t> chunk_begins) {
    const bool is_mapped = rows.lent.exist() && !data->features.empty();
    if (!part)
      part = std::make_shared<rows_in_memory>(
        std::shared_ptr<const dataset>{data, &rows}, std::move(chunk_begins),
        std::shared_ptr<const standardization>{data, is_mapped ? &data->features : nullptr});
  };
  add(result.train, data->train, data->chunk_begins);
  add(result.test, data->test, {});
  add(result.validation, data->validation, {});
  return result;
}

epoch_order::epoch_order(uint64_t seed, size_t row_count, bool shuffled)
  : seed_(seed), row_count_(row_count), shuffled_(shuffled) {
  if (row_count > std::numeric_limits<uint32_t>::max())
    throw failure(failure_code::bad_data, "more than 4294967295 rows", {},
                  "split the data over several jobs");
}

std::shared_ptr<const std::vector<uint32_t>> epoch_order::of(uint64_t epoch) const {
  if (!shuffled_)
    return nullptr;
  std::lock_guard guard{mutex_};
  for (const auto& [kept_epoch, rows] : kept_)
    if (kept_epoch == epoch)
      return rows;
  if (kept_.size() == 2)
    kept_.erase(kept_.begin());
  kept_.push_back(
    {epoch, std::make_shared<const std::vector<uint32_t>>(random_permutation(
              {seed_, random_purpose::shuffle, epoch}, static_cast<uint32_t>(row_count_)))});
  return kept_.back().rows;
}

} // namespace troupe
