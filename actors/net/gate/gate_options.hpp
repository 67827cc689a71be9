// What a gate (gate.hpp) is told when it is made, and how much it bears.

#pragma once

#include "actors/net/socket/endpoint.hpp"
#include "coordinators/base/moment.hpp"
#include "coordinators/links/admission.hpp"
#include "data/identity/tls_files.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct dial_target {
  std::string name;
  endpoint where;
  /// The other one is to dial, if both agree about who does: it is only asked whether both would go
  /// on with each other. Else two that disagree would wait for each other.
  bool only_compares = false;
};

struct gate_options {
  process_facts facts; ///< without the incarnation, which is drawn for each connection
  cluster_plan plan;
  endpoint listen;
  int inherited_listen_fd = -1; ///< bound already, then instead of `listen`; the gate closes it
  std::vector<dial_target> dials;
  std::optional<tls_files> tls; ///< absent: connections are plain
  std::optional<verdict> over;  ///< the run is over: what everybody is told (`run_is_over`)
  /// For a whole hello. A round trip takes milliseconds; doubled, silent clients keep their slots
  /// twice as long.
  milliseconds hello_deadline{5'000};
  /// Between attempts to dial, doubling. The first is short, as nodes start together; the last is
  /// how late a process that comes back is noticed.
  milliseconds dial_delay_min{100};
  milliseconds dial_delay_max{2'000};
};

/// Connections in their hello; far more than nodes that start at once.
inline constexpr size_t half_open_max = 64;

/// Connections let in each second, and at once after a quiet time. With hands to shake one costs
/// up to 0.3 ms of a core; a cluster starts at once with less than the second.
inline constexpr uint32_t accepts_per_second = 150;
inline constexpr uint32_t accepts_at_once = 64;

} // namespace troupe
