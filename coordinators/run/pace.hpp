// Pace: how fast versions come, over the last seconds. Told versions may be seconds old at the
// most: whoever keeps the book reports ten times a second while training moves.

#pragma once

#include "troupe/coordinators/base/moment.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <utility>

namespace troupe {

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
