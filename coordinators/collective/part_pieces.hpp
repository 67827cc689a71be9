// Parts in pieces: a part for a member of another process is cut, and goes out as its receiver takes
// it in. So neither end holds more for a wire than a window, however large the part and however late
// the receiver's call.
//
//   sender    begins with `eager_pieces` unasked ----------> kept, or taken in when the round is open
//             goes on up to `until`  <---------------------- grant, once the round is open there
//
// Both ends count for each part by itself: a part that a member does not want yet never blocks one
// that it waits for. Pieces may come in any order, some twice; a wire that loses some is a lost
// member (actors/net/collective).

#pragma once

#include "coordinators/base/moment.hpp"
#include "coordinators/collective/collective_call.hpp"
#include "coordinators/exchange/link_limits.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// Sums of places in a part stay far from the end of their type.
inline constexpr uint64_t part_elements_max = uint64_t{1} << 48;

/// The same at all members.
struct piece_limits {
  size_t elements = piece_elements_max; ///< of a piece; the last one of a part has the rest
  /// Pieces that go out unasked: 1 MiB, more than a wire carries while the first grant comes back.
  /// Doubled, a member may hold twice as much for each round that it has not called.
  size_t eager_pieces = 4;
  /// Pieces that may be under way of a part that is wanted: 4 MiB. Half of it hides a grant's way
  /// of a millisecond at 2 GB/s; doubled, more of it leaves the caches before it is read.
  size_t window_pieces = 16;

  uint64_t eager_elements() const { return uint64_t{elements} * eager_pieces; }
  uint64_t window_elements() const { return uint64_t{elements} * window_pieces; }
};

/// Whether a part, or a piece of one, is cut as it has to be.
bool is_cut_right(const collective_part& x, const piece_limits& limits);

/// A part on its way in, or one that is here.
class arriving_part {
public:
  arriving_part() = default;
  /// It is here.
  arriving_part(float_view values)
    : has_begun_(true), size_(values.size()), here_(values.size()), whole_(std::move(values)) {}

  /// Takes a piece in that is cut right; the same again changes nothing. False when it was not
  /// granted, or it is of a part of another size.
  bool take(const collective_part& x, const piece_limits& limits);

  bool has_begun() const { return has_begun_; }
  bool is_whole() const { return has_begun_ && here_ == size_; }
  uint64_t size() const { return size_; }

  /// Values from this element on that lie together, as many as are here; empty: it is missing.
  float_view run_from(uint64_t element) const;
  /// The caller looks at nothing before this element again. A part that came as a whole stays as it
  /// is.
  void release_before(uint64_t element);

  /// The element up to which its sender may go on, when a grant is due.
  std::optional<uint64_t> take_grant(const piece_limits& limits);

private:
  bool has_begun_ = false;
  uint64_t size_ = 0;
  uint64_t here_ = 0; ///< elements that have come
  float_view whole_;  ///< it came as a whole
  size_t piece_elements_ = 1;
  std::vector<float_view> pieces_; ///< by place; empty ones are missing, or released
  uint64_t released_ = 0;          ///< elements before it were here
  uint64_t granted_ = 0;
};

/// Parts on their way out to members of other processes.
class departing_parts {
public:
  struct addressed_piece {
    size_t to = 0;
    collective_part piece;
  };
  using pieces = std::vector<addressed_piece>;

  /// `patience`: a part that gets no grant for so long is dropped.
  departing_parts(const piece_limits& limits, milliseconds patience)
    : limits_(limits), patience_(patience) {}

  /// What of it goes at once.
  pieces add(size_t to, const collective_part& whole, moment now);
  /// What may go now. A grant for what is unknown, or all sent, is none.
  pieces on_grant(const collective_grant& news, moment now);

  /// A round that has failed, and a member that is lost, take no more.
  void drop_round(uint64_t round);
  void drop_member(size_t to);
  void on_time(moment now);

  bool empty() const { return parts_.empty(); }

private:
  struct departing {
    size_t to = 0;
    collective_part whole;
    uint64_t sent = 0;
    moment moved;
  };

  void send_until(departing& x, uint64_t until, pieces& out) const;

  piece_limits limits_;
  milliseconds patience_;
  std::vector<departing> parts_; ///< those with a rest
};

} // namespace troupe
