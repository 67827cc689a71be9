// The gate: one thread in each process, which makes all its connections. It listens and dials
// without ever blocking. It hands a connection on only after both sides have named themselves and
// agreed to go on (hello.hpp). So no byte of a stranger reaches the actor system, and both sides
// know the reason of every refusal.
//
//          accepted --+                  +--> asking: is the name free? --+
//        (hands shaken) +--> greeting ---+                                +--> opened
//   dial, connected --+      |     |     +--------------------------------+
//    ^  ^                    |     +--> refused (both sides know why)
//    |  +-- back-off <-------+ silent for 5 s, closed, or not one of us
//    +-- dial_again: an open connection was lost
//
// It knows nothing of actors: it reports events on its own thread, and the receiver (the links)
// answers with the functions below, from any thread. A silent or hostile client costs a slot for 5
// s; when all slots are taken the oldest one goes. The gate accepts a limited number of connections
// each second (gate_options.hpp), so strangers cannot take more than some per cent of a core.
//
// With `tls` every connection is secured before the hello. Both sides prove their names with
// certificates, and the name in the hello must be the certificate's. If a dialled address answers
// without the dialled name's proof, by alert, refusal or noise, the attempt has failed. Then the
// gate dials again, and reports no refusal.

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
  /// Binds its port; accepts and dials only after `start`.
  ///
  /// Throws failure: bad_job when it would listen on more than loopback without `tls` or
  /// `insecure`; cannot_create, no_permission, missing_input as `listen_on`; missing_input when the
  /// host to listen on is unknown; as load_tls (tls_identity.hpp) when `tls` does not fit.
  explicit gate(gate_options options);
  ~gate();
  gate(const gate&) = delete;
  gate& operator=(const gate&) = delete;

  uint16_t port() const { return port_; }

  /// Opens. Calls `tell` with each event, on the gate's thread, until the gate is destroyed.
  void start(std::function<void(gate_news)> tell);

  void answer(uint64_t ticket, const verdict& what);
  /// `line` with its end, from actors/net/gate/visit.hpp.
  void answer_visit(uint64_t ticket, const std::string& line);
  /// The connection to a dialled name is lost: dials it again.
  void dial_again(const std::string& name);
  /// A process of this name is there, and is to be dialled at this address: now, unless it is linked.
  void dial_now(const std::string& name, const endpoint& where);
  /// A node that no file lists is gone: it is not dialled any more. Without a name: all of these.
  void forget(const std::string& name);
  /// Dials a second connection to a dialled name, which carries pieces of the link with this token.
  /// One attempt; a failure is not reported.
  void dial_carrier(const std::string& name, uint64_t token);
  /// The run is over: every process that comes from now on is refused with this verdict.
  void close(const verdict& over);
  /// A view of this term was seen.
  void see_term(uint64_t term);

private:
  std::unique_ptr<gate_loop> loop_;
  uint16_t port_ = 0;
};

} // namespace troupe
