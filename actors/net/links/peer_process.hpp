// A process among peers: none of them is a director. Networked collectives and networked names connect such processes.
// Here is what both need: checks of the plan, the options of the gate, and the handover of an opened connection.

#pragma once

#include "actors/net/gate/gate_options.hpp"
#include "actors/net/links/handover.hpp"
#include "coordinators/membership/cluster_plan.hpp"
#include "data/identity/certificate.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/io/scribe.hpp>
#include <caf/send.hpp>

#include <optional>
#include <set>
#include <string>
#include <utility>

namespace troupe {

struct peer_process {
  cluster_plan cluster; ///< the process dials the nodes before its own
  std::string own_name;
  std::optional<tls_files> tls;
  std::string words; ///< facts that all processes must share, a line "key = value" each
};

/// Throws failure: internal when `configure_node` was not called; bad_job when two nodes have one name, or none has
/// `own_name`.
void expect_peer(const caf::actor_system& system, const cluster_plan& cluster,
                 const std::string& own_name);

/// The options of the process's gate, in this actor system.
gate_options peer_gate(const caf::actor_system& system, const peer_process& x);

/// Gives an opened connection to the actor system. The accepting side shows `self` to the dialling side. On the dialling
/// side `on_shown` gets the other side's actor, or `on_lost` is called.
template <class Self, class OnShown, class OnLost>
void hand_over(Self* self, const opened_news& news, milliseconds deadline, OnShown on_shown,
               OnLost on_lost) {
  const auto broker = protocol_broker(self->system());
  const auto scribe = make_scribe(self->system(), std::move(*news.connection));
  if (!news.was_dialled)
    return caf::anon_send(broker, caf::publish_atom_v, scribe, shown_actor_number,
                          caf::actor_cast<caf::strong_actor_ptr>(self), std::set<std::string>{});
  self->request(broker, deadline, caf::connect_atom_v, scribe, shown_actor_number)
    .then(
      [on_shown](const caf::node_id&, const caf::strong_actor_ptr& shown,
                 const std::set<std::string>&) {
        if (shown)
          on_shown(shown);
      },
      [on_lost](const caf::error&) { on_lost(); });
}

} // namespace troupe
