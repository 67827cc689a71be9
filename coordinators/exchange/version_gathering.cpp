#include "troupe/coordinators/exchange/version_gathering.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace troupe {

version_gathering::version_gathering(std::vector<index_range> spans, std::optional<uint64_t> first)
  : spans_(std::move(spans)), wanted_(first) {
  for (const auto& span : spans_)
    element_count_ = std::max(element_count_, span.end);
}

gather_verdict version_gathering::offer(uint64_t version, const index_range& elements) {
  if (elements.begin >= elements.end || elements.end > element_count_)
    return gather_verdict::malformed;
  if (wanted_ && version < *wanted_)
    return gather_verdict::stale;
  if (here_.size() == gathered_versions_max && !here_.contains(version)) {
    if (version < here_.begin()->first)
      return gather_verdict::stale;
    here_.erase(here_.begin());
  }
  if (!here_[version].add(elements))
    return gather_verdict::known;
  settle();
  return gather_verdict::accepted;
}

bool version_gathering::is_whole(const span_set& here) const {
  return std::ranges::all_of(spans_, [&](const index_range& span) { return here.contains(span); });
}

void version_gathering::settle() {
  const auto newest = std::find_if(here_.rbegin(), here_.rend(),
                                   [this](const auto& entry) { return is_whole(entry.second); });
  if (newest == here_.rend())
    return;
  const auto version = newest->first;
  const bool jump = version != wanted_ || news_;
  news_ = whole_version{version, jump};
  held_ = version;
  wanted_ = version + 1;
  here_.erase(here_.begin(), here_.upper_bound(version));
}

std::optional<version_gathering::whole_version> version_gathering::take_whole() {
  return std::exchange(news_, std::nullopt);
}

std::vector<index_range> version_gathering::missing() const {
  std::vector<index_range> result;
  const auto found = wanted_ ? here_.find(*wanted_) : here_.end();
  for (const auto& span : spans_) {
    if (span.empty())
      continue;
    if (found == here_.end()) {
      result.push_back(span);
      continue;
    }
    const auto missing = found->second.missing_in(span);
    result.insert(result.end(), missing.begin(), missing.end());
  }
  return result;
}

} // namespace troupe
