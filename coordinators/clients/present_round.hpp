// Present round: which of the clients that are connected take part in a round of federated training, and whose updates
// count. A plain object without sockets and vectors.
//
//   open --enough clients are here, or the time is over--> invite --K updates, or the time is over--> over
//           \--too few are here--> over, and void;           |  ^
//               with a coin: waits on                            |  |
//                                                              v  | a client is lost: the next one is invited
//                                                            answers
//
// The clients here when the round begins are ranked by a hash of seed, round and name: never by arrival. The first of
// them are invited: K (1 + over-selection), or all that a secret coin chose. One that is lost before its update counted
// is replaced by the next in rank, and may still hand in its update if it comes back in time. Who comes later is for the
// next round.

#pragma once

#include "coordinators/base/moment.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct present_options {
  uint64_t seed = 0;
  size_t cohort = 1;                ///< K >= 1: updates that count
  size_t invited_max = 1;           ///< clients asked at a time, K or more
  size_t min_count = 1;             ///< clients that must be here, 1 to K
  size_t groups = 1;                ///< that updates are added in; 0: each client its own
  milliseconds round_time{600'000}; ///< to wait for clients, and then for updates
};

/// Clients by name, each with a hash of the name that is the same everywhere.
using client_names = std::map<std::string, uint64_t>;
/// Whether a secret draw takes the client with this hash.
using client_coin = std::function<bool(uint64_t key)>;

struct invitation {
  std::string name;
  uint64_t group = 0;
};

class present_round {
public:
  explicit present_round(const present_options& options) : options_(options) {}

  /// A round begins once enough clients are here. `coin`: whom a secret draw takes, in place of the first in rank; null:
  /// there is none.
  void open(uint64_t round, moment now, client_coin coin = {});
  /// Whom to invite now, `here` being all clients that are connected.
  std::vector<invitation> invite(const client_names& here, moment now);

  /// The connection of a client is gone, or it has come back.
  void set_here(const std::string& name, bool is_here);
  /// The group that takes a client's update now; nothing: it does not take part, or has answered.
  std::optional<uint64_t> group_of(const std::string& name) const;
  /// A client's update is here; `counts`: it was in range.
  void on_update(const std::string& name, bool counts);

  bool is_open() const { return stage_ != stage::idle; }
  bool has_begun() const { return stage_ == stage::begun; }
  uint64_t round() const { return round_; }
  /// Nothing more is waited for: the caller closes the round.
  bool is_over(moment now) const;
  /// A secret draw was not made: a sum of nobody would be noise alone.
  bool has_no_draw() const { return stage_ == stage::gathering && coin_; }
  /// It has waited for its first client for as long as ten void rounds last.
  bool has_waited_in_vain(moment now) const {
    return has_no_draw() && now >= deadline_ + 9 * options_.round_time;
  }
  /// Until `is_over` may change by itself.
  moment deadline() const { return deadline_; }
  void close() { stage_ = stage::idle; }
  /// Waits for nobody any more.
  void hurry(moment now) {
    deadline_ = now;
    is_hurried_ = true;
  }

  size_t invited() const { return invited_.size(); }
  /// Invited clients without an answer, and those of them that are here.
  size_t missing() const;
  size_t awaited() const;
  /// The names of those that are not: at most so many.
  std::vector<std::string> lost(size_t count_max) const;
  size_t counted() const { return counted_; }
  /// So many clients begin a round at once.
  size_t wanted() const { return options_.invited_max; }

private:
  enum class stage : uint8_t { idle, gathering, begun };
  struct invited_client {
    uint64_t group = 0;
    bool is_here = true;
    bool has_answered = false;
  };

  void begin(const client_names& here, moment now);

  present_options options_;
  stage stage_ = stage::idle;
  bool is_hurried_ = false;
  uint64_t round_ = 0;
  moment deadline_{};
  client_coin coin_;
  std::vector<std::string> ranked_; ///< here at the begin
  size_t next_ = 0;                 ///< in rank
  size_t asked_max_ = 0;            ///< clients asked at a time, of this round
  std::map<std::string, invited_client> invited_;
  std::vector<uint64_t> free_groups_; ///< of clients that were lost
  size_t counted_ = 0;
};

} // namespace troupe
