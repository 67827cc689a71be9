// The repair clock: when to ask for something that should have come.
//
// No message is acknowledged; a process that misses something asks for it. It asks when nothing new
// has come for 200 ms, far above any round trip and far below any timeout. Then it asks after 400
// ms, doubling to 2 s, so that questions do not bury a slow peer. Any arrival restarts the clock: a
// slow link that still delivers never gets a want. A clock that was never started asks at once: it
// is for what does not come unasked.

#pragma once

#include "coordinators/base/moment.hpp"

#include <algorithm>
#include <optional>

namespace troupe {

inline constexpr milliseconds want_delay_min{200};
inline constexpr milliseconds want_delay_max{2000};

class repair_clock {
public:
  /// Something new came, or a new thing is waited for.
  void restart(moment now) {
    since_ = now;
    delay_ = want_delay_min;
  }

  /// True when it is time to ask; the next time is twice as long.
  bool due(moment now) {
    const bool is_first = !since_;
    if (!is_first && now - *since_ < delay_)
      return false;
    since_ = now;
    if (is_first)
      return true;
    delay_ = std::min(2 * delay_, want_delay_max);
    return true;
  }

  friend bool operator==(const repair_clock&, const repair_clock&) = default;

private:
  std::optional<moment> since_; ///< nothing: it is time at once
  milliseconds delay_ = want_delay_min;
};

} // namespace troupe
