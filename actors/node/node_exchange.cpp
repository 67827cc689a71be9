#include "troupe/actors/node/node_exchange.hpp"

#include <algorithm>
#include <cstring>

namespace troupe {

namespace {

/// Versions of a span, and copies of its state, that somebody may still ask for.
constexpr size_t kept_max = 2;

template <class T>
void keep_newest(std::map<uint64_t, T>& entries) {
  while (entries.size() > kept_max)
    entries.erase(entries.begin());
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

} // namespace

index_range common_part(const index_range& a, const index_range& b) {
  const auto begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

payload part_of(const payload& values, uint64_t first_element, const index_range& elements) {
  return {values.storage(), values.offset() + (elements.begin - first_element), elements.size()};
}

std::vector<index_range> cut(const index_range& elements, size_t size) {
  std::vector<index_range> result;
  for (auto begin = elements.begin; begin < elements.end; begin += size)
    result.push_back({begin, std::min(begin + size, elements.end)});
  return result;
}

shard_desk::accepted_piece shard_desk::offer(const gradient_piece& news) {
  const auto values = news.values.values();
  const index_range elements{news.first_element, news.first_element + values.size()};
  const auto verdict = gathering.offer(news.step, news.node, elements);
  if (verdict.verdict == gather_verdict::known) {
    const auto& held = gradients.at(news.node);
    const auto known =
      held.storage ? std::span<const float>{held.storage.values()} : held.values.values();
    const auto part = known.subspan(elements.begin - span().begin, elements.size());
    const bool same = same_bits(part, values) && held.sums == news.sums;
    return {same ? piece_verdict::ignored : piece_verdict::conflict, {}};
  }
  if (verdict.verdict != gather_verdict::accepted)
    return {};
  auto& held = gradients[news.node];
  held.sums = news.sums;
  held.replica = news.replica;
  held.computed = std::max(held.computed, news.computed);
  if (elements == span()) {
    held.values = news.values;
    held.storage = {};
  } else {
    // Recycled: at each step anew, memory of this size would come zeroed from the kernel.
    if (!storages)
      storages = std::make_shared<buffer_pool>(span().size());
    if (!held.storage)
      held.storage = storages->acquire();
    std::ranges::copy(values, held.storage.values().begin() +
                                static_cast<std::ptrdiff_t>(elements.begin - span().begin));
  }
  accepted_piece result{piece_verdict::accepted, {}};
  if (verdict.whole)
    result.whole = contribution{
      news.step,    news.node,
      span().begin, held.storage ? payload{held.storage, 0, span().size()} : held.values,
      held.sums,    held.replica,
      news.term,    false,
      held.computed};
  return result;
}

void shard_desk::advance(uint64_t version, const payload& parameters) {
  versions[version] = parameters;
  keep_newest(versions);
  if (version <= gathering.version())
    return;
  gathering.advance(version);
  gradients.clear();
}

void shard_desk::keep_copy(const shard_copy& copy) {
  copies[copy.version] = copy;
  keep_newest(copies);
}

restoring_state::restoring_state(uint64_t version, std::vector<index_range> spans,
                                 size_t slot_count)
  : version_(version),
    spans_(std::move(spans)),
    here_(slot_count + 1),
    slots_(spans_.size()),
    numbers_(spans_.size()) {
  for (size_t k = 0; k < spans_.size(); ++k)
    for (size_t i = 0; i < slot_count; ++i)
      slots_[k].emplace_back(spans_[k].size());
}

bool restoring_state::offer(const state_piece& news, buffer& parameters) {
  const auto values = news.values.values();
  if (news.version != version_ || news.slot >= here_.size() || values.empty() ||
      news.first_element + values.size() > parameters.size())
    return false;
  const index_range elements{news.first_element, news.first_element + values.size()};
  bool is_news = false;
  for (size_t k = 0; k < spans_.size(); ++k) {
    const auto part = common_part(elements, spans_[k]);
    if (part.empty() || !here_[news.slot].add(part))
      continue;
    is_news = true;
    const auto source = values.subspan(part.begin - elements.begin, part.size());
    const auto target =
      news.slot == 0
        ? parameters.values().subspan(part.begin, part.size())
        : slots_[k][news.slot - 1].values().subspan(part.begin - spans_[k].begin, part.size());
    std::ranges::copy(source, target.begin());
  }
  return is_news;
}

bool restoring_state::offer(const shard_numbers& news) {
  if (news.version != version_)
    return false;
  bool is_news = false;
  for (size_t k = 0; k < spans_.size(); ++k)
    if (spans_[k].begin == news.first_element && !numbers_[k]) {
      numbers_[k] = news;
      is_news = true;
    }
  return is_news;
}

bool restoring_state::is_whole() const {
  return missing().empty();
}

std::vector<index_range> restoring_state::missing() const {
  span_set result;
  for (size_t k = 0; k < spans_.size(); ++k) {
    if (!numbers_[k] && !spans_[k].empty())
      result.add(spans_[k]);
    for (const auto& here : here_)
      for (const auto& range : here.missing_in(spans_[k]))
        result.add(range);
  }
  return result.ranges();
}

std::vector<payload> restoring_state::slots_of(size_t index) const {
  std::vector<payload> result;
  for (const auto& slot : slots_.at(index))
    result.emplace_back(slot, 0, slot.size());
  return result;
}

} // namespace troupe
