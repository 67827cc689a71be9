#include "actors/spans/span_start.hpp"

#include "coordinators/step/placement.hpp"
#include "models/base/own_copy.hpp"

namespace troupe {

std::optional<saved_state> saved_span_of(const shard_start& start, const index_range& elements,
                                         const state_shape& saved) {
  saved_state result;
  result.numbers = start.numbers.numbers;
  for (const auto& slot : start.slots) {
    if (slot.size() != elements.size())
      return std::nullopt;
    const bool is_whole = slot.storage().size() == slot.size();
    result.vectors.push_back(is_whole ? slot.storage() : own_copy(slot.values()));
  }
  return result.shape() == saved ? std::optional{std::move(result)} : std::nullopt;
}

const_buffer first_parameters(const shard_start& start, uint64_t version,
                              const index_range& elements) {
  const const_buffer whole = start.versions->of(version);
  return elements.size() == whole.size()
           ? whole
           : own_copy(whole.values().subspan(elements.begin, elements.size()));
}

index_range own_elements(const view& at, size_t parameter_count) {
  return at.shards.empty() ? index_range{0, parameter_count}
                           : elements_of_blocks(at.shards.at(at.index).blocks, parameter_count);
}

} // namespace troupe
