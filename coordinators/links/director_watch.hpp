// The director watch: how long a process goes on without the director. A node that has lost it may
// still be right, and the director may come back from a checkpoint; but not for ever.
//
//   away (since a moment, and why) <--lost, linked--> here
//      | for longer than the join timeout
//      v
//   given up, with a reason: the director's name and the last failed attempt
//
// It starts away: the director may never have been reached.

#pragma once

#include "coordinators/base/moment.hpp"

#include <optional>
#include <string>
#include <utility>

namespace troupe {

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

  /// While it is away, in words: its name, why the last attempt failed, and how long the process still waits.
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
