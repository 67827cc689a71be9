#include "data/training_rows/stored_source.hpp"

#include "data/source/text_source.hpp"
#include "models/base/copy_values.hpp"
#include "models/base/rounding.hpp"

#include <algorithm>
#include <numeric>
#include <system_error>
#include <utility>

namespace troupe {

stored_chunks::~stored_chunks() {
  {
    std::lock_guard guard{mutex_};
    stopped_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable())
    thread_.join();
}

stored_chunk_ptr stored_chunks::find_or_make(uint32_t number) {
  auto& known = known_[number];
  if (auto found = known.lock())
    return found;
  const auto result = std::make_shared<stored_chunk>();
  result->number_ = number;
  known = result;
  return result;
}

std::vector<stored_chunk_ptr> stored_chunks::ahead(std::span<const uint32_t> numbers) {
  std::vector<stored_chunk_ptr> result;
  {
    std::lock_guard guard{mutex_};
    std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
    for (const auto number : numbers) {
      result.push_back(find_or_make(number));
      if (result.back()->state_ == stored_chunk::state::wanted)
        ahead_.push_back(result.back());
    }
    try {
      if (!thread_.joinable())
        thread_ = std::thread{[this] { run(); }};
    } catch (const std::system_error&) { // no more threads: whoever needs a chunk reads it
      ahead_.clear();
    }
  }
  changed_.notify_all();
  return result;
}

stored_chunk_ptr stored_chunks::hold(uint32_t number) {
  std::lock_guard guard{mutex_};
  auto result = find_or_make(number);
  std::erase(recent_, result);
  recent_.push_back(result);
  if (recent_.size() > recent_max)
    recent_.pop_front();
  return result;
}

const rows_chunk& stored_chunks::rows_of(const stored_chunk_ptr& chunk) {
  std::unique_lock lock{mutex_};
  if (chunk->state_ == stored_chunk::state::wanted)
    read(chunk, lock);
  // Who reads ends: with the rows or with an error.
  changed_.wait(lock, [&] { return chunk->state_ == stored_chunk::state::there; });
  if (chunk->error_)
    std::rethrow_exception(chunk->error_);
  return chunk->rows_;
}

void stored_chunks::read(const stored_chunk_ptr& chunk, std::unique_lock<std::mutex>& lock) {
  chunk->state_ = stored_chunk::state::being_read;
  lock.unlock();
  rows_chunk rows;
  std::exception_ptr error;
  try {
    rows = rows_->read_chunk(chunk->number_);
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  chunk->rows_ = std::move(rows);
  chunk->error_ = error;
  chunk->state_ = stored_chunk::state::there;
  changed_.notify_all();
}

void stored_chunks::run() {
  std::unique_lock lock{mutex_};
  for (;;) {
    changed_.wait(lock, [this] { return stopped_ || !ahead_.empty(); });
    if (stopped_)
      return;
    const auto next = ahead_.front().lock();
    ahead_.pop_front();
    if (next && next->state_ == stored_chunk::state::wanted)
      read(next, lock);
  }
}

namespace {

/// As far ahead as rows in memory are asked for (batch_reader.cpp).
constexpr size_t bytes_ahead = 4096;
constexpr size_t bytes_of_line = 64;

} // namespace

stored_source::stored_source(std::shared_ptr<stored_data> data, row_part part)
  : data_(std::move(data)),
    part_(part),
    begins_(std::make_shared<const std::vector<uint64_t>>(data_->split.begins_of(part))) {}

stored_source::stored_source(const stored_source& whole, held_chunks held)
  : data_(whole.data_), part_(whole.part_), begins_(whole.begins_), held_(std::move(held)) {}

uint32_t stored_source::chunk_of(uint32_t row) const {
  if (data_->split.keeps_all_for_training())
    return static_cast<uint32_t>(row / data_->header().chunk_rows);
  return static_cast<uint32_t>(std::ranges::upper_bound(*begins_, row) - begins_->begin()) - 1;
}

stored_source::held_chunk stored_source::hold(const stored_chunk_ptr& chunk) const {
  held_chunk result{chunk->number(), chunk, {}};
  if (data_->split.keeps_all_for_training())
    return result;
  const auto parts = data_->split.parts_of(chunk->number());
  for (uint32_t i = 0; i < parts.size(); ++i)
    if (parts[i] == part_)
      result.rows.push_back(i);
  return result;
}

std::shared_ptr<const row_source> stored_source::window(std::span<const uint32_t> numbers) const {
  held_chunks held;
  for (const auto& chunk : data_->chunks.ahead(numbers))
    held.push_back(hold(chunk));
  std::ranges::sort(held, {}, &held_chunk::number);
  return std::shared_ptr<const row_source>{new stored_source{*this, std::move(held)}};
}

std::vector<int32_t> stored_source::labels_of_chunk(size_t chunk) const {
  const auto labels = data_->chunks.all().read_targets(chunk).labels;
  const auto parts = data_->split.parts_of(chunk);
  std::vector<int32_t> result;
  for (size_t i = 0; i < labels.size(); ++i)
    if (parts[i] == part_)
      result.push_back(labels[i]);
  return result;
}

stored_source::held_chunks stored_source::hold_missing(std::span<const uint32_t> rows) const {
  std::vector<uint32_t> numbers;
  for (const auto row : rows)
    if (const auto number = chunk_of(row); numbers.empty() || numbers.back() != number)
      numbers.push_back(number);
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  held_chunks result;
  for (const auto number : numbers)
    if (!std::ranges::binary_search(held_, number, {}, &held_chunk::number))
      result.push_back(hold(data_->chunks.hold(number)));
  return result;
}

batch stored_source::range(size_t begin, size_t count, batch_reader& reader) const {
  std::vector<uint32_t> rows(count);
  std::iota(rows.begin(), rows.end(), static_cast<uint32_t>(begin));
  return gather(rows, reader);
}

batch stored_source::gather(std::span<const uint32_t> rows, batch_reader& reader) const {
  const auto& header = data_->header();
  // A window has all of its rows' chunks; what else is asked for is read now.
  const auto more = held_.empty() ? hold_missing(rows) : held_chunks{};
  const auto& held = held_.empty() ? more : held_;
  struct place {
    const rows_chunk* chunk;
    size_t row;
  };
  std::vector<const rows_chunk*> chunks(held.size());
  std::vector<place> places;
  places.reserve(rows.size());
  for (const auto row : rows) {
    const auto number = chunk_of(row);
    const auto found = std::ranges::lower_bound(held, number, {}, &held_chunk::number);
    auto& chunk = chunks[static_cast<size_t>(found - held.begin())];
    if (!chunk)
      chunk = &data_->chunks.rows_of(found->chunk);
    const auto in_part = row - (*begins_)[number];
    places.push_back({chunk, found->rows.empty() ? in_part : found->rows[in_part]});
  }
  const auto room = reader.room(rows.size(), header.feature_count, header.target_count());
  copy_values(rows, room.numbers.begin());
  const auto width = header.feature_bytes();
  const auto ahead = std::max<size_t>(bytes_ahead / width, 1);
  for (size_t i = 0; i < places.size(); ++i) {
    if (i + ahead < places.size()) {
      const auto& next = places[i + ahead];
      for (size_t at = 0; at < width; at += bytes_of_line)
        __builtin_prefetch(next.chunk->features.data() + next.row * width + at);
    }
    const auto& [chunk, row] = places[i];
    const auto out = room.features.subspan(i * header.feature_count, header.feature_count);
    copy_features(header, *chunk, row, out);
    if (header.is_classification())
      room.labels[i] = chunk->labels[row];
    else
      copy_values(
        std::span{chunk->targets}.subspan(row * header.target_count(), header.target_count()),
        room.targets.begin() + static_cast<std::ptrdiff_t>(i * header.target_count()));
  }
  if (!data_->features.empty())
    standardize(data_->features, room.features);
  return room.rows();
}

namespace {

// Labels or targets of the rows for testing and validation: figures are compared with them.
void read_kept_targets(const row_chunks& rows, const chunk_split& split, prepared_data& out) {
  const auto width = static_cast<std::ptrdiff_t>(rows.header().target_count());
  for (uint64_t number = 0; number < rows.header().chunk_count(); ++number) {
    reading_stop::check();
    const auto some = rows.read_targets(number);
    const auto parts = split.parts_of(number);
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i] == row_part::train)
        continue;
      auto& to = parts[i] == row_part::test ? out.test : out.validation;
      if (rows.header().is_classification()) {
        to.labels.push_back(some.labels[i]);
        continue;
      }
      const auto begin = some.targets.begin() + static_cast<std::ptrdiff_t>(i) * width;
      to.targets.insert(to.targets.end(), begin, begin + width);
    }
  }
}

