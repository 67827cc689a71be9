// The messages between the links of processes: introduction and farewell. And the messages between
// the links and the other parts of their process.
//
//   links of one process <== introduction, farewell, ping ==> links of another
//        ^ gate_news                     | process_news
//       gate                             v
//                            the observer: waits for the end

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

/// Receives a node's standing.
using standing_actor = caf::typed_actor<caf::reacts_to<standing>>;

/// The links as their own process sees them.
using local_links_actor = links_actor::extend_with<standing_actor>::extend<
  // From the gate.
  caf::reacts_to<gate_event>,
  // The node and, if it is here, the director of this process. Sent once, before all else.
  caf::reacts_to<local_node_actor, director_actor>,
  // Sends all other processes a farewell; answered when they know and have gone.
  caf::replies_to<atom::stop, farewell>::with<atom::stop>,
  // To itself: time passes.
  caf::reacts_to<atom::tick>>;

/// Waits for the end of this process's part.
using process_observer = caf::typed_actor<caf::reacts_to<process_news>>;

/// Links -> links, over their connection: the dialling side sends its introduction once, the other
/// side answers with its own. Idempotent.
struct introduction {
  member who;                   ///< the incarnation is that of this connection, or a later one
  node_actor node;              ///< the process's node
  director_link_actor director; ///< null unless the director is in that process
  links_actor links; ///< the sender, to be monitored: it is down when the connection is lost
  bool wants_answer = false;
  carrier_offer carrier = {}; ///< of the link that is being made

  friend bool operator==(const introduction&, const introduction&) = default;
};

TROUPE_INSPECTED(introduction);

/// The director's links -> all others: the run is over. Who cannot be reached just then learns it from the gate.
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

/// Links -> the process's observer. A line for people, or the end of this process's part. Never
/// crosses a wire.
struct process_news {
  std::string line;
  bool is_end = false;
  uint8_t code = 0;      ///< at the end: a failure_code, or a refusal_code; 0: it ended well
  std::string hint = {}; ///< at a bad end
};

/// Node -> its links: the newest view, and what this life of the process does in it. Never crosses a wire.
struct standing {
  view_number view;
  uint64_t incarnation = 0; ///< of the life that this process joined as
  std::string work;         ///< in words; empty: the view does not name it
  std::string misfit;       ///< why this process cannot follow the view; empty: it can
};

} // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::gate_event)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::process_news)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::standing)
