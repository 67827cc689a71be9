#include "troupe/actors/director/state_collector.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

state_collector::state_collector(uint64_t version, size_t element_count, size_t slot_count,
                                 std::shared_ptr<buffer_pool> pool)
  : version_(version),
    element_count_(element_count),
    pool_(pool ? std::move(pool) : std::make_shared<buffer_pool>(element_count)),
    parts_(slot_count + 1) {}

bool state_collector::offer(const state_piece& news) {
  const auto values = news.values.values();
  if (news.version != version_ || news.slot >= parts_.size() || values.empty() ||
      news.first_element > element_count_ || values.size() > element_count_ - news.first_element ||
      !news.values.intact())
    return false;
  auto& to = parts_[news.slot];
  const bool first = to.here.ranges().empty();
  if (!to.here.add({news.first_element, news.first_element + values.size()}))
    return false;
  const auto& storage = news.values.storage();
  const bool in_place =
    storage.size() == element_count_ && news.values.offset() == news.first_element;
  if (first && in_place)
    to.shared = storage;
  if (!to.own && in_place && to.shared && to.shared.same_storage(storage))
    return true;
  copy(to, news);
  return true;
}

void state_collector::copy(part& to, const state_piece& news) {
  if (!to.own) {
    to.own = pool_->acquire();
    if (to.shared)
      std::ranges::copy(to.shared.values(), to.own.values().begin());
    to.shared = {};
  }
  std::ranges::copy(news.values.values(),
                    to.own.values().begin() + static_cast<std::ptrdiff_t>(news.first_element));
}

bool state_collector::is_whole() const {
  return missing().empty();
}

std::vector<index_range> state_collector::missing() const {
  span_set result;
  for (const auto& each : parts_)
    for (const auto& range : each.here.missing_in({0, element_count_}))
      result.add(range);
  return result.ranges();
}

const_buffer state_collector::tensor(size_t slot) const {
  const auto& from = parts_.at(slot);
  return from.own ? const_buffer{from.own} : from.shared;
}

} // namespace troupe
