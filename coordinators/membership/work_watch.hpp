// Work watch: whether a process whose heartbeats go on still works, and whether any process works
// in a run that does not move.
//
// Heartbeats come from threads that compute nothing. A process whose computing threads hang (a
// debugger, a lock, a machine that swaps) sends heartbeats and does nothing, and all others wait
// for it. A long piece of work looks the same, so a piece is measured against the longest that any
// process of this run has ended:
//
//   longer than 20 times that, and than 3 x lost_after: the process hangs, and is taken out
//   none has ended one yet:                             after ten minutes
//   a stop was asked for:                               3 times, and 2 s
//
// Equal pieces take equal time on equal machines; 20 leaves room for a busy or a slow one. A
// process taken out by mistake costs time, never a bit.
//
// Standing still: no version, no value and no row moved for 3 x lost_after, and no process worked.
// No rule of the protocol waits that long by itself, so processes wait in a circle.

#pragma once

#include "coordinators/base/moment.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace troupe {

/// What one actor is at.
struct work_piece {
  std::string who;         ///< "replica 0"
  std::string what;        ///< "slice 4 of step 412"
  milliseconds busy{0};    ///< since it began
  milliseconds longest{0}; ///< of its pieces of training that ended; zero: none has

  friend bool operator==(const work_piece&, const work_piece&) = default;
};

/// Of a process's actors, those longest at a piece are reported.
inline constexpr size_t reported_pieces_max = 8;

/// A piece that takes so much longer than the longest before it is no usual one; and of the first one,
/// which nothing is known about, after so long.
inline constexpr int unusual_factor = 3;
inline constexpr milliseconds first_piece_usual{30'000};

/// At a piece that takes about as long as others did.
inline bool is_usual(const work_piece& x) {
  return x.busy <= (x.longest == milliseconds{0}
                      ? first_piece_usual
                      : std::max<milliseconds>(milliseconds{2'000}, unusual_factor * x.longest));
}

/// Ticks come every 50 ms. After a pause like this one the whole process stood still (the machine slept, or
/// Ctrl-Z): earlier heartbeats say nothing of others now, and no piece of its own took that long.
inline constexpr milliseconds own_pause{1'000};

/// What a process says of its work.
struct work_report {
  milliseconds busy{0};    ///< how long one of its actors has been at a piece, or has not answered
  milliseconds longest{0}; ///< of the pieces of training that ended; zero: none has
  milliseconds late{0}; ///< how much later than it should its node was called since the last report
  std::vector<work_piece> pieces{}; ///< under way, the longest first

  friend bool operator==(const work_report&, const work_report&) = default;
};

class work_watch {
public:
  /// Of the first piece of a run, which nothing is known about.
  static constexpr milliseconds first_piece{600'000};
  /// A user who stops a run should not wait longer.
  static constexpr milliseconds stop_patience{2'000};
  /// Shorter pieces hold no other process up.
  static constexpr milliseconds work_min{500};

  work_watch() = default;
  explicit work_watch(milliseconds lost_after) : patience_(3 * lost_after) {}

  void on_report(const work_report& news, moment now) {
    longest_ = std::max(longest_, news.longest);
    if (news.busy >= work_min)
      worked_ = now;
  }
  /// Something moved.
  void on_moved(moment now) { worked_ = now; }

  /// How long a piece may take before its process hangs.
  milliseconds limit(bool stopping) const {
    if (stopping)
      return std::max(stop_patience, 3 * longest_);
    return longest_ == milliseconds{0} ? first_piece : std::max(patience_, 20 * longest_);
  }
  /// At a piece that takes about as long as others did.
  bool works_as_usual(const work_report& x) const {
    return x.busy >= work_min && x.busy <= unusual_factor * longest_;
  }
  bool hangs(const work_report& x, bool stopping) const { return x.busy > limit(stopping); }

  /// No process has worked, and nothing has moved, for longer than any wait takes.
  bool stands_still(moment now) const { return now - worked_ > patience_; }
  milliseconds patience() const { return patience_; }

  friend bool operator==(const work_watch&, const work_watch&) = default;

private:
  milliseconds patience_{15'000};
  milliseconds longest_{0};
  moment worked_{};
};

} // namespace troupe
