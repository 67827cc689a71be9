#include "troupe/actors/net/handover.hpp"

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/io/basp_broker.hpp>
#include <caf/io/middleman.hpp>
#include <caf/io/network/default_multiplexer.hpp>

namespace troupe {

caf::io::scribe_ptr make_scribe(caf::actor_system& system, channel&& connection) {
  return system.middleman().backend().new_scribe(connection.release().release());
}

caf::actor protocol_broker(caf::actor_system& system) {
  return system.middleman().named_broker<caf::io::basp_broker>(caf::atom("BASP"));
}

} // namespace troupe
