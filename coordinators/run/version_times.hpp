// When versions came to be, as their shard told: for progress at once; for rows of the history,
// checkpoints and the end, which are made once evaluations and copies are there. Reports go on
// while no row is made, so only those are kept that somebody will ask for.

#pragma once

#include "troupe/coordinators/base/moment.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>

namespace troupe {

class version_times {
public:
  /// Rows that wait for their evaluation and checkpoints that wait for copies are a few at a time.
  static constexpr size_t kept_max = 64;

  /// The first word on a version counts. One that is not `kept` is forgotten with the next.
  void add(uint64_t version, double seconds, bool kept) {
    newest_ = {version, of(version).value_or(seconds)};
    if (kept)
      seconds_.insert(newest_);
    if (seconds_.size() > kept_max)
      seconds_.erase(seconds_.begin());
  }

  /// Nothing when it was never told, or is forgotten.
  std::optional<double> of(uint64_t version) const {
    const auto found = seconds_.find(version);
    if (found != seconds_.end())
      return found->second;
    return version == newest_.first && version > 0 ? std::optional{newest_.second} : std::nullopt;
  }

  /// Nobody asks for versions below this any more.
  void forget_below(uint64_t version) {
    seconds_.erase(seconds_.begin(), seconds_.lower_bound(version));
  }

  void clear() { *this = {}; }
  size_t size() const { return seconds_.size(); }

  friend bool operator==(const version_times&, const version_times&) = default;

private:
  std::map<uint64_t, double> seconds_;
  std::pair<uint64_t, double> newest_; ///< version 0: none
};

// Pace: how fast versions come, over the last seconds. Told versions may be seconds old at the
// most: whoever keeps the book reports ten times a second while training moves.
class pace {
public:
  /// Long enough for a step of a second to count evenly, short enough to show what happens now.
  static constexpr milliseconds window{10'000};

  /// A version was reached. An earlier one than before is a roll-back: counting begins anew.
  void on_version(uint64_t version, moment now) {
    if (!seen_.empty() && version < seen_.back().second)
      seen_.clear();
    seen_.emplace_back(now, version);
    while (seen_.size() > 1 && now - seen_.front().first > window)
      seen_.pop_front();
  }

  /// 0 while nothing is known, and when nothing came within the window.
  double steps_per_second(moment now) const {
    if (seen_.size() < 2 || now - seen_.back().first > window)
      return 0;
    const std::chrono::duration<double> seconds = now - seen_.front().first;
    const auto steps = seen_.back().second - seen_.front().second;
    return seconds.count() > 0 ? static_cast<double>(steps) / seconds.count() : 0;
  }

  friend bool operator==(const pace&, const pace&) = default;

private:
  std::deque<std::pair<moment, uint64_t>> seen_;
};

} // namespace troupe
