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

#include "actors/net/gate/gate_options.hpp"
#include "coordinators/links/admission.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace troupe {

class gate_loop; // gate_loop.hpp

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
  /// `line` with its end, from actors/net/gate/visit.hpp.
  void answer_visit(uint64_t ticket, const std::string& line);
  /// The connection to a dialled name is gone.
  void dial_again(const std::string& name);
  /// A second connection to a dialled name, which carries pieces of the link with this token. One
  /// attempt: it comes to nothing in silence.
  void dial_carrier(const std::string& name, uint64_t token);
  /// The run is over: who comes from now on is told so.
  void close(const verdict& over);
  /// A view of this term was seen.
  void see_term(uint64_t term);

private:
  std::unique_ptr<gate_loop> loop_;
  uint16_t port_ = 0;
};

} // namespace troupe
