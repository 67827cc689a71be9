// Still clock: when a process of a cluster saw training stand still, and for how long.
//
// Each process sees each version within a step of the others. So a gap between two versions that is much longer than
// usual is one that all had: somebody was lost, or came, or all waited for a disk. Gaps at versions that are evaluated
// are not judged, as all wait there anyway. The director gets the gaps of all processes, and counts each once.

#pragma once

#include "coordinators/base/moment.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace troupe {

/// Training stood still before this version came.
struct still_gap {
  uint64_t term = 0;
  uint64_t version = 0;
  milliseconds length{0}; ///< beyond three usual steps

  friend bool operator==(const still_gap&, const still_gap&) = default;
};

class still_clock {
public:
  static constexpr size_t kept_max = 8; ///< newest gaps
  static constexpr milliseconds shortest_gap{
    20}; ///< beyond three usual steps: shorter ones are a machine's noise

  /// A version is there. `is_judged`: the one before it was not evaluated.
  void on_version(uint64_t term, uint64_t version, moment now, bool is_judged) {
    const auto before = std::exchange(last_, now);
    if (!before)
      return;
    const auto gap = now - *before;
    if (seen_ < seen_min) {
      ++seen_;
      usual_ = std::max(usual_, gap);
      return;
    }
    if (is_judged && gap - 3 * usual_ >= shortest_gap)
      add({term, version, std::chrono::duration_cast<milliseconds>(gap - 3 * usual_)});
    usual_ += (std::min(gap, 3 * usual_ + shortest_gap) - usual_) / 16;
  }
  /// The process is out of the run, or gets no versions: what it does not see is no gap.
  void restart() { *this = {}; }

  /// Newest last.
  const std::vector<still_gap>& gaps() const { return gaps_; }

private:
  void add(const still_gap& gap) {
    if (gaps_.size() == kept_max)
      gaps_.erase(gaps_.begin());
    gaps_.push_back(gap);
  }

  static constexpr int seen_min = 16; ///< gaps: of these the longest is the first usual one

  std::optional<moment> last_;
  moment::duration usual_{0};
  int seen_ = 0;
  std::vector<still_gap> gaps_;
};

/// Gaps that several processes tell of, again and again, each counted once.
class still_total {
public:
  /// Seconds that are not counted yet, of terms from `first_term` on. No gap is longer than `elapsed`, in seconds.
  double add(const std::vector<still_gap>& gaps, uint64_t first_term, double elapsed) {
    milliseconds result{0};
    const auto count = std::min(gaps.size(), still_clock::kept_max);
    for (size_t i = gaps.size() - count; i < gaps.size(); ++i)
      if (const auto& gap = gaps[i]; gap.term >= first_term && in_seconds(gap.length) <= elapsed)
        result += add(gap);
    total_ += in_seconds(result);
    return in_seconds(result);
  }
  /// All that were counted.
  double seconds() const { return total_; }

private:
  static constexpr size_t known_max = 1024;
  using place = std::pair<uint64_t, uint64_t>; ///< term, version

  static double in_seconds(milliseconds time) {
    return std::chrono::duration<double>(time).count();
  }

  milliseconds add(const still_gap& gap) {
    const place at{gap.term, gap.version};
    milliseconds counted{0}; // processes are within a step of each other
    for (const auto version : {gap.version - 1, gap.version, gap.version + 1})
      if (const auto found = counted_.find({gap.term, version}); found != counted_.end())
        counted = std::max(counted, found->second);
    if (gap.length <= counted || at <= forgotten_)
      return milliseconds{0};
    counted_[at] = gap.length;
    if (counted_.size() > known_max) {
      forgotten_ = counted_.begin()->first;
      counted_.erase(counted_.begin());
    }
    return gap.length - counted;
  }

  std::map<place, milliseconds> counted_;
  place forgotten_{}; ///< this one, and those before
  double total_ = 0;
};

} // namespace troupe
