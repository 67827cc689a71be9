#include "troupe/coordinators/version_gathering.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

/// Beyond the version in hand, announcements of this many more may be under way.
constexpr uint64_t versions_ahead_max = 2;

} // namespace

version_gathering::version_gathering(std::vector<index_range> spans, std::optional<uint64_t> first)
  : spans_(std::move(spans)), wanted_(first) {
  for (const auto& span : spans_)
    element_count_ = std::max(element_count_, span.end);
}

gather_verdict version_gathering::offer(uint64_t version, const index_range& elements) {
  if (elements.begin >= elements.end || elements.end > element_count_)
    return gather_verdict::malformed;
  if (held_ ? version <= *held_ : wanted_ && version < *wanted_)
    return gather_verdict::stale;
  if (wanted_ && version >= *wanted_ + versions_ahead_max)
    return gather_verdict::early;
  if (!here_[version].add(elements))
    return gather_verdict::known;
  settle();
  return gather_verdict::accepted;
}

bool version_gathering::is_whole(const span_set& here) const {
  return std::ranges::all_of(spans_, [&](const index_range& span) { return here.contains(span); });
}

void version_gathering::settle() {
  for (auto& [version, here] : here_) {
    auto& told = told_[version];
    told.resize(spans_.size());
    for (size_t k = 0; k < spans_.size(); ++k) {
      if (told[k] || spans_[k].empty() || !here.contains(spans_[k]))
        continue;
      told[k] = true;
      news_.push_back({version, k});
    }
  }
  for (auto at = here_.begin(); at != here_.end(); ++at)
    if ((!wanted_ || at->first >= *wanted_) && is_whole(at->second)) {
      held_ = at->first;
      wanted_ = at->first + 1;
    }
  if (!held_)
    return;
  here_.erase(here_.begin(), here_.upper_bound(*held_));
  told_.erase(told_.begin(), told_.upper_bound(*held_));
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
