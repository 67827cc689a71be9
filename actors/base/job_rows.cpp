#include "troupe/actors/base/job_rows.hpp"

#include <utility>

namespace troupe {

job_rows::job_rows(row_parts rows, const timeline& plan, uint64_t seed, size_t window_chunks,
                   metric_set metrics)
  : rows_(std::move(rows)), metrics_(std::move(metrics)), plan_(plan), seed_(seed) {
  const bool shuffles = plan.batch_size < plan.row_count;
  if (auto chunks = rows_.train->chunk_begins(); shuffles && !chunks.empty())
    lanes_ = std::make_unique<lane_windows>(
      rows_.train, lane_options{seed, plan, std::move(chunks), window_chunks});
  else
    order_.emplace(seed, plan.row_count, shuffles);
}

batch job_rows::of_slice(uint64_t step, size_t slice, batch_reader& reader) const {
  auto rows = lanes_ ? lanes_->of_slice(step, slice, reader) : by_order(step, slice, reader);
  rows.seed = seed_;
  rows.step = step;
  return rows;
}

std::vector<size_t> job_rows::numbers(uint64_t step, size_t slice) const {
  // Named by the order alone: rows that cannot be read are those that are asked for.
  if (lanes_)
    return lanes_->numbers(step, slice);
  const auto positions = plan_.rows_of_slice(step, slice);
  const auto order = order_->of(plan_.epoch_of(step));
  std::vector<size_t> result;
  for (auto at = positions.begin; at < positions.end; ++at)
    result.push_back(order ? (*order)[at] : at);
  return result;
}

batch job_rows::by_order(uint64_t step, size_t slice, batch_reader& reader) const {
  const auto positions = plan_.rows_of_slice(step, slice);
  const auto order = order_->of(plan_.epoch_of(step));
  if (!order)
    return rows_.train->range(positions.begin, positions.size(), reader);
  return rows_.train->gather(std::span{*order}.subspan(positions.begin, positions.size()), reader);
}

batch job_rows::of_chunk(size_t chunk, batch_reader& reader) const {
  const auto& source = chunk < evaluated().test_chunk_count() ? *rows_.test : *rows_.validation;
  const auto rows = evaluated().rows_of_chunk(chunk);
  return source.range(rows.begin, rows.size(), reader);
}

} // namespace troupe
