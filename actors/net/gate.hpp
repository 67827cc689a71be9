// The gate: one thread in each process, through which every connection comes in and goes out. It
// listens and dials without ever blocking, and hands on a connection only after both sides have
// said who they are and agreed to go on (hello.hpp). So no byte of a stranger reaches the actor
// system, and every refusal has a name on both sides.
//
//          accepted --+                  +--> asking: is the name free? --+
//        (hands shaken) +--> greeting ---+                                +--> opened
//   dial, connected --+      |     |     +--------------------------------+
//    ^  ^                    |     +--> refused (both sides know why)
//    |  +-- back-off <-------+ silent for 5 s, closed, or not one of us
//    +-- dial_again: an open connection was lost
//
// It knows nothing of actors: what happens comes out as events, on the gate's thread, and whoever
// takes them answers with the functions below, from any thread. Silent or hostile clients cost a
// slot for 5 s; when all slots are taken the oldest one goes, and no more than a few hundred are
// let in each second, so that strangers cannot take more than some per cent of a core.
//
// With `tls` every connection is secured before the hello, both sides prove with certificates who
// they are, and the name in the hello must be the certificate's. Whatever answers at a dialled
// address and does not prove that it is who was dialled, by alert, refusal or noise, is a failed
// attempt to reach it: it is dialled again, and nothing it says is told as a refusal.

#pragma once

#include "troupe/actors/net/channel.hpp"
#include "troupe/actors/net/endpoint.hpp"
#include "troupe/coordinators/admission.hpp"
#include "troupe/coordinators/moment.hpp"
#include "troupe/data/tls_files.hpp"

#include <cstdint>
#include <functional>
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

class gate {
public:
  /// Binds its port; nobody is accepted or dialled before `start`.
  ///
  /// Throws failure: bad_job when it would listen on more than loopback without being told to;
  /// cannot_create, no_permission, missing_input as `listen_on`; missing_input when the host to
  /// listen on is unknown; as load_tls (tls_identity.hpp) when `tls` does not fit.
  explicit gate(gate_options options);
  ~gate();
  gate(const gate&) = delete;
  gate& operator=(const gate&) = delete;

  uint16_t port() const { return port_; }

  /// Opens. Events are told to `tell`, on the gate's thread, until the gate is gone.
  void start(std::function<void(gate_news)> tell);

  void answer(uint64_t ticket, const verdict& what);
  /// `line` with its end, from actors/net/visit.hpp.
  void answer_visit(uint64_t ticket, const std::string& line);
  /// The connection to a dialled name is gone.
  void dial_again(const std::string& name);
  /// The run is over: who comes from now on is told so.
  void close(const verdict& over);
  /// A view of this term was seen.
  void see_term(uint64_t term);

private:
  class loop;
  std::unique_ptr<loop> loop_;
  uint16_t port_ = 0;
};

} // namespace troupe
