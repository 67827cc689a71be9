// A networked process: one process of a cluster, from listening to the end of the run. It is what
// `troupe node` runs, and what an application runs that embeds a node.
//
//   networked_process here{system, options};   // listens, dials every node before it in the plan
//   auto end = here.wait();                    // trains with the others, until the director ends
//
// It owns the replicas and shards of the process, the director if the plan puts it here, the gate
// (actors/net/gate.hpp) and the links (actors/net/links.hpp) over which they meet the others.
// The trained bits are those of `train` in one process, whatever the plan.

#pragma once

#include "troupe/actors/test_hooks.hpp"
#include "troupe/actors/train.hpp"
#include "troupe/coordinators/cluster_plan.hpp"
#include "troupe/coordinators/job.hpp"
#include "troupe/data/checkpoint.hpp"
#include "troupe/data/tls_files.hpp"

#include <caf/fwd.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace troupe {

class checkpoint_store; // data/checkpoint_store.hpp
struct prepared_data;   // data/prepare.hpp

struct networked_options {
  cluster_plan cluster;
  std::string own_name; ///< which of the nodes this process is
  /// A socket from who started this process, bound to the node's address and not listening yet: the
  /// node listens on it and closes it. -1: it binds one itself.
  int inherited_listen_fd = -1;
  /// What connections are secured with. Absent: they are plain, and whoever reaches the port can
  /// take part, so it is to be one of loopback or `cluster.insecure` set.
  std::optional<tls_files> tls;
  job resolved; ///< the same in every process but for what placement and paths say
  std::shared_ptr<const prepared_data> data;

  /// Where checkpoints go, and one to go on from: on the director only. Null: none are written.
  std::shared_ptr<checkpoint_store> checkpoints;
  std::optional<checkpoint> resume_from;

  /// Called with each progress message, on the thread that waits; on the director only.
  std::function<void(const training_progress&)> on_progress;
  /// Called with the result on the director, before the others are told that the run is finished:
  /// what it throws they are told instead, and `wait` throws it.
  std::function<void(training_result&)> keep;
  /// Called with one line about each change among the others (linked, lost, refused, cannot be
  /// reached), on the thread that waits.
  std::function<void(const std::string&)> on_news;
  /// Asked about ten times a second, on the thread that waits. True stops training at a version
  /// when this is the director; any other process leaves after a moment, in which the director may
  /// turn out to stop too (coordinators/stop_signals.hpp).
  std::function<bool()> stop_requested;

  /// For a hello, and then for the introductions: a connection that stalls longer is made anew.
  milliseconds introduction_deadline{5'000};

  test_hooks hooks;
};

/// How a process's part came to its end.
struct networked_end {
  std::optional<training_result> training; ///< on the director only
  std::string reason;                      ///< in words: "finished", "left on request"
};

/// Sets what nodes need of CAF (its middleman, heartbeats, timeouts, fairness) and adds Troupe's
/// message types; call it instead of `configure`, before making the actor system.
void configure_node(caf::actor_system_config& config, const cluster_timeouts& timeouts);

class networked_process {
public:
  /// Listens and starts everybody; nothing is waited for.
  ///
  /// Throws failure: bad_job when the plan or the job cannot work; cannot_create when the port is
  /// in use; missing_input or no_permission when it cannot listen there; the same and bad_data when
  /// the files of `tls` are not there, others can read the key, or they do not prove `own_name`;
  /// internal when `configure_node` was not called.
  networked_process(caf::actor_system& system, networked_options options);

  /// Ends all its actors and connections, without a word to the others.
  ~networked_process();
  networked_process(const networked_process&) = delete;
  networked_process& operator=(const networked_process&) = delete;

  /// The port it listens on: the picked one when the plan says 0.
  uint16_t port() const;

  /// Waits for the end of the run. The director tells the others before it returns.
  ///
  /// Throws failure: as `train` does on the director; on the others mismatch or no_permission when
  /// they were refused, unavailable when the director could not be reached or was lost for longer
  /// than the join timeout, and with the director's own code when it failed.
  networked_end wait();

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

/// For a director that finds its run finished: tells every other node of the plan who dials, or is
/// dialled, that there is nothing to do (`how`, in words), so that none waits for the join timeout.
/// Returns when all were told, after `patience`, or when it is asked to stop. Needs no actor
/// system. Throws failure as the constructor above does.
void tell_that_it_is_over(const networked_options& options, const std::string& how,
                          milliseconds patience);

} // namespace troupe
