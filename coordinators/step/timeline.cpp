#include "coordinators/step/timeline.hpp"

#include "models/base/saturating.hpp"

#include <algorithm>
#include <queue>
#include <utility>

namespace troupe {

namespace {

__extension__ using wide = unsigned __int128;

} // namespace

std::vector<holding_lanes> share_slices(const std::vector<size_t>& row_counts, size_t slice_count) {
  std::vector<holding_lanes> result;
  if (row_counts.size() > slice_count) {
    for (const auto rows : row_counts)
      result.push_back({rows});
    return result;
  }
  std::vector<size_t> counts(row_counts.size(), 1);
  // Longest lanes first, then the first holding.
  const auto comes_later = [&](size_t a, size_t b) {
    const auto x = wide{row_counts[a]} * counts[b], y = wide{row_counts[b]} * counts[a];
    return x < y || (x == y && a > b);
  };
  std::priority_queue<size_t, std::vector<size_t>, decltype(comes_later)> next{comes_later};
  for (size_t i = 0; i < counts.size(); ++i)
    next.push(i);
  for (auto left = slice_count - counts.size(); left > 0 && !next.empty(); --left) {
    const auto longest = next.top();
    next.pop();
    ++counts[longest];
    next.push(longest);
  }
  size_t begin = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    result.push_back({row_counts[i], {begin, begin + counts[i]}});
    begin += counts[i];
  }
  return result;
}

uint64_t timeline::steps_in_epoch() const {
  if (!has_held_steps())
    return (row_count + batch_size - 1) / batch_size;
  uint64_t result = 0;
  for (size_t i = 0; i < holdings.size(); ++i)
    result += steps_of(i);
  return result;
}

uint64_t timeline::steps_of(size_t holding) const {
  return (holdings[holding].row_count + batch_size - 1) / batch_size;
}

// Of a holding with k steps, those before (2 j + 1) / (2 K) have numbers i with (2 i + 1) K < (2 j + 1) k.
uint64_t timeline::place_of(const held_step& x) const {
  const wide all = steps_of(x.holding);
  uint64_t result = 0;
  for (size_t i = 0; i < holdings.size(); ++i) {
    const bool is_first = i < x.holding; // where two stand together
    result += static_cast<uint64_t>(
      (wide{2 * x.number + 1} * steps_of(i) + all - (is_first ? 0 : 1)) / (2 * all));
  }
  return result;
}

