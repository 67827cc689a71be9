#include "troupe/coordinators/exchange/link_credit.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

size_t link_credit::add(const piece_name& name, const index_range& elements, urgency haste) {
  const auto sent = under_way(name);
  if (elements.empty() || sent.contains(elements)) {
    doubts_ = doubts_ || !elements.empty();
    return 0;
  }
  auto& place = entry_of(name, haste);
  auto known = sent;
  for (const auto& range : place.elements)
    known.add(range);
  size_t added = 0;
  for (const auto& range : known.missing_in(elements)) {
    place.elements.push_back(range);
    added += range.size();
  }
  doubts_ = doubts_ || std::ranges::any_of(sent.ranges(), [&](const index_range& range) {
              return range.begin < elements.end && elements.begin < range.end;
            });
  return added;
}

// What waits behind checkpoints moves before them when training wants it.
link_credit::entry& link_credit::entry_of(const piece_name& name, urgency haste) {
  entry here{name, haste, {}};
  const auto known = std::ranges::find(waiting_, name, &entry::name);
  if (known != waiting_.end()) {
    if (known->haste <= haste)
      return *known;
    here.elements = std::move(known->elements);
    waiting_.erase(known);
  }
  const auto behind =
    std::ranges::find_if(waiting_, [&](const entry& other) { return haste < other.haste; });
  return *waiting_.insert(behind, std::move(here));
}

span_set link_credit::under_way(const piece_name& name) const {
  span_set result;
  for (const auto& piece : under_way_)
    if (piece.name == name)
      result.add(piece.elements);
  return result;
}

std::optional<link_credit::granted> link_credit::next(moment now) {
  if (waiting_.empty())
    return std::nullopt;
  auto& first = waiting_.front();
  auto& range = first.elements.front();
  const index_range piece{range.begin, std::min(range.begin + piece_elements_, range.end)};
  const auto bytes = piece.size() * sizeof(float);
  const auto window =
    first.haste == urgency::training ? window_bytes_ : window_bytes_ / checkpoint_window_parts;
  if (bytes_under_way() > 0 && bytes_under_way() + bytes > window)
    return std::nullopt;
  clock_.restart(now);
  sent_ += bytes;
  granted result{first.name, piece, sent_};
  under_way_.push_back({result.name, piece, sent_});
  range.begin = piece.end;
  if (range.empty())
    first.elements.erase(first.elements.begin());
  if (first.elements.empty())
    waiting_.erase(waiting_.begin());
  return result;
}

void link_credit::on_credit(uint64_t link, uint64_t position, moment now) {
  if (link != link_ || position <= seen_ || position > sent_)
    return;
  seen_ = position;
  clock_.restart(now);
  while (!under_way_.empty() && under_way_.front().position <= position)
    under_way_.pop_front();
}

std::optional<uint64_t> link_credit::question(moment now) {
  const bool waits_long = !waiting_.empty() && clock_.due(now);
  if (!std::exchange(doubts_, false) && !waits_long)
    return std::nullopt;
  return sent_;
}

void link_credit::drop_if(const std::function<bool(const piece_name&)>& is_out_of_date) {
  std::erase_if(waiting_, [&](const entry& x) { return is_out_of_date(x.name); });
}

void link_credit::forget() {
  waiting_.clear();
  under_way_.clear();
  doubts_ = false;
}

void link_receipt::on_stamp(const link_stamp& stamp) {
  if (stamp.link != link_) {
    link_ = stamp.link;
    position_ = told_ = 0;
  }
  position_ = std::max(position_, stamp.position);
}

credit link_receipt::tell(const std::string& from) {
  told_ = position_;
  return {from, link_, position_};
}

} // namespace troupe
