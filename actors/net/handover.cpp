#include "troupe/actors/net/handover.hpp"

#include "troupe/actors/net/tls_scribe.hpp"

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/io/basp_broker.hpp>
#include <caf/io/middleman.hpp>
#include <caf/io/network/default_multiplexer.hpp>

#include <utility>

namespace troupe {

caf::io::scribe_ptr make_scribe(caf::actor_system& system, channel&& connection) {
  auto& backend = system.middleman().backend();
  auto session = connection.release_session();
  const int descriptor = connection.release().release();
  if (!session)
    return backend.new_scribe(descriptor);
  return make_tls_scribe(static_cast<caf::io::network::default_multiplexer&>(backend), descriptor,
                         std::move(session));
}

caf::actor protocol_broker(caf::actor_system& system) {
  return system.middleman().named_broker<caf::io::basp_broker>(caf::atom("BASP"));
}

} // namespace troupe