// All that stand before a step's place are as many as its share of the epoch, to half a step a holding. So of h holdings
// the number is within own * h / (2 all) + 1/2 of its share, and within 2 more than that, rounded down, of that rounded down.
uint64_t timeline::steps_of_before(size_t holding, uint64_t count) const {
  const auto all = steps_in_epoch(), own = steps_of(holding);
  const auto near = static_cast<uint64_t>(wide{count} * own / all);
  const auto off = static_cast<uint64_t>(wide{own} * holdings.size() / (2 * all)) + 2;
  auto begin = near - std::min(near, off), end = std::min(own, near + off);
  while (begin < end) {
    const auto middle = begin + (end - begin) / 2;
    if (place_of({holding, middle}) < count)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

uint64_t timeline::next_step_of(size_t holding, uint64_t step) const {
  const auto all = steps_in_epoch();
  const auto number = steps_of_before(holding, step % all);
  const bool is_next_epoch = number == steps_of(holding);
  return (step / all + (is_next_epoch ? 1 : 0)) * all +
         place_of({holding, is_next_epoch ? 0 : number});
}

held_step timeline::held_step_at(uint64_t step) const {
  const auto place = step % steps_in_epoch();
  for (size_t i = 0; i < holdings.size(); ++i) {
    const held_step found{i, steps_of_before(i, place)};
    if (found.number < steps_of(i) && place_of(found) == place)
      return found;
  }
  return {}; // not reached: the places of all steps are 0, 1, .. in some order
}

uint64_t timeline::version_after_epochs() const {
  return saturated_product(epoch_count, steps_in_epoch());
}

uint64_t timeline::last_version() const {
  const auto by_epochs = version_after_epochs();
  return step_limit ? std::min(by_epochs, *step_limit) : by_epochs;
}

index_range timeline::rows_of(uint64_t step) const {
  if (has_held_steps()) {
    const auto [holding, number] = held_step_at(step);
    const size_t begin = static_cast<size_t>(number) * batch_size;
    return {begin, std::min(begin + batch_size, holdings[holding].row_count)};
  }
  const size_t begin = static_cast<size_t>(step % steps_in_epoch()) * batch_size;
  return {begin, std::min(begin + batch_size, row_count)};
}

uint64_t timeline::rows_before(uint64_t version) const {
  const auto steps = steps_in_epoch();
  const auto whole = saturated_product(version / steps, row_count);
  uint64_t rest = version % steps * batch_size; // less than an epoch's rows
  if (has_held_steps()) {
    rest = 0;
    for (size_t i = 0; i < holdings.size(); ++i)
      rest +=
        std::min<uint64_t>(steps_of_before(i, version % steps) * batch_size, holdings[i].row_count);
  } else if (!holdings.empty() && rest > 0) {
    rest = 0;
    for (size_t slice = 0; slice < slice_count; ++slice)
      rest += rows_of_slice(version, slice).begin - lane_of(slice).begin;
  }
  return whole > std::numeric_limits<uint64_t>::max() - rest ? whole : whole + rest;
}

index_range timeline::rows_of_slice(uint64_t step, size_t slice) const {
  const auto rows = rows_of(step);
  if (!holdings.empty() && !has_held_steps()) {
    const auto lane = lane_of(slice);
    const auto given = [&](size_t rows_before) {
      const auto scaled = wide{lane.size()} * rows_before * slice_count + wide{slice} * row_count;
      return lane.begin + static_cast<size_t>(scaled / (wide{row_count} * slice_count));
    };
    return {given(rows.begin), given(rows.end)};
  }
  return {rows.begin + slice * rows.size() / slice_count,
          rows.begin + (slice + 1) * rows.size() / slice_count};
}

bool timeline::is_whole(uint64_t step) const {
  for (size_t slice = 0; slice < slice_count; ++slice)
    if (!slice_exists(step, slice))
      return false;
  return true;
}

size_t timeline::holding_of(uint64_t step, size_t slice) const {
  return has_held_steps() ? held_step_at(step).holding : holding_of_slice(slice);
}

size_t timeline::holding_of_slice(size_t slice) const {
  const auto after = std::ranges::upper_bound(
    holdings, slice, {}, [](const holding_lanes& x) { return x.slices.begin; });
  return after == holdings.begin() ? 0 : static_cast<size_t>(after - holdings.begin()) - 1;
}

index_range timeline::lane_of(size_t slice) const {
  const auto& [rows, slices] = holdings.at(holding_of_slice(slice));
  const auto lane = slice - slices.begin;
  return {lane * rows / slices.size(), (lane + 1) * rows / slices.size()};
}

bool timeline::is_row(uint64_t version) const {
  return version > 0 && last_row(version) == version;
}

uint64_t timeline::next_row(uint64_t version) const {
  const auto period = saturated_product(history_every, steps_in_epoch());
  const auto rest = period - version % period;
  const auto max = std::numeric_limits<uint64_t>::max();
  const auto next = version > max - rest ? max : version + rest;
  const auto evaluated = next_evaluation(version);
  return evaluated > version ? std::min(next, evaluated) : next;
}

uint64_t timeline::last_row(uint64_t version) const {
  const auto at_or_below = [&](size_t epochs) {
    return version - version % saturated_product(epochs, steps_in_epoch());
  };
  if (version == last_version())
    return version;
  return std::max(at_or_below(history_every), evaluate_every > 0 ? at_or_below(evaluate_every) : 0);
}

bool timeline::evaluates(uint64_t version) const {
  return version == last_version() || schedules_evaluation(version);
}

bool timeline::schedules_evaluation(uint64_t version) const {
  return evaluate_every > 0 && version > 0 &&
         version % saturated_product(evaluate_every, steps_in_epoch()) == 0;
}

uint64_t timeline::next_evaluation(uint64_t version) const {
  if (evaluate_every == 0)
    return last_version();
  const auto period = saturated_product(evaluate_every, steps_in_epoch());
  return std::min((version / period + 1) * period, last_version());
}

size_t evaluation_chunk_count(size_t row_count) {
  return (row_count + evaluation_chunk_rows - 1) / evaluation_chunk_rows;
}

index_range evaluation_chunk(size_t row_count, size_t chunk) {
  const auto begin = chunk * evaluation_chunk_rows;
  return {begin, std::min(begin + evaluation_chunk_rows, row_count)};
}

chunked_rows::chunked_rows(std::vector<size_t> row_counts) : row_counts_(std::move(row_counts)) {
  for (const auto count : row_counts_) {
    row_count_ += count;
    chunk_count_ += evaluation_chunk_count(count);
  }
}

index_range chunked_rows::rows_of_chunk(size_t chunk) const {
  size_t begin = 0;
  for (const auto count : row_counts_) {
    const auto chunks = evaluation_chunk_count(count);
    if (chunk < chunks) {
      const auto rows = evaluation_chunk(count, chunk);
      return {begin + rows.begin, begin + rows.end};
    }
    chunk -= chunks;
    begin += count;
  }
  return {begin, begin};
}

index_range chunked_rows::chunks_of(size_t holding) const {
  size_t begin = 0;
  for (size_t i = 0; i < holding; ++i)
    begin += evaluation_chunk_count(row_counts_[i]);
  return {begin, begin + evaluation_chunk_count(row_counts_.at(holding))};
}

evaluation_rows evaluated_rows(size_t test, size_t validation,
                               const std::vector<holding_size>& holdings) {
  const auto chunked = [&](size_t holding_size::*part, size_t row_count) {
    std::vector<size_t> rows;
    for (const auto& one : holdings)
      rows.push_back(one.*part);
    const bool are_theirs = std::ranges::any_of(rows, [](size_t count) { return count > 0; });
    return are_theirs ? chunked_rows{std::move(rows)} : chunked_rows{row_count};
  };
  return {chunked(&holding_size::test, test), chunked(&holding_size::validation, validation)};
}

} // namespace troupe
