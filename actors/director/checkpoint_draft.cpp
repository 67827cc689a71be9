#include "troupe/actors/director/checkpoint_draft.hpp"

#include <utility>

namespace troupe {

bool checkpoint_draft::offer(const shard_numbers& news) {
  if (news.version != version() || !told_.insert(news.first_element).second)
    return false;
  if (!news.numbers.empty())
    numbers_ = news.numbers;
  if (news.keeps_book)
    book_ = news.book;
  return true;
}

std::vector<index_range> checkpoint_draft::missing(const std::vector<index_range>& spans) const {
  span_set result;
  for (const auto& range : state_.missing())
    result.add(range);
  for (const auto& span : spans)
    if (!span.empty() && !told_.contains(span.begin))
      result.add(span);
  return result.ranges();
}

std::optional<checkpoint> checkpoint_draft::take(const std::vector<index_range>& spans) {
  if (!memory_ || !missing(spans).empty())
    return std::nullopt;
  auto result = std::move(*memory_);
  result.parameters = state_.tensor(0);
  for (size_t i = 1; i < state_.tensor_count(); ++i)
    result.slots.push_back(state_.tensor(i));
  result.optimizer_numbers = numbers_;
  result.book = book_;
  return result;
}

} // namespace troupe
