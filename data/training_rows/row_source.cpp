#include "data/training_rows/row_source.hpp"

#include "data/text/failure.hpp"
#include "models/base/random.hpp"

#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

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

void rows_at_home::require_here(size_t row) const {
  if (row < begin_ || row - begin_ >= rows_->row_count())
    throw std::logic_error("row " + std::to_string(row) + " is of a holding that is not here");
}

batch rows_at_home::range(size_t begin, size_t count, batch_reader& reader) const {
  if (count == 0)
    return rows_->range(0, 0, reader);
  require_here(begin);
  require_here(begin + count - 1);
  auto result = rows_->range(begin - begin_, count, reader);
  result.first_row += begin_;
  return result;
}

batch rows_at_home::gather(std::span<const uint32_t> rows, batch_reader& reader) const {
  std::vector<uint32_t> own;
  own.reserve(rows.size());
  for (const auto row : rows) {
    require_here(row);
    own.push_back(static_cast<uint32_t>(row - begin_));
  }
  auto result = rows_->gather(own, reader);
  result.first_row += begin_;
  return result;
}

namespace {

/// Of rows that are here, those of one holding, among those of all.
void keep_at_home(const prepared_data& data, size_t holding_size::*part,
                  std::shared_ptr<const row_source>& rows) {
  size_t begin = 0, all = 0;
  for (size_t i = 0; i < data.holdings.size(); ++i) {
    const auto count = data.holdings[i].size.*part;
    begin += i < data.own_holding.value_or(0) ? count : 0;
    all += count;
  }
  if (all > 0) // else they have come in a file of their own, which all read
    rows = std::make_shared<rows_at_home>(std::move(rows), begin, all);
}

} // namespace

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
  if (data->is_at_home()) {
    keep_at_home(*data, &holding_size::train, result.train);
    keep_at_home(*data, &holding_size::test, result.test);
    keep_at_home(*data, &holding_size::validation, result.validation);
  }
  return result;
}

uint64_t holding_seed(uint64_t job_seed, size_t holding) {
  const auto words = random_sequence{job_seed, random_purpose::holding, holding}.block(0);
  return uint64_t{words[1]} << 32 | words[0];
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
