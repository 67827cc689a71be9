// Rate limits: how often strangers may cause an event or a line. All are pure: `now` goes in.
//
// A rate limit is a bucket of tokens: it holds at most `burst`, gets one back every 1/`per_second`,
// and each event takes one. A line limit lets the same reason through once an interval, and counts
// the rest for the next time. A reason that is reported once is reported again after a success only.

#pragma once

#include "coordinators/base/moment.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace troupe {

class rate_limit {
public:
  /// Full at first. Both at least 1.
  rate_limit(uint32_t per_second, uint32_t burst)
    : interval_(std::chrono::nanoseconds{1'000'000'000} / per_second), span_(interval_ * burst) {}

  /// Whether it may happen now; if so it is counted. `now` never goes back.
  bool take(moment now) {
    if (due(now) > now)
      return false;
    full_at_ = std::max(full_at_, now) + interval_;
    return true;
  }

  /// When it may happen next: `now`, or later.
  moment due(moment now) const { return std::max(now, full_at_ + interval_ - span_); }

private:
  moment::duration interval_; ///< for a token to come back
  moment::duration span_;     ///< for all of them
  moment full_at_{};          ///< when the bucket is full again
};

class line_limit {
public:
  explicit line_limit(milliseconds interval) : interval_(interval) {}

  /// When a line is due: how many times the reason came up since its last line, this one included;
  /// nothing when it is only counted.
  std::optional<uint64_t> on_reason(const std::string& reason, moment now) {
    if (!known_.contains(reason) && known_.size() >= reasons_max)
      forget_told(now);
    const bool has_place = known_.contains(reason) || known_.size() < reasons_max;
    auto& x = known_[has_place ? reason : std::string{}];
    ++x.count;
    if (x.reported_at && now - *x.reported_at < interval_)
      return std::nullopt;
    x.reported_at = now;
    return std::exchange(x.count, 0);
  }

  /// Kept apart; what strangers vary beyond that shares one place.
  static constexpr size_t reasons_max = 100;

private:
  struct entry {
    std::optional<moment> reported_at;
    uint64_t count = 0; ///< since then
  };

  void forget_told(moment now) {
    std::erase_if(known_, [&](const auto& x) {
      return x.second.count == 0 && x.second.reported_at &&
             now - *x.second.reported_at >= interval_;
    });
  }

  milliseconds interval_;
  std::map<std::string, entry> known_;
};

class reported_once {
public:
  /// Whether to report this reason of this name: it was not reported since the name's last success.
  bool on_reason(const std::string& name, const std::string& reason) {
    auto& known = known_[name];
    return known.size() < reasons_max && known.insert(reason).second;
  }
  void on_success(const std::string& name) { known_.erase(name); }

  /// Of a name. Further ones, a stranger's at its address say, are not reported any more.
  static constexpr size_t reasons_max = 20;

private:
  std::map<std::string, std::set<std::string>> known_;
};

} // namespace troupe
