// Which clients of a federated run are at its server, and what they have sent: for people.

#pragma once

#include <cstdint>
#include <string>

namespace troupe {

/// Of a private run what the round asks of clients, what they answer, and how much they send is told to nobody: all 0.
struct client_presence {
  uint64_t here = 0;                       ///< connected, and ready to train
  uint64_t wanted = 0;                     ///< with so many the next round begins at once
  uint64_t invited = 0;                    ///< to the open round
  uint64_t answered = 0;                   ///< of them, by an update
  uint64_t counted = 0;                    ///< updates, since the server began
  uint64_t refused = 0;                    ///< likewise
  uint64_t came_bytes = 0, sent_bytes = 0; ///< from clients and to them, since the server began
  bool gathers = false;                    ///< a round waits for clients to begin

  friend bool operator==(const client_presence&, const client_presence&) = default;
};

/// What a run waits for: "clients: 3 of 5 here", "updates: 2 of 4".
inline std::string awaited_of(const client_presence& x) {
  if (!x.gathers && x.invited == 0)
    return "updates";
  if (!x.gathers)
    return "updates: " + std::to_string(x.answered) + " of " + std::to_string(x.invited);
  return "clients: " + std::to_string(x.here) + " of " + std::to_string(x.wanted) + " here";
}

} // namespace troupe
