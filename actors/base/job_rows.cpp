#include "actors/base/job_rows.hpp"

#include "data/training_rows/part_choice.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace troupe {

namespace {

/// More row numbers fill a screen and do not help.
constexpr size_t named_rows_max = 64;

} // namespace

job_rows::job_rows(row_parts rows, const timeline& plan, uint64_t seed, size_t window_chunks,
                   metric_set metrics, const std::vector<holding_size>& holdings)
  : rows_(std::move(rows)),
    metrics_(std::move(metrics)),
    plan_(plan),
    evaluated_(evaluated_rows(rows_.test->row_count(), rows_.validation->row_count(), holdings)),
    seed_(seed) {
  const bool shuffles = plan.batch_size < plan.row_count && !rows_.train->is_endless();
  if (auto chunks = rows_.train->chunk_begins(); shuffles && !chunks.empty())
    lanes_ = std::make_unique<lane_windows>(
      rows_.train, lane_options{seed, plan, std::move(chunks), window_chunks});
  else if (plan.holdings.empty())
    orders_.push_back(make_order(0, seed, plan.row_count, shuffles));
  size_t begin = 0;
  for (size_t i = 0; i < plan.holdings.size(); ++i) {
    const auto count = plan.holdings[i].row_count;
    orders_.push_back(make_order(begin, holding_seed(seed, i), count, shuffles));
    begin += count;
  }
}

std::unique_ptr<const job_rows::ordered_rows>
job_rows::make_order(size_t begin, uint64_t seed, size_t row_count, bool shuffles) {
  return std::unique_ptr<const ordered_rows>{
    new ordered_rows{begin, epoch_order{seed, row_count, shuffles}}};
}

batch job_rows::of_slice(uint64_t step, size_t slice, batch_reader& reader) const {
  auto rows = lanes_ ? lanes_->of_slice(step, slice, reader) : by_order(step, slice, reader);
  rows.seed = seed_;
  rows.step = step;
  return rows;
}

std::vector<size_t> job_rows::numbers(uint64_t step, size_t slice) const {
  // Computed from the order alone: callers also ask for rows that cannot be read.
  if (lanes_)
    return lanes_->numbers(step, slice);
  const auto positions = plan_.rows_of_slice(step, slice);
  const auto& [begin, orders] = order_of(step, slice);
  const auto order = orders.of(plan_.epoch_of(step));
  std::vector<size_t> result;
  for (auto at = positions.begin; at < positions.end; ++at)
    result.push_back(order ? begin + (*order)[at] : first_of(step, begin) + at);
  return result;
}

size_t job_rows::first_of(uint64_t step, size_t begin) const {
  return begin + (rows_.train->is_endless() ? plan_.epoch_of(step) * plan_.row_count : 0);
}

batch job_rows::by_order(uint64_t step, size_t slice, batch_reader& reader) const {
  const auto positions = plan_.rows_of_slice(step, slice);
  const auto& [begin, orders] = order_of(step, slice);
  const auto order = orders.of(plan_.epoch_of(step));
  if (!order)
    return rows_.train->range(first_of(step, begin) + positions.begin, positions.size(), reader);
  const auto rows = std::span{*order}.subspan(positions.begin, positions.size());
  if (begin == 0)
    return rows_.train->gather(rows, reader);
  std::vector<uint32_t> numbers(rows.begin(), rows.end());
  for (auto& number : numbers)
    number += static_cast<uint32_t>(begin);
  return rows_.train->gather(numbers, reader);
}

batch job_rows::of_chunk(size_t chunk, batch_reader& reader) const {
  const auto& source = evaluated().is_test(chunk) ? *rows_.test : *rows_.validation;
  const auto rows = evaluated().rows_of_chunk(chunk);
  return source.range(rows.begin, rows.size(), reader);
}

