// The handover: gives an open connection of the gate to the actor system, which carries messages
// over it from then on. The accepting side shows one actor to the dialling side. So each side gets
// the other's handle over their direct connection, never through a third process.

#pragma once

#include "actors/net/socket/channel.hpp"

#include <caf/fwd.hpp>
#include <caf/io/fwd.hpp>

#include <cstdint>

namespace troupe {

/// A second hold on a connection that the actor system has. When the hold ends, the connection ends
/// at both sides. A connection that only the actor system closes stays half open until then.
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

/// The number of the shown actor; no port has it.
inline constexpr uint16_t shown_actor_number = 1;

/// Wraps the connection for the actor system. The scribe keeps the session: of a secured connection
/// its own, of a plain one a checked one.
caf::io::scribe_ptr make_scribe(caf::actor_system& system, channel&& connection);

/// The actor that speaks the actor system's protocol. It takes the connection over after a message:
/// on the accepting side (publish_atom, scribe, number, actor to show, signatures), on the dialling
/// side (connect_atom, scribe, number). It answers the latter with the shown actor.
caf::actor protocol_broker(caf::actor_system& system);

} // namespace troupe
