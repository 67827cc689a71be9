#include "troupe/actors/net/links/handover.hpp"

#include "troupe/actors/net/links/session_scribe.hpp"

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/io/basp_broker.hpp>
#include <caf/io/middleman.hpp>
#include <caf/io/network/default_multiplexer.hpp>

#include <fcntl.h>
#include <sys/socket.h>

#include <memory>
#include <utility>

namespace troupe {

// Without a descriptor left there is none, and the connection ends as the actor system finds out.
connection_hold::connection_hold(const channel& connection)
  : socket_(::fcntl(connection.descriptor(), F_DUPFD_CLOEXEC, 0)) {}

void connection_hold::cut() {
  if (socket_)
    ::shutdown(socket_.get(), SHUT_RDWR);
  socket_ = owned_socket{};
}

caf::io::scribe_ptr make_scribe(caf::actor_system& system, channel&& connection) {
  auto& backend = static_cast<caf::io::network::default_multiplexer&>(system.middleman().backend());
  auto session = connection.release_session();
  const int descriptor = connection.release().release();
  return session ? make_session_scribe(backend, descriptor, std::move(session))
                 : make_session_scribe(backend, descriptor,
                                       std::make_unique<checked_session>(descriptor));
}

caf::actor protocol_broker(caf::actor_system& system) {
  return system.middleman().named_broker<caf::io::basp_broker>(caf::atom("BASP"));
}

} // namespace troupe