std::vector<size_t> row_namer::rows_of(uint64_t step, size_t slice) const {
  auto numbers = rows->numbers(step, slice);
  if (!holdings.empty()) {
    const auto own = rows->plan().holding_of(step, slice);
    size_t begin = 0;
    for (size_t i = 0; i < own; ++i)
      begin += holdings[i].size.train;
    if (!holdings[own].source_rows) // they are elsewhere, and only their holder can tell
      return {};
    for (auto& number : numbers)
      number = holdings[own].source_rows->at(number - begin);
    return numbers;
  }
  if (source) {
    std::vector<size_t> result;
    for (const auto number : numbers)
      result.push_back(source->at(number));
    return result;
  }
  // Rows for testing and validation may lie in files of their own.
  const auto& evaluated = rows->evaluated();
  const part_sizes sizes{kept.test_fraction > 0 ? evaluated.test.row_count() : 0,
                         kept.validation_fraction > 0 ? evaluated.validation.row_count() : 0};
  const auto row_count = rows->training_row_count() + sizes.test + sizes.validation;
  return chunk_rows == 0 ? source_rows(seed, row_count, sizes, numbers)
                         : chunk_split{seed, row_count, chunk_rows, kept}.source_rows(numbers);
}

namespace {

/// "rows 3, 17 and 40 of digits.csv", ascending; of many only the first.
std::string words_of(std::vector<size_t> rows, const std::string& file) {
  std::ranges::sort(rows);
  std::string result = rows.size() == 1 ? "row" : "rows";
  const auto shown = std::min(rows.size(), named_rows_max);
  for (size_t i = 0; i < shown; ++i)
    result += (i == 0 ? " " : i + 1 == rows.size() ? " and " : ", ") + std::to_string(rows[i] + 1);
  if (shown < rows.size())
    result += " and " + std::to_string(rows.size() - shown) + " more";
  return result + (file.empty() ? " of the data" : " of " + file);
}

} // namespace

std::string row_namer::words(uint64_t first_step, uint64_t step_count,
                             std::span<const size_t> slices) const {
  std::map<size_t, std::vector<size_t>> found; // by holding
  for (auto step = first_step; step < first_step + step_count; ++step)
    for (const auto slice : slices) {
      auto& some = found[rows->plan().holding_of(step, slice)];
      for (const auto row : rows_of(step, slice))
        some.push_back(row);
    }
  if (found.empty())
    return words_of({}, file);
  std::string result;
  for (const auto& [number, some] : found)
    result += (result.empty() ? "" : ", ") +
              words_of(some, holdings.empty() ? file : holdings[number].name);
  return result;
}

namespace {

/// Replicas stand on both sides of an epoch's end, and windows are opened ahead.
constexpr size_t epochs_kept = 3;

constexpr size_t expected_min = 20;
constexpr size_t share_missed = 4;

} // namespace

struct lane_windows::window {
  uint64_t epoch = 0;
  size_t number = 0;
  lane_window order;
  std::shared_ptr<const row_source> rows; ///< null: those of the source
};

lane_windows::lane_windows(std::shared_ptr<const row_source> source, const lane_options& options)
  : source_(std::move(source)),
    order_(options),
    plan_(options.plan),
    windows_(options.plan.slice_count) {}

lane_windows::~lane_windows() = default;

std::shared_ptr<const lane_epoch> lane_windows::order_of(uint64_t epoch) {
  const auto found =
    std::ranges::find(orders_, epoch, [](const auto& order) { return order->epoch; });
  if (found != orders_.end())
    return *found;
  orders_.push_front(std::make_shared<const lane_epoch>(order_.epoch(epoch)));
  if (orders_.size() > epochs_kept)
    orders_.pop_back();
  return orders_.front();
}

lane_windows::window_ptr lane_windows::find_or_open(uint64_t epoch, size_t slice, size_t number) {
  auto& known = windows_[slice];
  const auto found = std::ranges::find_if(
    known, [&](const auto& each) { return each->epoch == epoch && each->number == number; });
  if (found != known.end()) {
    known.splice(known.begin(), known, found);
    return known.front();
  }
  const auto result = std::make_shared<window>();
  result->epoch = epoch;
  result->number = number;
  result->order = order_.window(*order_of(epoch), slice, number);
  result->rows = source_->window(result->order.chunks);
  known.push_front(result);
  return result;
}

