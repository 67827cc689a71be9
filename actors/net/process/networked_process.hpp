// A networked process: one process of a cluster, from listening to the end of the run. It is what
// `troupe node` runs, and what an application runs that embeds a node.
//
//   networked_process here{system, options};   // listens, dials every node before it in the plan
//   auto end = here.wait();                    // trains with the others, until the director ends
//
// It owns the process's replicas and shards, the director if the plan puts it here, the gate
// (actors/net/gate/gate.hpp), and the links to other processes (actors/net/links/links.hpp). The
// trained bits are those of `train` in one process, whatever the plan.

#pragma once

#include "actors/net/process/networked_options.hpp"
#include "actors/run/training_result.hpp"
#include "coordinators/membership/cluster_plan.hpp"

#include <caf/fwd.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace troupe {

/// How a process's part of the run ended.
struct networked_end {
  std::optional<training_result> training; ///< on the director only
  std::string reason;                      ///< in words: "finished", "left on request"
  /// The director has started anew, without the table of rows that nodes have: this node agrees on
  /// it again (home_rows.hpp), and then takes part as a new process.
  bool agrees_anew = false;
  bool has_left = false; ///< as it was asked to: the director has let it go
};

/// Sets CAF's middleman, heartbeats, timeouts and fairness for nodes, and adds Troupe's message
/// types. Call it instead of `configure`, before making the actor system.
void configure_node(caf::actor_system_config& config, const cluster_timeouts& timeouts);

class networked_process {
public:
  /// Listens and starts all actors, without waiting.
  ///
  /// Throws failure: bad_job when the plan or the job cannot work; cannot_create when the port is
  /// in use; missing_input or no_permission when it cannot listen there; the same and bad_data when
  /// the files of `tls` are not there, others can read the key, or they do not prove `own_name`;
  /// internal when `configure_node` was not called.
  networked_process(caf::actor_system& system, networked_options options);

  /// Ends all its actors and connections, without a farewell to the other processes.
  ~networked_process();
  networked_process(const networked_process&) = delete;
  networked_process& operator=(const networked_process&) = delete;

  /// The port it listens on, also when the plan has port 0.
  uint16_t port() const;

  /// Waits for the end of the run. On the director it sends the other processes a farewell first.
  ///
  /// Throws failure: as `train` does on the director; on the others mismatch or no_permission when
  /// they were refused; unavailable when the director could not be reached or was lost for longer
  /// than the join timeout; with the director's own code when it failed.
  networked_end wait();

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

} // namespace troupe
