#include "coordinators/step/lane_order.hpp"

#include "models/base/random.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace troupe {

namespace {

// A seed for each (epoch, slice), and a sequence for each window of it.
random_sequence shuffle_of(uint64_t seed, uint64_t epoch, size_t slice, size_t window) {
  const auto words = random_sequence{seed, random_purpose::shuffle_window, epoch}.block(
    static_cast<uint32_t>(slice));
  return {uint64_t{words[1]} << 32 | words[0], random_purpose::shuffle_window, window};
}

} // namespace

lane_order::lane_order(lane_options options) : options_(std::move(options)) {
  const auto& x = options_;
  if (x.chunk_begins.empty() || x.chunk_begins.back() != x.plan.row_count)
    throw std::invalid_argument("lanes: the chunks do not have the rows of the timeline");
  begins_.push_back(0);
  const auto last_step = x.plan.steps_in_epoch() - 1;
  for (size_t slice = 0; slice < x.plan.slice_count; ++slice)
    begins_.push_back(begins_.back() + last_step * step_rows(slice) +
                      x.plan.rows_of_slice(last_step, slice).size());
}

size_t lane_order::step_rows(size_t slice) const {
  return options_.plan.rows_of_slice(0, slice).size();
}

index_range lane_order::lane_of(size_t slice) const {
  return {begins_[slice], begins_[slice + 1]};
}

lane_epoch lane_order::epoch(uint64_t number) const {
  lane_epoch result;
  result.epoch = number;
  const auto& begins = options_.chunk_begins;
  result.chunks = random_permutation({options_.seed, random_purpose::shuffle_chunks, number},
                                     static_cast<uint32_t>(begins.size() - 1));
  result.begins.reserve(begins.size());
  result.begins.push_back(0);
  for (const auto chunk : result.chunks)
    result.begins.push_back(result.begins.back() + begins[chunk + 1] - begins[chunk]);
  return result;
}

index_range lane_order::positions(uint64_t step, size_t slice) const {
  const auto& plan = options_.plan;
  const auto begin = static_cast<size_t>(step % plan.steps_in_epoch()) * step_rows(slice);
  return {begin, begin + plan.rows_of_slice(step, slice).size()};
}

size_t lane_order::chunk_at(const lane_epoch& order, size_t row) const {
  const auto after = std::ranges::upper_bound(order.begins, row);
  return static_cast<size_t>(after - order.begins.begin()) - 1;
}

size_t lane_order::window_at(const lane_epoch& order, size_t slice, size_t position) const {
  const auto lane = lane_of(slice);
  return (chunk_at(order, lane.begin + position) - chunk_at(order, lane.begin)) /
         options_.window_chunks;
}

size_t lane_order::window_count(const lane_epoch& order, size_t slice) const {
  const auto lane = lane_of(slice);
  return lane.empty() ? 0 : window_at(order, slice, lane.size() - 1) + 1;
}

lane_window lane_order::window(const lane_epoch& order, size_t slice, size_t number) const {
  const auto lane = lane_of(slice);
  const auto first = chunk_at(order, lane.begin) + number * options_.window_chunks;
  const auto last = std::min(first + options_.window_chunks, order.chunks.size());
  lane_window result;
  std::vector<uint32_t> rows; // as they come in the sequence
  const auto begin = std::max<size_t>(order.begins[first], lane.begin);
  const auto end = std::min<size_t>(order.begins[last], lane.end);
  result.positions = {begin - lane.begin, end - lane.begin};
  for (auto place = first; place < last; ++place) {
    const auto chunk = order.chunks[place];
    const auto from = std::max<size_t>(order.begins[place], begin);
    const auto to = std::min<size_t>(order.begins[place + 1], end);
    if (from >= to)
      continue;
    result.chunks.push_back(chunk);
    const auto offset = options_.chunk_begins[chunk] - order.begins[place];
    for (auto row = from; row < to; ++row)
      rows.push_back(static_cast<uint32_t>(offset + row));
  }
  result.rows = random_permutation(shuffle_of(options_.seed, order.epoch, slice, number),
                                   static_cast<uint32_t>(rows.size()));
  for (auto& row : result.rows)
    row = rows[row];
  return result;
}

} // namespace troupe
