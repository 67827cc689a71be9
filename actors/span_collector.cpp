#include "troupe/actors/span_collector.hpp"

#include "troupe/coordinators/placement.hpp"

#include <algorithm>

namespace troupe {

span_collector::span_collector(const std::vector<shard_entry>& shards, size_t parameter_count)
  : parameter_count_(parameter_count), parts_(shards.size()) {
  for (const auto& entry : shards)
    elements_.push_back(elements_of_blocks(entry.blocks, parameter_count));
}

span_collector::verdict span_collector::add(const parameter_span& part) {
  if (part.shard >= parts_.size() || part.values.values().size() != elements_[part.shard].size() ||
      !part.values.intact())
    return verdict::damaged;
  parts_[part.shard] = part.values;
  return verdict::accepted;
}

std::optional<const_buffer> span_collector::whole() const {
  if (!std::ranges::all_of(parts_, [](const auto& part) { return part.has_value(); }))
    return std::nullopt;
  if (const auto common = common_storage())
    return common;
  const buffer result{parameter_count_};
  for (size_t k = 0; k < parts_.size(); ++k)
    std::ranges::copy(parts_[k]->values(),
                      result.values().begin() + static_cast<std::ptrdiff_t>(elements_[k].begin));
  return result;
}

std::optional<const_buffer> span_collector::common_storage() const {
  std::optional<const_buffer> result;
  for (size_t k = 0; k < parts_.size(); ++k) {
    if (elements_[k].empty())
      continue;
    const auto& storage = parts_[k]->storage();
    const bool fits = storage.size() == parameter_count_ &&
                      parts_[k]->offset() == elements_[k].begin &&
                      (!result || result->same_storage(storage));
    if (!fits)
      return std::nullopt;
    result = storage;
  }
  return result;
}

} // namespace troupe
