// A networked collective: the members that one process has in a group over several
// (docs/collectives.md).
//
//   troupe::configure_node(config, plan.timeouts);             // networked_process.hpp
//   caf::actor_system system{config};
//   troupe::networked_collective here{system, {plan, "b"}};    // listens, dials those before it
//   const auto members = here.join();                          // waits until all have met
//   ...                                                        // actors call them, as in one process
//                                                              // the end: no sent value is lost
//
// The plan is that of a cluster: names, addresses, order; `replica_count` is how many members a node
// has. Members are numbered through the nodes in order. Processes connect through the gate as in training
// (actors/net/gate): a hello with the facts that both must share, then TLS if wanted, else checked records.

#pragma once

#include "actors/collective/collective_member.hpp"
#include "coordinators/membership/cluster_plan.hpp"
#include "data/identity/certificate.hpp"

#include <caf/fwd.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct networked_collective_options {
  /// The same in all processes but for addresses. A process dials only the nodes before its own; port 0 listens on any
  /// free port. `join` waits for `timeouts.join`.
  cluster_plan cluster;
  std::string own_name;           ///< the node that this process is
  collective_options rule{};      ///< the same in all processes; `member_count` is the plan's
  std::optional<tls_files> tls{}; ///< absent: plain, for loopback or with `cluster.insecure`
};

class networked_collective {
public:
  /// Listens and dials, without waiting.
  ///
  /// Throws failure: bad_job when the plan cannot work; cannot_create when the port is in use;
  /// missing_input, no_permission, bad_data and io_error as networked_process; internal when `configure_node`
  /// was not called.
  networked_collective(caf::actor_system& system, networked_collective_options options);

  /// Waits until the other processes have what its members have sent, or are lost (5 s for one that hangs). Then its
  /// members end. Wait for the answers to your calls before.
  ~networked_collective();
  networked_collective(const networked_collective&) = delete;
  networked_collective& operator=(const networked_collective&) = delete;

  /// The port it listens on, also when the plan has port 0.
  uint16_t port() const;

  /// The members of this process, in order, once all processes have met.
  ///
  /// Throws failure unavailable with the names of processes that have not come, and why. Also when a dialled process
  /// refuses, because it was started with another plan or version.
  std::vector<collective_member_actor> join();

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

} // namespace troupe
