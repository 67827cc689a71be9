// A scribe over a session: how the actor system reads and writes a connection of ours, secured or
// checked. It is driven by the actor system's own loop; hands were shaken before (gate.hpp).

#pragma once

#include "troupe/actors/net/socket/checked_session.hpp"
#include "troupe/actors/net/socket/tls_session.hpp"

#include <caf/io/fwd.hpp>
#include <caf/io/network/native_socket.hpp>

#include <memory>

namespace troupe {

/// Owns the open socket and the session from now on.
caf::io::scribe_ptr make_session_scribe(caf::io::network::default_multiplexer& backend,
                                        caf::io::network::native_socket socket,
                                        std::unique_ptr<tls_session> session);
caf::io::scribe_ptr make_session_scribe(caf::io::network::default_multiplexer& backend,
                                        caf::io::network::native_socket socket,
                                        std::unique_ptr<checked_session> session);

} // namespace troupe
