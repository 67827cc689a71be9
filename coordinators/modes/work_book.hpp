// Work book: who has which piece of work, when whoever has it may be lost.
//
//   not begun --take--> with a trainer --finish--> done
//                 ^           |
//                 |           | the trainer is lost
//                 +--take-- given back
//
// Pieces are numbers, begun in ascending order: steps of a run, or members of a round. What a lost
// trainer had is given back and taken before anything new, the lowest first, so that no piece is
// left out and none is done twice: a result counts only from the trainer that has the piece.
//
// Trainers are seats: who is lost leaves one empty, who comes takes the lowest empty one, or a new
// one.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace troupe {

class work_book {
public:
  /// All seats are taken, nobody has anything to do.
  explicit work_book(size_t seat_count) : seats_(seat_count) {}

  /// Pieces are counted from 0 again, once all of before are done. Throws std::logic_error while
  /// one is not.
  void start_anew();

  /// True when somebody sits there and has nothing to do.
  bool is_free(size_t seat) const {
    return seat < seats_.size() && seats_[seat].taken && !seats_[seat].piece;
  }
  /// Work can be taken although no piece may be begun.
  bool has_returned() const { return !returned_.empty(); }

  /// The seat, which must be free, gets a piece: the lowest that was given back, else the next one
  /// that nobody has begun.
  uint64_t take(size_t seat);

  /// A result. True when this seat has this piece: it counts, and the seat is free again.
  bool finish(size_t seat, uint64_t piece);

  /// Nobody sits there any more; its piece is given back. False when that was known.
  bool lose(size_t seat);
  /// Somebody came: its seat.
  size_t join();

  uint64_t begun_count() const { return begun_count_; }
  size_t seat_count() const { return seats_.size(); }
  size_t living_count() const;

  friend bool operator==(const work_book&, const work_book&) = default;

private:
  struct seat_state {
    bool taken = true;
    std::optional<uint64_t> piece{};

    friend bool operator==(const seat_state&, const seat_state&) = default;
  };

  std::vector<seat_state> seats_;
  std::set<uint64_t> returned_;
  uint64_t begun_count_ = 0; ///< pieces below it were taken once
};

} // namespace troupe
