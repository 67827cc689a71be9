#include "actors/base/job_rows.hpp"

#include "data/training_rows/chunk_split.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace troupe {

namespace {

/// Names of more rows fill a screen and help nobody.
constexpr size_t named_rows_max = 64;

} // namespace

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

std::vector<size_t> row_namer::rows_of(uint64_t step, size_t slice) const {
  const auto numbers = rows->numbers(step, slice);
  if (source) {
    std::vector<size_t> result;
    for (const auto number : numbers)
      result.push_back(source->at(number));
    return result;
  }
  // Rows for testing and validation may lie in files of their own.
  const part_sizes sizes{kept.test > 0 ? rows->evaluated().test : 0,
                         kept.validation > 0 ? rows->evaluated().validation : 0};
  const auto row_count = rows->training_row_count() + sizes.test + sizes.validation;
  return chunk_rows == 0 ? source_rows(seed, row_count, sizes, numbers)
                         : chunk_split{seed, row_count, chunk_rows, kept}.source_rows(numbers);
}

std::string row_namer::words(uint64_t first_step, uint64_t step_count,
                             std::span<const size_t> slices) const {
  std::vector<size_t> all;
  for (auto step = first_step; step < first_step + step_count; ++step)
    for (const auto slice : slices)
      std::ranges::copy(rows_of(step, slice), std::back_inserter(all));
  std::ranges::sort(all);
  std::string result = all.size() == 1 ? "row" : "rows";
  const auto shown = std::min(all.size(), named_rows_max);
  for (size_t i = 0; i < shown; ++i)
    result += (i == 0 ? " " : i + 1 == all.size() ? " and " : ", ") + std::to_string(all[i] + 1);
  if (shown < all.size())
    result += " and " + std::to_string(all.size() - shown) + " more";
  return result + (file.empty() ? " of the data" : " of " + file);
}

} // namespace troupe
