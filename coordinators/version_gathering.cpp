#include "troupe/coordinators/version_gathering.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

version_gathering::version_gathering(std::vector<index_range> spans, std::optional<uint64_t> first)
  : spans_(std::move(spans)), wanted_(first), next_(first) {
  for (const auto& span : spans_)
    element_count_ = std::max(element_count_, span.end);
}

gather_verdict version_gathering::offer(uint64_t version, const index_range& elements) {
  if (elements.begin >= elements.end || elements.end > element_count_)
    return gather_verdict::malformed;
  if (wanted_ && version < *wanted_)
    return gather_verdict::stale;
  if (wanted_ && version > *wanted_ + 1)
    wanted_ = version - 1;
  if (!here_[version].add(elements))
    return gather_verdict::known;
  settle();
  return gather_verdict::accepted;
}

bool version_gathering::is_whole(const span_set& here) const {
  return std::ranges::all_of(spans_, [&](const index_range& span) { return here.contains(span); });
}

void version_gathering::settle() {
  for (const auto& [version, here] : here_) {
    if ((wanted_ && version < *wanted_) || !is_whole(here))
      continue;
    tell(version);
    held_ = version;
    wanted_ = next_ = version + 1;
  }
  if (!wanted_)
    return;
  here_.erase(here_.begin(), here_.lower_bound(*wanted_));
  if (here_.contains(*wanted_))
    tell(*wanted_);
}

void version_gathering::tell(uint64_t version) {
  if (told_version_ != version)
    told_.assign(spans_.size(), false);
  told_version_ = version;
  for (size_t k = 0; k < spans_.size(); ++k) {
    if (told_[k] || spans_[k].empty() || !here_.at(version).contains(spans_[k]))
      continue;
    told_[k] = true;
    news_.push_back({version, k, next_ != version});
    next_ = version;
  }
}

std::vector<version_gathering::whole_span> version_gathering::take_whole_spans() {
  return std::exchange(news_, {});
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
