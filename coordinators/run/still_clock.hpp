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
    if (const auto before = std::exchange(last_, now)) {
      const auto gap = now - *before;
      const auto much = 3 * usual_.value_or(gap);
      if (is_judged && gap - much >= shortest_gap)
        add({term, version, std::chrono::duration_cast<milliseconds>(gap - much)});
      usual_ = usual_ ? *usual_ + (std::min(gap, much) - *usual_) / 16 : gap;
    }
  }

  /// Newest last.
  const std::vector<still_gap>& gaps() const { return gaps_; }

private:
  void add(const still_gap& gap) {
    if (gaps_.size() == kept_max)
      gaps_.erase(gaps_.begin());
    gaps_.push_back(gap);
  }

  std::optional<moment> last_;
  std::optional<moment::duration> usual_;
  std::vector<still_gap> gaps_;
};

/// Gaps that several processes tell of, again and again, each counted once.
class still_total {
public:
  /// Time that is not counted yet.
  milliseconds add(const std::vector<still_gap>& gaps) {
    milliseconds result{0};
    for (const auto& gap : gaps) {
      milliseconds counted{0}; // processes are within a step of each other
      for (const auto version : {gap.version - 1, gap.version, gap.version + 1})
        if (const auto found = counted_.find({gap.term, version}); found != counted_.end())
          counted = std::max(counted, found->second);
      if (gap.length <= counted)
        continue;
      result += gap.length - counted;
      counted_[{gap.term, gap.version}] = gap.length;
      if (counted_.size() > known_max)
        counted_.erase(counted_.begin());
    }
    return result;
  }

private:
  static constexpr size_t known_max = 1024;
  std::map<std::pair<uint64_t, uint64_t>, milliseconds> counted_; ///< by term and version
};

} // namespace troupe
