// The options of a gate (gate.hpp), its limits, and its events.

#pragma once

#include "actors/net/gate/visit.hpp"
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
};

struct gate_options {
  process_facts facts; ///< without the incarnation, which is drawn for each connection
  cluster_plan plan;
  endpoint listen;
  int inherited_listen_fd = -1; ///< already bound, used instead of `listen`; the gate closes it
  std::vector<dial_target> dials;
  std::optional<tls_files> tls; ///< absent: connections are plain
  std::optional<verdict>
    over; ///< the run is over (`run_is_over`), or has not begun: the refusal for everybody
  /// Time for a whole hello. A round trip takes milliseconds; doubled, silent clients keep their
  /// slots twice as long.
  milliseconds hello_deadline{5'000};
  /// Time between attempts to dial, doubling. The first is short, because nodes start together. The
  /// last is how late a returning process is noticed.
  milliseconds dial_delay_min{100};
  milliseconds dial_delay_max{2'000};
};

/// Connections in their hello; far more than nodes that start at once.
inline constexpr size_t half_open_max = 64;

/// Connections accepted each second, and at once after a quiet time. With a handshake one costs up
/// to 0.3 ms of a core. A starting cluster makes fewer connections than `accepts_at_once`.
inline constexpr uint32_t accepts_per_second = 150;
inline constexpr uint32_t accepts_at_once = 64;

// The events of a gate (gate.hpp): processes that come, are admitted or refused, or cannot be
// reached.

/// A peer claims to be this process, and only the freedom of its name is open: the receiver must
/// call `answer`. The hello's deadline goes on.
struct candidate_news {
  uint64_t ticket = 0;
  process_facts peer;
};
/// A candidate went away, or its connection was not opened in the end.
struct withdrawn_news {
  uint64_t ticket = 0;
};
/// A visitor asks something: the receiver must call `answer_visit`. The hello's deadline goes
/// on; an answer to a visitor that has left is dropped.
struct visitor_news {
  uint64_t ticket = 0;
  visit_request what{};
};
/// A connection that both sides have admitted: the receiver owns it.
struct opened_news {
  uint64_t ticket = 0;
  process_facts peer;
  uint64_t own_incarnation = 0; ///< of this process, on this connection
  bool was_dialled = false;
  std::shared_ptr<channel> connection;
  uint64_t carrier = 0; ///< the token of a carrier for an existing link; 0: this is a link
};
/// A lasting refusal: the gate does not dial the name again by itself. With `tls` the peer has
/// proven its name, or has none here.
struct refused_news {
  refusal what;
  std::string host; ///< the peer's host, unless dialled
};
/// A connection from this host was no process of Troupe, or was silent.
struct turned_away_news {
  std::string host;
  std::string reason;
};
/// Certificate files were replaced, and the new ones do not fit: the old ones count.
struct files_unfit_news {
  std::string reason;
};
/// A name cannot be reached; the gate goes on dialling.
struct failing_news {
  std::string name;
  moment since;
  std::string reason;
};
using gate_news = std::variant<candidate_news, withdrawn_news, visitor_news, opened_news,
                               refused_news, turned_away_news, files_unfit_news, failing_news>;

} // namespace troupe
