// Whom a gate dials: each name has one dial for its link, and one for carriers after the first of these. The gate's loop
// makes the attempts (gate_loop.cpp); here is what begins them, and what ends them.
//
//   dialled --linked--> kept --lost--> dialled again
//      |                  |
//      +----- gone -------+--> left alone, until it is there again (nodes that no file lists)

#pragma once

#include "actors/net/gate/gate_options.hpp"
#include "coordinators/links/dial_clock.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// The repeated attempts to reach a name.
struct gate_dial {
  gate_dial(const dial_target& whom, const gate_options& options, uint64_t token = 0)
    : target(whom), clock(options.dial_delay_min, options.dial_delay_max), carrier(token) {}

  dial_target target;
  dial_clock clock;
  std::optional<lookup> question; ///< while its answer is missing
  moment answer_due{};
  std::vector<socket_address> addresses; ///< of this attempt, those not tried yet
  std::string problem;                   ///< why the last one failed
  uint64_t carrier = 0;                  ///< its token; 0: dialled for a link
  bool is_under_way = false;             ///< an attempt
  bool is_linked = false;                ///< a link with the name is open
  bool is_gone = false;                  ///< not to be dialled until it is there again
};

class gate_dials {
public:
  explicit gate_dials(const gate_options& options) : options_(options) {
    for (const auto& target : options.dials)
      those_.emplace_back(target, options);
  }

  size_t size() const { return those_.size(); }
  gate_dial& operator[](size_t index) { return those_[index]; }
  const gate_dial& operator[](size_t index) const { return those_[index]; }
  auto begin() const { return those_.begin(); }
  auto end() const { return those_.end(); }

  void on_linked(const std::string& name);
  /// The connection is lost, or it refused some time ago: dials it again, if it is to be dialled at all.
  void on_lost(const std::string& name, moment now);
  /// A carrier is wanted: one attempt.
  void on_carrier_wanted(const std::string& name, uint64_t token, moment now);
  /// A process is there: who waits for the next attempt makes it now. Nothing was lost.
  void on_there(const dial_target& who, moment now);
  /// A node that no file lists is gone; without a name, all of them. A connection that is open or under way stays, and is
  /// not made again.
  void on_gone(const std::string& name);

private:
  gate_options options_;
  std::vector<gate_dial> those_;
};

} // namespace troupe
