#include "coordinators/base/span_set.hpp"

#include <algorithm>

namespace troupe {

bool span_set::add(const index_range& range) {
  if (contains(range))
    return false;
  index_range grown = range;
  const auto touches = [&](const index_range& other) {
    return other.begin <= grown.end && grown.begin <= other.end;
  };
  const auto first = std::ranges::find_if(ranges_, touches);
  auto last = first;
  while (last != ranges_.end() && touches(*last)) {
    grown = {std::min(grown.begin, last->begin), std::max(grown.end, last->end)};
    ++last;
  }
  if (first != last) {
    *first = grown;
    ranges_.erase(first + 1, last);
  } else {
    ranges_.insert(
      std::ranges::find_if(ranges_, [&](const index_range& r) { return r.begin > range.begin; }),
      grown);
  }
  return true;
}

index_range span_set::first_missing_in(const index_range& range) const {
  auto begin = range.begin;
  for (const auto& held : ranges_) {
    if (held.begin > begin)
      return {begin, std::max(begin, std::min(held.begin, range.end))};
    begin = std::max(begin, held.end);
  }
  return {begin, std::max(begin, range.end)};
}

std::vector<index_range> span_set::missing_in(const index_range& range) const {
  std::vector<index_range> result;
  auto begin = range.begin;
  for (const auto& held : ranges_) {
    if (held.begin >= range.end)
      break;
    if (held.begin > begin)
      result.push_back({begin, held.begin});
    begin = std::max(begin, held.end);
  }
  if (begin < range.end)
    result.push_back({begin, range.end});
  return result;
}

} // namespace troupe
