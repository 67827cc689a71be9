#include "troupe/data/training_rows/row_source.hpp"

namespace troupe {

batch rows_in_memory::range(size_t begin, size_t count, batch_reader&) const {
  return batch_of_rows(*rows_, begin, count);
}

batch rows_in_memory::gather(std::span<const uint32_t> rows, batch_reader& reader) const {
  return reader.gather(*rows_, rows);
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
    if (!part)
      part = std::make_shared<rows_in_memory>(std::shared_ptr<const dataset>{data, &rows},
                                              std::move(chunk_begins));
  };
  add(result.train, data->train, data->chunk_begins);
  add(result.test, data->test, {});
  add(result.validation, data->validation, {});
  return result;
}

} // namespace troupe
