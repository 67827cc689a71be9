// The dial clock: when to dial a peer again, and for how long it has not answered.
//
// Delays double from the shortest to the longest, so that processes which start together find each
// other at once and one that is away is not bothered. A connection that was opened, however
// briefly, ends a row of failures.

#pragma once

#include "coordinators/base/moment.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace troupe {

/// The longest delay when a process without a link counts as lost after so long: half of it at
/// most. Else one that starts late, or comes back, has joined the director, and is not dialled by
/// its other peers before they are taken for parted, and one of them is sent away. Nobody is
/// dialled more than ten times a second.
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
  /// The connection is gone, or whoever gave up has changed its mind.
  void on_lost(moment now) {
    if (!due_)
      due_ = now + delay_;
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

// The director watch: how long a process goes on without the director. A node that has lost it may
// still be right, and the director may come back from a checkpoint; but not for ever.
//
//   away (since a moment, and why) <--lost, linked--> here
//      | for longer than the join timeout
//      v
//   given up, with a reason that names the director and what was heard last
//
// It starts away: the director may never have been reached.

class director_watch {
public:
  director_watch(std::string name, milliseconds patience, moment now)
    : name_(std::move(name)), patience_(patience), away_since_(now) {}

  void on_linked() {
    away_since_.reset();
    was_here_ = true;
    last_heard_.clear();
  }
  void on_lost(moment now) { away_since_ = now; }
  /// An attempt to reach it failed.
  void on_failing(const std::string& why) { last_heard_ = why; }

  /// Why to give up, once it is time.
  std::optional<std::string> overdue(moment now) const {
    if (!away_since_ || now - *away_since_ < patience_)
      return std::nullopt;
    const auto time = std::to_string(patience_.count()) + " ms";
    return (was_here_ ? "the director (" + name_ + ") was lost for longer than " + time
                      : "the director (" + name_ + ") could not be reached for " + time) +
           (last_heard_.empty() ? "" : ": " + last_heard_);
  }

  /// Since when it is away; nothing: it is here.
  const std::optional<moment>& away_since() const { return away_since_; }

  /// What is waited for while it is away, in words: who, why, and for how long still.
  std::string waiting_text(moment now) const {
    const auto left = patience_ - (now - away_since_.value_or(now));
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(left).count();
    return "waiting for the director (" + name_ + ")" +
           (last_heard_.empty() ? "" : ": " + last_heard_) + " (" +
           std::to_string(seconds < 0 ? 0 : seconds) + " s left)";
  }

  friend bool operator==(const director_watch&, const director_watch&) = default;

private:
  std::string name_;
  milliseconds patience_;
  std::optional<moment> away_since_; ///< nothing: it is here
  bool was_here_ = false;
  std::string last_heard_;
};

} // namespace troupe
