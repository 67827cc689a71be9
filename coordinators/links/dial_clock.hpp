// The dial clock: when to dial a peer again, and for how long it has not answered.
//
// Delays double from the shortest to the longest: processes that start together find each other at
// once, and an absent one gets few dials. A connection that was opened, however briefly, ends a row
// of failures.

#pragma once

#include "coordinators/base/moment.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace troupe {

/// The longest delay when a process without a link counts as lost after so long: half of it at
/// most. Else a process that starts late, or comes back, has joined the director, and its other
/// peers do not dial it in time: the director takes the two for parted and sends one away. No peer
/// is dialled more than ten times a second.
inline milliseconds longest_dial_delay(milliseconds lost_after) {
  return std::clamp(lost_after / 2, milliseconds{100}, milliseconds{2'000});
}

class dial_clock {
public:
  dial_clock(milliseconds shortest, milliseconds longest)
    : shortest_(shortest), longest_(longest), delay_(shortest) {}

  /// When to dial next; nothing while that is under way, has succeeded, or was given up.
  std::optional<moment> due() const { return due_; }
  /// Since when every attempt has failed.
  std::optional<moment> failing_since() const { return failing_since_; }

  void on_begun() { due_.reset(); }
  void on_failed(moment now) {
    failing_since_ = failing_since_.value_or(now);
    due_ = now + delay_;
    delay_ = std::min(2 * delay_, longest_);
  }
  void on_opened() {
    due_.reset();
    failing_since_.reset();
    delay_ = shortest_;
  }
  /// The connection is gone, or the owner gave up and now wants to dial again.
  void on_lost(moment now) {
    if (!due_)
      due_ = now + delay_;
  }
  /// The peer is there now: waits no longer.
  void on_called(moment now) {
    delay_ = shortest_;
    if (due_)
      due_ = std::min(*due_, now);
  }
  void give_up() { due_.reset(); }

  friend bool operator==(const dial_clock&, const dial_clock&) = default;

private:
  milliseconds shortest_;
  milliseconds longest_;
  milliseconds delay_;
  std::optional<moment> due_ = moment{}; ///< at first: at once
  std::optional<moment> failing_since_;
};

} // namespace troupe