std::vector<lane_windows::window_ptr>
lane_windows::open(uint64_t epoch, size_t slice, const index_range& positions, bool goes_on) {
  std::lock_guard guard{mutex_};
  const auto order = order_of(epoch);
  const auto first = order_.window_at(*order, slice, positions.begin);
  const auto last = order_.window_at(*order, slice, positions.end - 1);
  std::vector<window_ptr> result;
  for (auto number = first; number <= last; ++number)
    result.push_back(find_or_open(epoch, slice, number));
  // Releases older windows first: their chunks make room for the new ones.
  auto& known = windows_[slice];
  while (known.size() > result.size() + 1)
    known.pop_back();
  if (last + 1 < order_.window_count(*order, slice))
    find_or_open(epoch, slice, last + 1);
  else if (goes_on && order_.window_count(*order, slice) > 0)
    find_or_open(epoch + 1, slice, 0);
  while (known.size() > result.size() + 1)
    known.pop_back();
  return result;
}

batch lane_windows::rows_of(const window& from, const index_range& positions,
                            batch_reader& reader) const {
  const auto begin = std::max(positions.begin, from.order.positions.begin);
  const auto end = std::min(positions.end, from.order.positions.end);
  const auto rows =
    std::span{from.order.rows}.subspan(begin - from.order.positions.begin, end - begin);
  return from.rows ? from.rows->gather(rows, reader) : source_->gather(rows, reader);
}

std::vector<size_t> lane_windows::numbers(uint64_t step, size_t slice) const {
  const auto wanted = order_.positions(step, slice);
  const auto epoch = order_.epoch(plan_.epoch_of(step));
  std::vector<size_t> result;
  for (auto at = wanted.begin; at < wanted.end;) {
    const auto part = order_.window(epoch, slice, order_.window_at(epoch, slice, at));
    for (; at < std::min(wanted.end, part.positions.end); ++at)
      result.push_back(part.rows[at - part.positions.begin]);
  }
  return result;
}

batch lane_windows::of_slice(uint64_t step, size_t slice, batch_reader& reader) {
  const auto positions = order_.positions(step, slice);
  if (positions.empty())
    return {};
  const auto epoch = plan_.epoch_of(step);
  const bool goes_on = (epoch + 1) * plan_.steps_in_epoch() < plan_.last_version();
  const auto windows = open(epoch, slice, positions, goes_on);
  if (windows.size() == 1)
    return rows_of(*windows.front(), positions, reader);
  std::vector<batch_reader> readers(windows.size());
  std::vector<batch> parts;
  for (size_t i = 0; i < windows.size(); ++i)
    parts.push_back(rows_of(*windows[i], positions, readers[i]));
  return reader.join(parts);
}

std::optional<missed_class> class_missed_by_windows(const row_source& rows,
                                                    const lane_options& lanes,
                                                    const std::vector<size_t>& class_counts) {
  if (class_counts.empty())
    return std::nullopt;
  const lane_order order{lanes};
  const auto epoch = order.epoch(0);
  std::set<uint32_t> chunks;
  for (size_t slice = 0; slice < lanes.plan.slice_count; ++slice)
    if (order.window_count(epoch, slice) > 0)
      for (const auto chunk : order.window(epoch, slice, 0).chunks)
        chunks.insert(chunk);
  std::vector<size_t> found(class_counts.size());
  for (const auto chunk : chunks)
    for (const auto label : rows.labels_of_chunk(chunk))
      ++found[static_cast<size_t>(label)];
  const auto seen = std::accumulate(found.begin(), found.end(), 0.0);
  const auto all = std::accumulate(class_counts.begin(), class_counts.end(), 0.0);
  std::optional<missed_class> result;
  for (size_t c = 0; c < found.size(); ++c) {
    const auto expected = static_cast<size_t>(static_cast<double>(class_counts[c]) * seen / all);
    const bool is_missed = expected >= expected_min && found[c] * share_missed < expected;
    if (is_missed && (!result || expected - found[c] > result->expected - result->found))
      result = missed_class{c, expected, found[c]};
  }
  return result;
}

} // namespace troupe
