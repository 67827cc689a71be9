#include "troupe/actors/base/lane_mixing.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace troupe {

namespace {

constexpr size_t expected_min = 20;
constexpr size_t share_missed = 4;

} // namespace

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
