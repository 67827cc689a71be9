// What a gate (gate.hpp) is told when it is made, how much it bears, and what it tells.

#pragma once

#include "actors/net/socket/channel.hpp"
#include "actors/net/socket/endpoint.hpp"
#include "coordinators/base/moment.hpp"
#include "coordinators/links/admission.hpp"
#include "data/identity/certificate.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
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

// What a gate (gate.hpp) tells: who came, who was let in or refused, and who cannot be reached.

/// A peer says it is this process, and all but its name's freedom is settled: to be answered with
/// `answer`. The hello's deadline goes on.
struct candidate_news {
  uint64_t ticket = 0;
  process_facts peer;
};
/// A candidate went away, or its connection was not opened in the end.
struct withdrawn_news {
  uint64_t ticket = 0;
};
/// A visitor asks how training goes: to be answered with `answer_visit`. The hello's deadline goes
/// on, and whoever left is answered in vain.
struct visitor_news {
  uint64_t ticket = 0;
};
/// A connection both sides want: the receiver owns it.
struct opened_news {
  uint64_t ticket = 0;
  process_facts peer;
  uint64_t own_incarnation = 0; ///< of this process, on this connection
  bool was_dialled = false;
  std::shared_ptr<channel> connection;
  uint64_t carrier = 0; ///< the token of a carrier for a link that is there; 0: this is a link
};
/// For good: a dialled name is not dialled again by itself. With `tls` who refused, or was refused,
/// has proven its name, or has none here.
struct refused_news {
  refusal what;
  std::string host; ///< where it came from, unless dialled
};
/// Whoever came from there was no process of ours, or said nothing.
struct turned_away_news {
  std::string host;
  std::string reason;
};
/// Certificate files were replaced, and those that are there now do not fit: the old ones count.
struct files_unfit_news {
  std::string reason;
};
/// Dialling goes on without success.
struct failing_news {
  std::string name;
  moment since;
  std::string reason;
};
using gate_news = std::variant<candidate_news, withdrawn_news, visitor_news, opened_news,
                               refused_news, turned_away_news, files_unfit_news, failing_news>;

} // namespace troupe