target_scale scale_of_training_rows(const row_chunks& rows, const chunk_split& split,
                                    target_scale_kind kind) {
  const auto width = rows.header().target_count();
  target_scale_fit fit{kind, width};
  for (uint64_t number = 0; number < rows.header().chunk_count(); ++number) {
    reading_stop::check();
    const auto some = rows.read_targets(number);
    const auto parts = split.parts_of(number);
    for (size_t i = 0; i < parts.size(); ++i)
      if (parts[i] == row_part::train)
        fit.add(std::span{some.targets}.subspan(i * width, width));
  }
  return fit.result();
}

} // namespace

prepared_data prepare_stored(std::shared_ptr<const row_chunks> rows,
                             const prepare_options& options) {
  const default_rounding rounding;
  const auto header = rows->header();
  const chunk_split split{options.seed, header.row_count, header.chunk_rows, options.parts};
  prepared_data result;
  result.fingerprint = rows->fingerprint();
  result.chunk_rows = header.chunk_rows;
  result.chunk_begins = split.begins_of(row_part::train);
  result.train = result.test = result.validation = names_of(header);
  result.train.row_count = result.chunk_begins.back();
  result.test.row_count = split.sizes().test;
  result.validation.row_count = split.sizes().validation;
  if (options.standardizes())
    result.features =
      options.features
        ? *options.features
        : standardization_of({header.row_count, header.column_means, header.column_squares});
  auto& facts = result.facts;
  facts.target_minimum = header.target_minimum;
  facts.target_maximum = header.target_maximum;
  facts.train_class_rows.assign(header.class_rows.begin(), header.class_rows.end());
  if (!split.keeps_all_for_training()) {
    read_kept_targets(*rows, split, result);
    for (const auto* kept : {&result.test, &result.validation})
      for (const auto label : kept->labels)
        --facts.train_class_rows[static_cast<size_t>(label)];
  }
  if (options.scale && !header.is_classification())
    result.scale = *options.scale;
  else if (!header.is_classification() && options.target_scale != target_scale_kind::none)
    result.scale = scale_of_training_rows(*rows, split, options.target_scale);
  const auto data = std::make_shared<stored_data>(std::move(rows), split, result.features);
  result.stored.train = std::make_shared<stored_source>(data, row_part::train);
  result.stored.test = std::make_shared<stored_source>(data, row_part::test);
  result.stored.validation = std::make_shared<stored_source>(data, row_part::validation);
  return result;
}

} // namespace troupe
