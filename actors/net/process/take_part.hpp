// Taking part in one call: an application's own actor system becomes a node of a cluster.
//
//   caf::actor_system_config config;
//   troupe::configure_node(config, plan.timeouts);     // instead of troupe::configure
//   caf::actor_system system{config};
//   auto end = troupe::take_part(system, job, plan, "app");
//
// `networked_process` is the same in steps, for applications that want to do something between
// listening and waiting.

#pragma once

#include "actors/net/process/networked_process.hpp"

#include <functional>
#include <memory>
#include <string>

namespace troupe {

struct training_status; // actors/protocol/status_messages.hpp

struct take_part_options {
  /// The job's rows when the application has them (`load_data`, `prepare_data`); null: they are
  /// read as the job says. Every node must have the same.
  std::shared_ptr<const prepared_data> data;
  /// What connections are secured with, as in `networked_options`.
  std::optional<tls_files> tls;
  /// On the director only, as in `train_options`.
  std::shared_ptr<checkpoint_store> checkpoints;
  std::optional<checkpoint> resume_from;
  std::function<void(training_result&)> keep; ///< likewise, as in `networked_options`
  std::function<void(const training_progress&)> on_progress;
  std::function<void(const training_status&)> on_status; ///< likewise
  /// Called with one line about each change among the others, and about what is waited for.
  std::function<void(const std::string&)> on_news;
  /// Asked about ten times a second. True: leave; on the director, stop training at a version.
  std::function<bool()> stop_requested;
};

/// Takes part in the training of `x` as the node of `plan` that is called `own_name`, and returns
/// when the run has ended. Callbacks come on the calling thread, which only waits; replicas and
/// shards run on the threads of `system`, beside the application's own actors.
///
/// The job and the names, addresses and order of the nodes must be those that every other process
/// has, be it told by a cluster file or, as here, by structs. `x.training.replicas` is ignored: the
/// nodes say how many, and `x.parallel` how many of them share a model. `x.runtime` and `x.output` are for the command.
///
/// Returns the trained model on the director and, on any other node, why its part is over. Throws
/// failure as `networked_process` does, and what reading the data throws.
networked_end take_part(caf::actor_system& system, const job& x, const cluster_plan& plan,
                        const std::string& own_name, const take_part_options& options = {});

} // namespace troupe
