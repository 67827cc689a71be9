#include "coordinators/exchange/link_ends.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

/// The first of `entries` with elements of `name` in this range; null when there is none.
template <class Entries>
auto first_overlap(const Entries& entries, const tensor_name& name, const index_range& elements) {
  const auto found = std::ranges::find_if(entries, [&](const auto& other) {
    return other.name == name && !shared_part(other.elements, elements).empty();
  });
  return found == entries.end() ? nullptr : &*found;
}

} // namespace

// A known range cuts the rest in two; the loop looks at each anew.
size_t outgoing_link::add(const tensor_name& name, const index_range& elements, urgency haste) {
  if (elements.begin >= elements.end)
    return 0;
  const auto* sent = first_overlap(under_way_, name, elements);
  const auto* waits = sent == nullptr ? first_overlap(waiting_, name, elements) : nullptr;
  doubts_ = doubts_ || sent != nullptr;
  if (sent != nullptr || waits != nullptr) {
    const auto known = shared_part(sent != nullptr ? sent->elements : waits->elements, elements);
    return add(name, {elements.begin, known.begin}, haste) +
           add(name, {known.end, elements.end}, haste);
  }
  const auto behind =
    std::ranges::find_if(waiting_, [&](const waiting& other) { return haste < other.haste; });
  waiting_.insert(behind, {name, elements, haste});
  return elements.size();
}

std::optional<outgoing_link::granted> outgoing_link::next(moment now) {
  if (waiting_.empty())
    return std::nullopt;
  auto& first = waiting_.front();
  auto& range = first.elements;
  const index_range piece{range.begin, range.begin + std::min(piece_elements_, range.size())};
  const auto bytes = piece.size() * sizeof(float);
  const auto window =
    first.haste == urgency::checkpoint ? window_bytes_ / checkpoint_window_parts : window_bytes_;
  if (bytes_under_way() > 0 && bytes_under_way() + bytes > window)
    return std::nullopt;
  clock_.restart(now);
  sent_ += bytes;
  under_way_.push_back({first.name, piece, sent_});
  range.begin = piece.end;
  if (range.empty())
    waiting_.erase(waiting_.begin());
  return granted{under_way_.back().name, piece, sent_};
}

void outgoing_link::on_credit(const link_position& seen, moment now) {
  if (seen.link != link_ || seen.bytes <= seen_ || seen.bytes > sent_)
    return;
  seen_ = seen.bytes;
  clock_.restart(now);
  const auto still = std::ranges::find_if(
    under_way_, [&](const sent_piece& piece) { return piece.position > seen_; });
  under_way_.erase(under_way_.begin(), still);
}

std::optional<uint64_t> outgoing_link::question(moment now) {
  const bool waits_long = !waiting_.empty() && clock_.due(now);
  if (!std::exchange(doubts_, false) && !waits_long)
    return std::nullopt;
  return sent_;
}

void outgoing_link::forget() {
  waiting_.clear();
  under_way_.clear();
  doubts_ = false;
}

void incoming_link::on_stamp(const link_position& stamp) {
  if (stamp.link != seen_.link) {
    seen_ = {stamp.link, 0};
    told_ = 0;
    unreported_count_ = 0;
  }
  ++unreported_count_;
  seen_.bytes = std::max(seen_.bytes, stamp.bytes);
}

link_position incoming_link::tell() {
  told_ = seen_.bytes;
  unreported_count_ = 0;
  return seen_;
}

} // namespace troupe
