// Networked names: actors of an application that processes find by name. Processes may come, go, and come again at any
// time.
//
//   troupe::configure_node(config, plan.timeouts);              // networked_process.hpp
//   caf::actor_system system{config};
//   troupe::networked_names here{system, {plan, "b"}};          // listens, dials those before it
//   here.publish("counter", counter);                           // others may find it
//   const auto other = here.find("adder", milliseconds{5'000}); // waits until some process has it
//
// Processes connect through the gate as in training (actors/net/gate): a hello with the facts that both must share,
// then TLS if wanted, else checked records. A lost connection is dialled again for as long as this object lives; only
// after a lasting refusal (another plan, another version) it is not. An actor system has one networked_names, and no
// other networked part beside it.

#pragma once

#include "coordinators/membership/cluster_plan.hpp"
#include "data/identity/certificate.hpp"

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace troupe {

struct networked_names_options {
  /// The same in all processes but for addresses. A process dials only the nodes before its own; port 0 listens on any
  /// free port. What nodes bring (`replica_count` and so on) does not matter.
  cluster_plan cluster;
  std::string own_name;           ///< the node that this process is
  std::optional<tls_files> tls{}; ///< absent: plain, for loopback or with `cluster.insecure`
};

/// All functions may be called from any thread.
class networked_names {
public:
  /// Listens and dials, without waiting.
  ///
  /// Throws failure: bad_job when the plan cannot work; cannot_create when the port is in use;
  /// missing_input, no_permission, bad_data and io_error as networked_process; internal when `configure_node`
  /// was not called.
  networked_names(caf::actor_system& system, networked_names_options options);

  /// Others lose the actors of this process. The actors live on.
  ~networked_names();
  networked_names(const networked_names&) = delete;
  networked_names& operator=(const networked_names&) = delete;

  /// The port it listens on, also when the plan has port 0.
  uint16_t port() const;

  /// From now on processes find this actor by this name, until it ends. A later one of the same name takes its place.
  /// The actor does not end with its last handle here, because other processes have some: tell it to.
  /// A process has at most 1,000 names at a time; further ones are not published.
  ///
  /// Throws std::invalid_argument unless the name has 1 to 64 bytes and the actor lives in this process.
  void publish(const std::string& name, const caf::actor& which);

  /// `listener` gets (atom::found, std::string, caf::strong_actor_ptr) when an actor of this name comes or is there: the
  /// name and the actor; a null one when it is gone. Another one may come without that. If several processes have one
  /// of this name, it is this process's own, else that of the first node in the plan.
  void follow(const std::string& name, const caf::actor& listener);

  /// Waits for an actor of this name. Actors do not call it, for it blocks: they follow.
  ///
  /// Throws failure unavailable after `deadline`, with the processes that are not reached, and why.
  caf::actor find(const std::string& name, milliseconds deadline);

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

} // namespace troupe
