#include "coordinators/collective/part_pieces.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

bool is_cut_right(const collective_part& x, const piece_limits& limits) {
  if (x.is_whole())
    return true;
  const auto size = x.values.size();
  return x.first % limits.elements == 0 && x.first < part_elements_max &&
         x.rest < part_elements_max &&
         (x.rest > 0 ? size == limits.elements : size > 0 && size <= limits.elements);
}

// ---- In ----

bool arriving_part::take(const collective_part& x, const piece_limits& limits) {
  if (!std::exchange(has_begun_, true)) {
    size_ = x.size();
    piece_elements_ = limits.elements;
    granted_ = std::min(size_, limits.eager_elements());
  }
  if (x.size() != size_)
    return false;
  if (is_whole())
    return true;
  if (x.is_whole()) {
    whole_ = x.values;
    here_ = size_;
    return true;
  }
  if (x.first + x.values.size() > granted_)
    return false;
  const auto place = static_cast<size_t>(x.first / piece_elements_);
  if (x.first < released_)
    return true;
  if (pieces_.size() <= place)
    pieces_.resize(place + 1);
  if (pieces_[place].size() == 0) {
    pieces_[place] = x.values;
    here_ += x.values.size();
  }
  return true;
}

float_view arriving_part::run_from(uint64_t element) const {
  if (whole_.size() > 0)
    return whole_.part(element, size_ - element);
  const auto place = static_cast<size_t>(element / piece_elements_);
  if (place >= pieces_.size() || pieces_[place].size() == 0)
    return {};
  const auto skipped = element % piece_elements_;
  return pieces_[place].part(skipped, pieces_[place].size() - skipped);
}

void arriving_part::release_before(uint64_t element) {
  for (; released_ + piece_elements_ <= element && !pieces_.empty(); released_ += piece_elements_)
    pieces_[released_ / piece_elements_] = {};
}

std::optional<uint64_t> arriving_part::take_grant(const piece_limits& limits) {
  const auto until = std::min(size_, here_ + limits.window_elements());
  const bool is_worth_it = until - granted_ >= limits.window_elements() / 2 || until == size_;
  if (whole_.size() > 0 || until <= granted_ || !is_worth_it)
    return std::nullopt;
  granted_ = until;
  return until;
}

// ---- Out ----

departing_parts::pieces departing_parts::add(size_t to, const collective_part& whole, moment now) {
  pieces out;
  if (whole.values.size() <= limits_.elements) {
    out.push_back({to, whole});
    return out;
  }
  departing x{to, whole, 0, now};
  send_until(x, limits_.eager_elements(), out);
  if (x.sent < whole.values.size())
    parts_.push_back(std::move(x));
  return out;
}

departing_parts::pieces departing_parts::on_grant(const collective_grant& news, moment now) {
  pieces out;
  const auto found = std::ranges::find_if(parts_, [&](const departing& x) {
    return x.to == news.from && x.whole.round == news.round && x.whole.stage == news.stage;
  });
  if (found == parts_.end())
    return out;
  send_until(*found, news.until, out);
  found->moved = now;
  if (found->sent == found->whole.values.size())
    parts_.erase(found);
  return out;
}

void departing_parts::send_until(departing& x, uint64_t until, pieces& out) const {
  const auto size = x.whole.values.size();
  while (x.sent < std::min<uint64_t>(until, size)) {
    auto piece = x.whole;
    const auto count = std::min<uint64_t>(limits_.elements, size - x.sent);
    piece.values = x.whole.values.part(x.sent, count);
    piece.first = x.sent;
    x.sent += count;
    piece.rest = size - x.sent;
    out.push_back({x.to, std::move(piece)});
  }
}

void departing_parts::drop_round(uint64_t round) {
  std::erase_if(parts_, [&](const departing& x) { return x.whole.round == round; });
}

void departing_parts::drop_member(size_t to) {
  std::erase_if(parts_, [&](const departing& x) { return x.to == to; });
}

void departing_parts::on_time(moment now) {
  std::erase_if(parts_, [&](const departing& x) { return now - x.moved >= patience_; });
}

} // namespace troupe
