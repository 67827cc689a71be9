// The messages between the links of processes, by which they introduce themselves, and those
// between the parts of one process around them.
//
//   links of one process <== introduction, farewell, ping ==> links of another
//        ^ gate_news                     | process_news
//       gate                             v
//                            whoever waits for the end

#pragma once

#include "actors/net/gate/gate_options.hpp"
#include "actors/protocol/carrier_offer.hpp"
#include "actors/protocol/cluster_messages.hpp"

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/replies_to.hpp>
#include <caf/typed_actor.hpp>

#include <cstdint>
#include <string>

namespace troupe {

/// A node's way to say where it stands.
using standing_actor = caf::typed_actor<caf::reacts_to<standing>>;

/// The links as their own process sees them.
using local_links_actor = links_actor::extend_with<standing_actor>::extend<
  // From the gate.
  caf::reacts_to<gate_event>,
  // The node and, on the director, the director of this process: sent once, first of all.
  caf::reacts_to<local_node_actor, director_actor>,
  // Tell all others that the run is over; answered when they have gone.
  caf::replies_to<atom::stop, farewell>::with<atom::stop>,
  // To itself: time passes.
  caf::reacts_to<atom::tick>>;

/// Whoever waits for the end of this process's part.
using process_observer = caf::typed_actor<caf::reacts_to<process_news>>;

/// Links -> links, over the connection between them: once by the dialling side, which is answered
/// with the other's own. Idempotent.
struct introduction {
  member who;                   ///< the incarnation is that of this connection, or a later one
  node_actor node;              ///< its part of the run
  director_link_actor director; ///< null unless the director is there
  links_actor links;            ///< the sender, to be watched: gone means the connection is
  bool wants_answer = false;
  carrier_offer carrier = {}; ///< of the link that is being made

  friend bool operator==(const introduction&, const introduction&) = default;
};

TROUPE_INSPECTED(introduction);

/// The director's links -> all others: the run is over.
struct farewell {
  uint8_t code = 0;   ///< a failure_code; 0: it ended well
  std::string reason; ///< in words

  friend bool operator==(const farewell&, const farewell&) = default;
};

TROUPE_INSPECTED(farewell);

/// Gate -> links. Never crosses a wire.
struct gate_event {
  gate_news what;
};

/// Links -> whoever waits. A line for people, or the end of this process's part. Never crosses a
/// wire.
struct process_news {
  std::string line;
  bool is_end = false;
  uint8_t code = 0; ///< at the end: a failure_code; 0: it ended well
};

/// Node -> its links: the newest view, and whether it names this life of the process. Never crosses
/// a wire.
struct standing {
  view_number view;
  uint64_t incarnation = 0; ///< of the life that was looked for
  bool takes_part = false;
  std::string misfit; ///< why the view cannot be followed here; empty: it can
};

} // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::gate_event)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::process_news)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::standing)
