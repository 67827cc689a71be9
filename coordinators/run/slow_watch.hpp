// Slow watch: which replica makes a moving run slow.
//
// In every step one replica comes last; equal ones take turns, and are late by little. The others wait for a replica
// that is late by far the most, in many steps or by much in some. Figures of training statistics only grow, so the
// difference of two samples is what happened in between:
//
//   of the last 10 s:  of all waiting at steps 4 fifths were for it,  and 3 tenths of the time
//
// Then its own computing took longer than the others' (by half at least), or what it computed came late.

#pragma once

#include "coordinators/run/replica_statistics.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace troupe {

struct slow_trainer {
  replica_name who;
  uint64_t steps = 0;      ///< that were looked at
  uint64_t last = 0;       ///< of these, it came last
  double waited_share = 0; ///< of the time, that others waited for it
  double late_ms = 0;      ///< after the one before it, in the mean of those steps
  double computing_ratio =
    0; ///< its time a result to the median of the others'; 0: that is not why it is late

  friend bool operator==(const slow_trainer&, const slow_trainer&) = default;
};

class slow_watch {
public:
  static constexpr milliseconds window{10'000};
  static constexpr milliseconds interval{1'000}; ///< of samples
  static constexpr uint64_t steps_min = 10;      ///< in it: fewer say nothing
  static constexpr double late_share_min = 0.8;
  static constexpr double waited_share_min = 0.3;
  /// Computing that takes so much longer than the others' is why.
  static constexpr double computing_ratio_min = 1.5;

  /// Figures of now would count.
  bool is_due(moment now) const { return samples_.empty() || now - samples_.back().at >= interval; }
  /// Figures as of now. When some go back, all begin anew.
  void on_figures(const std::vector<named_statistics>& all, moment now);
  /// The slow replica; nothing before a whole window has been seen.
  std::optional<slow_trainer> slow() const;

  friend bool operator==(const slow_watch&, const slow_watch&) = default;

private:
  struct sample {
    moment at{};
    std::vector<named_statistics> all;

    friend bool operator==(const sample&, const sample&) = default;
  };
  std::deque<sample> samples_; ///< one a second, of the window
};

} // namespace troupe
