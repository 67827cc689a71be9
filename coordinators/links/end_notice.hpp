// End notice: which processes do not know yet that the run is over. The director's links tell those that are linked; one
// whose link is gone, or lost without either end having noticed, is told by the gate when it dials or is dialled again.

#pragma once

#include "coordinators/base/moment.hpp"

#include <map>
#include <set>
#include <string>

namespace troupe {

/// A peer that was lost this long before the end may dial again within the time of the farewell. Who was lost earlier
/// is away.
inline constexpr milliseconds lost_lately{2'000};

class end_notice {
public:
  void on_linked(const std::string& peer) { lost_at_.erase(peer); }
  void on_lost(const std::string& peer, moment now) {
    std::erase_if(lost_at_, [&](const auto& entry) { return now - entry.second >= lost_lately; });
    lost_at_[peer] = now;
  }

  /// The run is over: who was lost lately is to be told.
  void begin(moment now) {
    for (const auto& [peer, when] : lost_at_)
      if (now - when < lost_lately)
        untold_.insert(peer);
  }
  /// A farewell is on its way to a linked peer.
  void tell(const std::string& peer) { untold_.insert(peer); }
  void on_told(const std::string& peer) { untold_.erase(peer); }

  bool waits_for(const std::string& peer) const { return untold_.contains(peer); }
  bool is_over() const { return untold_.empty(); }

private:
  std::map<std::string, moment> lost_at_; ///< of peers that are not linked again
  std::set<std::string> untold_;
};

} // namespace troupe
