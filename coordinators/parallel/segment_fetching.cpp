#include "coordinators/parallel/segment_fetching.hpp"

#include "coordinators/parallel/tile_window.hpp"

#include <algorithm>

namespace troupe {

segment_fetching::segment_fetching(const segment_chain& chain, const partition& own)
  : segments_(own.segments) {
  for (auto k = segments_.begin; k < segments_.end; ++k)
    windows_.push_back(std::make_shared<const element_window>(
      elements_read(chain, {own.slices, {k, k + 1}, own.parts})));
}

void segment_fetching::begin(tile_rule::work_kind kind, size_t item_count,
                             const windowed_buffer& at_hand) {
  end();
  at_hand_ = at_hand;
  item_count_ = item_count;
  for (auto k = segments_.begin; k < segments_.end && at_hand.window && item_count > 0; ++k) {
    const auto& runs = windows_[k - segments_.begin]->runs();
    if (!std::ranges::all_of(
          runs, [&](const element_window::run& x) { return at_hand.window->contains(x.elements); }))
      fetched_.push_back(k);
  }
  plan_turns(kind);
  ask();
}

// The last ones forward are the first ones back.
void segment_fetching::plan_turns(tile_rule::work_kind kind) {
  const auto count = fetched_.size();
  const bool goes_back = kind == tile_rule::work_kind::step;
  const auto stays = goes_back ? count - std::min(fetched_segments_max, count) : count;
  for (size_t i = 0; i < count; ++i)
    turns_.push_back({fetched_[i], i < stays ? tile_way::forward : tile_way::backward});
  for (size_t i = stays; goes_back && i-- > 0;)
    turns_.push_back({fetched_[i], tile_way::backward});
}

void segment_fetching::end() {
  while (!held_.empty())
    let_go(held_.begin()->first);
  fetched_.clear();
  turns_.clear();
  next_turn_ = 0;
  computed_.clear();
}

void segment_fetching::ask() {
  for (; next_turn_ < turns_.size() && held_.size() < fetched_segments_max; ++next_turn_) {
    const auto& next = turns_[next_turn_];
    held_.try_emplace(next.segment, next, const_buffer{});
    requests_.push_back({next.segment, true});
  }
}

void segment_fetching::let_go(size_t segment) {
  held_.erase(segment);
  requests_.push_back({segment, false});
}

void segment_fetching::on_computed(const tile& what) {
  const auto held = held_.find(what.segment);
  if (held == held_.end() || held->second.first.last != what.way ||
      ++computed_[{what.segment, what.way}] < item_count_)
    return;
  let_go(what.segment);
  ask();
}

bool segment_fetching::on_arrived(size_t segment, const const_buffer& values) {
  const auto held = held_.find(segment);
  if (held == held_.end() || held->second.second)
    return false;
  held->second.second = values;
  return true;
}

std::vector<size_t> segment_fetching::missing() const {
  std::vector<size_t> result;
  for (const auto k : fetched_)
    if (const auto held = held_.find(k); held == held_.end() || !held->second.second)
      result.push_back(k);
  return result;
}

windowed_values segment_fetching::of(size_t segment) const {
  if (!std::ranges::binary_search(fetched_, segment))
    return at_hand_.values();
  return {held_.at(segment).second.values(), windows_[segment - segments_.begin].get()};
}

} // namespace troupe
