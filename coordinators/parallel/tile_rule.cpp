#include "coordinators/parallel/tile_rule.hpp"

#include "coordinators/parallel/tile_window.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>

namespace troupe {

namespace {

std::array<tile_way, 3> priorities(pipeline_schedule schedule) {
  if (schedule == pipeline_schedule::gpipe)
    return {tile_way::forward, tile_way::backward, tile_way::gradient};
  return {tile_way::backward, tile_way::forward, tile_way::gradient};
}

} // namespace

tile_rule::tile_rule(tile_rule_options options) : options_(std::move(options)) {
  if (options_.segments.empty())
    throw std::invalid_argument("tile rule: no segments");
  if (options_.in_flight_max == 0)
    throw std::invalid_argument("tile rule: no item may be in flight");
}

void tile_rule::begin(work_kind kind, const std::vector<size_t>& items) {
  kind_ = kind;
  set_items({});
  in_flight_peak_ = 0;
  set_items(items);
}

void tile_rule::set_items(const std::vector<size_t>& items) {
  if (std::ranges::adjacent_find(items, std::greater_equal{}) != items.end())
    throw std::invalid_argument("tile rule: items do not ascend");
  std::vector<work> now;
  for (const auto item : items) {
    auto* known = find(item);
    now.push_back(known != nullptr ? std::move(*known) : new_work(item));
  }
  items_ = std::move(now);
  const auto is_gone = [&](size_t item) { return !std::ranges::binary_search(items, item); };
  std::erase_if(in_flight_, is_gone);
  for (auto& all : ready_)
    std::erase_if(all, [&](const place& x) { return is_gone(x.item); });
  if (options_.segments.begin > 0)
    return;
  // The lowest last: that is where it is kept.
  for (auto item = items.rbegin(); item != items.rend(); ++item)
    on_input({*item, 0, tile_way::forward});
}

bool tile_rule::on_input(const tile& of) {
  auto* known = find(of.item);
  if (known == nullptr || !options_.segments.contains(of.segment) || of.way == tile_way::gradient ||
      (of.way == tile_way::backward && kind_ == work_kind::evaluation))
    return false;
  auto& segment = known->segments[of.segment - options_.segments.begin];
  const bool is_forward = of.way == tile_way::forward;
  if (std::exchange(is_forward ? segment.x_here : segment.d_here, true))
    return false;
  if (is_forward || segment.went_forward)
    add_ready(of);
  return true;
}

std::optional<tile> tile_rule::next(const std::vector<size_t>& missing) {
  if (options_.by_segment)
    return next_by_segment(missing);
  for (const auto way : priorities(options_.schedule)) {
    const auto at = way == tile_way::forward ? first_forward() : first_of(way);
    if (at != ready(way).end())
      return take(way, at);
  }
  return std::nullopt;
}

// No replica waits for a gradient of the segment behind, but its memory does. So it goes before the
// next segment, and after all that needs parameters, so that these may be freed.
std::optional<tile> tile_rule::next_by_segment(const std::vector<size_t>& missing) {
  struct choice {
    bool goes_back;
    size_t segment; ///< in the order that they are computed
    tile_way way;
    size_t item;
    auto operator<=>(const choice&) const = default;
  };
  std::optional<std::pair<choice, places::iterator>> best;
  for (const auto way : {tile_way::forward, tile_way::backward, tile_way::gradient})
    for (auto at = ready(way).begin(); at != ready(way).end(); ++at) {
      const bool goes_back = way != tile_way::forward;
      const auto turn = goes_back ? options_.segments.end - at->segment : at->segment;
      const choice here{goes_back, turn, way, at->item};
      const bool waits = way != tile_way::gradient && std::ranges::count(missing, at->segment) > 0;
      if (!waits && (!best || here < best->first))
        best = {here, at};
    }
  if (!best)
    return std::nullopt;
  return take(best->first.way, best->second);
}

bool tile_rule::done() const {
  return std::ranges::all_of(items_, [](const work& x) { return x.left == 0; });
}

tile_rule::work tile_rule::new_work(size_t item) const {
  const size_t ways = kind_ == work_kind::step ? 3 : 1;
  const auto segment_count = options_.segments.size();
  return {item, ways * segment_count, std::vector<segment_state>(segment_count)};
}

tile_rule::work* tile_rule::find(size_t item) {
  const auto at = std::ranges::lower_bound(items_, item, {}, &work::item);
  return at != items_.end() && at->item == item ? &*at : nullptr;
}

void tile_rule::add_ready(const tile& what) {
  const bool is_late = what.way == tile_way::gradient &&
                       std::ranges::count(options_.urgent_gradients, what.segment) == 0;
  const place x{what.item, is_late, what.segment};
  auto& all = ready(what.way);
  all.insert(std::ranges::lower_bound(all, x, std::greater{}), x);
}

tile_rule::places::iterator tile_rule::first_of(tile_way way) {
  auto& all = ready(way);
  return all.empty() ? all.end() : std::prev(all.end());
}

tile_rule::places::iterator tile_rule::first_forward() {
  auto& all = ready(tile_way::forward);
  for (auto at = all.end(); at != all.begin();) {
    --at;
    const auto first_above = std::ranges::lower_bound(in_flight_, at->item);
    const auto lower_count = static_cast<size_t>(first_above - in_flight_.begin());
    const bool has_begun = first_above != in_flight_.end() && *first_above == at->item;
    if (has_begun || lower_count < options_.in_flight_max)
      return at;
    if (first_above == in_flight_.end())
      break; // the others are above it: they have not begun either
  }
  return all.end();
}

tile tile_rule::take(tile_way way, places::iterator at) {
  const tile result{at->item, at->segment, way};
  ready(way).erase(at);
  auto& known = *find(result.item);
  auto& segment = known.segments[result.segment - options_.segments.begin];
  if (way == tile_way::forward) {
    begin_item(result.item);
    segment.went_forward = true;
    if (segment.d_here)
      add_ready({result.item, result.segment, tile_way::backward});
  } else if (way == tile_way::backward) {
    add_ready({result.item, result.segment, tile_way::gradient});
  }
  if (--known.left == 0)
    std::erase(in_flight_, result.item);
  return result;
}

void tile_rule::begin_item(size_t item) {
  const auto at = std::ranges::lower_bound(in_flight_, item);
  if (at == in_flight_.end() || *at != item)
    in_flight_.insert(at, item);
  in_flight_peak_ = std::max(in_flight_peak_, in_flight_.size());
}

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
