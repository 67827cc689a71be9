// Link watch: what travels between processes, and which link has stopped delivering.
//
// Each process reports of each link the bytes of pieces that it gave to it, those that the other end
// acknowledged, and those that came the other way. Sender and receiver report independently, so the
// watch can compare the two ends of a link:
//
//   left says: 12 MB given to the link to right        what comes stays at 10 MB for a second:
//   right says: 10 MB have come from left              the link left -> right carries nothing
//
// Reports of the two ends are up to a report's interval apart, so a difference alone says nothing; one that
// stays while nothing comes does. Where a link carries everything and its sender still lacks credit, the
// way back is at fault: no acknowledgement comes.

#pragma once

#include "coordinators/base/carrier_choice.hpp"
#include "coordinators/base/moment.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// What a process says of its link with another one. Bytes of pieces since the link was made, each way a
/// number of its own.
struct link_report {
  std::string peer;
  uint64_t outgoing = 0; ///< the number of the way there
  uint64_t sent = 0;     ///< given to it
  uint64_t seen = 0;     ///< of these, acknowledged by the peer
  uint64_t waiting = 0;  ///< ranges that wait for credit
  uint64_t incoming = 0; ///< the number of the way back, as the peer says
  uint64_t came = 0;     ///< over it
  carrier_choice carrier = carrier_choice::messages; ///< which pieces go by now

  friend bool operator==(const link_report&, const link_report&) = default;
};

/// A process reports the links that matter most: those that wait for credit, then the busiest.
inline constexpr size_t reported_links_max = 32;

/// One way between two processes.
struct link_figures {
  std::string from;
  std::string to;
  uint64_t sent = 0;           ///< bytes given to it
  uint64_t came = 0;           ///< of these, at the other end
  uint64_t unseen = 0;         ///< of these, not acknowledged to the sender
  uint64_t waiting = 0;        ///< ranges that wait for credit
  double bytes_per_second = 0; ///< that came lately
  milliseconds still{
    0}; ///< since anything came, or was acknowledged, while something was under way
  carrier_choice carrier = carrier_choice::messages; ///< which pieces go by now

  friend bool operator==(const link_figures&, const link_figures&) = default;
};

/// For so long nothing came of what was sent: longer than two reports are apart.
inline constexpr milliseconds link_still_max{1'200};

/// Something was sent and does not come.
inline bool is_cut(const link_figures& x) {
  return x.sent > x.came && x.still >= link_still_max;
}

/// All that was sent has come, and the sender waits for its credit.
inline bool lacks_credit(const link_figures& x) {
  return x.waiting > 0 && x.sent == x.came && x.unseen > 0 && x.still >= link_still_max;
}

class link_watch {
public:
  void on_report(const std::string& who, const std::vector<link_report>& links, moment now);
  /// Its links are gone.
  void on_lost(const std::string& who);

  /// Those that something was sent over, in order of their ends. At most so many: those that stand still
  /// first, then the busiest.
  std::vector<link_figures> figures(moment now, size_t count_max) const;

  friend bool operator==(const link_watch&, const link_watch&) = default;

private:
  /// How far a count had got when.
  struct mark {
    moment at{};
    uint64_t bytes = 0;

    friend bool operator==(const mark&, const mark&) = default;
  };
  struct way {
    uint64_t number = 0; ///< of the link, by the sender
    uint64_t sent = 0;
    uint64_t seen = 0;
    uint64_t waiting = 0;
    uint64_t other_number = 0; ///< by the receiver
    carrier_choice carrier = carrier_choice::messages;
    moment moved{};        ///< when anything came, was acknowledged, or began to be under way
    std::deque<mark> came; ///< the newest last; of the last seconds

    friend bool operator==(const way&, const way&) = default;
  };

  static void on_sent(way& x, const link_report& news, moment now);
  static void on_came(way& x, const link_report& news, moment now);

  std::map<std::pair<std::string, std::string>, way> ways_; ///< by sender and receiver
};

} // namespace troupe
