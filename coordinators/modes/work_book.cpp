#include "troupe/coordinators/modes/work_book.hpp"

#include <algorithm>
#include <stdexcept>

namespace troupe {

void work_book::start_anew() {
  const bool all_done = returned_.empty() && std::ranges::none_of(seats_, [](const seat_state& x) {
                          return x.piece.has_value();
                        });
  if (!all_done)
    throw std::logic_error("work book: some of the work is not done yet");
  begun_count_ = 0;
}

uint64_t work_book::take(size_t seat) {
  if (!is_free(seat))
    throw std::logic_error("work book: seat " + std::to_string(seat) + " is not free");
  auto piece = begun_count_;
  if (returned_.empty()) {
    ++begun_count_;
  } else {
    piece = *returned_.begin();
    returned_.erase(returned_.begin());
  }
  seats_[seat].piece = piece;
  return piece;
}

bool work_book::finish(size_t seat, uint64_t piece) {
  if (seat >= seats_.size() || seats_[seat].piece != piece)
    return false;
  seats_[seat].piece.reset();
  return true;
}

bool work_book::lose(size_t seat) {
  if (seat >= seats_.size() || !seats_[seat].taken)
    return false;
  auto& x = seats_[seat];
  x.taken = false;
  if (x.piece)
    returned_.insert(*x.piece);
  x.piece.reset();
  return true;
}

size_t work_book::join() {
  const auto empty = std::ranges::find(seats_, false, &seat_state::taken);
  const auto seat = static_cast<size_t>(empty - seats_.begin());
  if (empty == seats_.end())
    seats_.emplace_back();
  seats_[seat].taken = true;
  return seat;
}

size_t work_book::living_count() const {
  return static_cast<size_t>(std::ranges::count(seats_, true, &seat_state::taken));
}

} // namespace troupe
