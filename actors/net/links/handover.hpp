// The handover: an open connection goes from the gate to the actor system, which carries its
// messages from then on. The accepting side shows one actor to the other, and so each gets the way
// to the other over the connection that leads there directly, never through a third process.

#pragma once

#include "actors/net/socket/channel.hpp"

#include <caf/fwd.hpp>
#include <caf/io/fwd.hpp>

#include <cstdint>

namespace troupe {

/// A second hold on a connection that the actor system has. The connection ends with it, at both
/// sides: what the actor system closes stays half open until then.
class connection_hold {
public:
  connection_hold() = default;
  explicit connection_hold(const channel& connection);
  connection_hold(connection_hold&&) noexcept = default;
  connection_hold& operator=(connection_hold&&) noexcept = default;
  ~connection_hold() { cut(); }

  void cut();

private:
  owned_socket socket_;
};

/// The number under which the one shown actor is known; there is no port behind it.
inline constexpr uint16_t shown_actor_number = 1;

/// Wraps the connection for the actor system. The scribe keeps the session: of a secured connection
/// its own, of a plain one a checked one.
caf::io::scribe_ptr make_scribe(caf::actor_system& system, channel&& connection);

/// The actor that speaks the actor system's protocol. It takes, after the accepting side's
/// (publish_atom, scribe, number, actor to show, signatures) or the dialling side's (connect_atom,
/// scribe, number), the connection over; the latter is answered with the shown actor.
caf::actor protocol_broker(caf::actor_system& system);

} // namespace troupe
