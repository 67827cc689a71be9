#include "actors/director/checkpoint_drafts.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

void checkpoint_drafts::begin_term(std::vector<tensor_source> owners) {
  drafts_.clear();
  owners_ = std::move(owners);
}

std::optional<expectation> checkpoint_drafts::expect(uint64_t version) {
  const auto [place, is_new] = drafts_.try_emplace(version);
  if (!is_new)
    return std::nullopt;
  expectation what;
  what.kind = tensor_kind::state;
  what.key = version;
  what.elements = {0, parameter_count_};
  what.parts = {0, 1 + slot_count_};
  what.sink = [this](const tensor_name& of, uint64_t first, const float_view& values) {
    sink_({of.key, parameter_count_, slot_count_, of.part, first}, values);
  };
  return what;
}

void checkpoint_drafts::set_memory(checkpoint memory, moment now) {
  drafts_.at(memory.version).memory = std::move(memory);
  numbers_clock_.restart(now);
}

void checkpoint_drafts::drop_from(uint64_t version) {
  drafts_.erase(drafts_.lower_bound(version), drafts_.end());
}

void checkpoint_drafts::on_arrived(const tensor_arrived& news) {
  if (const auto found = drafts_.find(news.of.key); found != drafts_.end())
    ++found->second.tensor_count;
}

bool checkpoint_drafts::on_numbers(const shard_numbers& news) {
  const auto found = drafts_.find(news.version);
  return found != drafts_.end() && found->second.told.try_emplace(news.first_element, news).second;
}

bool checkpoint_drafts::has_numbers(const draft& x) const {
  return std::ranges::all_of(owners_, [&](const tensor_source& one) {
    return one.elements.empty() || x.told.contains(one.elements.begin);
  });
}

std::optional<checkpoint> checkpoint_drafts::take_complete() {
  const auto found = std::ranges::find_if(drafts_, [this](const auto& entry) {
    return entry.second.memory && has_tensors(entry.second) && has_numbers(entry.second);
  });
  if (found == drafts_.end())
    return std::nullopt;
  auto& x = found->second;
  auto result = std::move(*x.memory);
  result.slots.resize(slot_count_);
  for (const auto& [first, one] : x.told) {
    if (!one.numbers.empty())
      result.optimizer_numbers = one.numbers;
    if (one.keeps_metrics)
      result.metrics = one.metrics;
  }
  drafts_.erase(drafts_.begin(), std::next(found));
  return result;
}

bool checkpoint_drafts::is_awaiting() const {
  return std::ranges::any_of(drafts_,
                             [](const auto& entry) { return entry.second.memory.has_value(); });
}

std::vector<send_want> checkpoint_drafts::due(moment now) {
  std::vector<send_want> result;
  if (drafts_.empty() || !numbers_clock_.due(now))
    return result;
  for (const auto& [version, x] : drafts_)
    if (x.memory && has_tensors(x))
      for (const auto& one : owners_)
        if (!one.elements.empty() && !x.told.contains(one.elements.begin))
          result.push_back(
            {one.peer, {{tensor_kind::state, x.memory->term, version, only_leaf, 0}, {}, false}});
  return result;
}

} // namespace troupe
