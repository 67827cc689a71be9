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
#include "data/rows_file/row_supply.hpp"
#include "data/table/dataset.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace troupe {

struct training_status; // actors/protocol/status_messages.hpp

struct take_part_options {
  /// The job's rows if the application has them (`load_data`, `prepare_data`); null: the job's files are read. Every
  /// node must have the same rows.
  std::shared_ptr<const prepared_data> data;
  /// Where nodes of the plan have rows of their own (`holds_rows`): this process's, which no other gets to see, with
  /// features (N x F) and labels or targets as they are; absent: it has none. Nodes may lack classes, and have their
  /// columns in any order, by `feature_names`. The trained bits are those of one process with all rows in holdings.
  std::optional<dataset> rows;
  /// Instead, rows that are read part by part, into memory (data/rows_file/row_supply.hpp); not without an end.
  std::shared_ptr<const row_supply> supply;
  /// The files that secure connections, as in `networked_options`.
  std::optional<tls_files> tls;
  /// On the director only, as in `train_options`.
  std::shared_ptr<checkpoint_store> checkpoints;
  std::optional<checkpoint> resume_from;
  std::function<void(training_result&)> keep; ///< likewise, as in `networked_options`
  std::function<void(const training_progress&)> on_progress;
  std::function<void(const training_status&)> on_status; ///< likewise
  /// Called with one line about each change of another process, and about waits.
  std::function<void(const std::string&)> on_news;
  /// Called about ten times a second. True: the process leaves; on the director, training stops at a version.
  std::function<bool()> stop_requested;
};

/// Takes part in the training of `x` as the node of `plan` that is called `own_name`, and returns
/// when the run has ended. Callbacks come on the calling thread, which only waits; replicas and
/// shards run on the threads of `system`, beside the application's own actors.
///
/// The job and the names, addresses and order of the nodes must be the same in every process, whether from a cluster
/// file or, as here, from structs. `x.training.replicas` is ignored: the nodes give the number of replicas, and
/// `x.parallel` how many of them share a model. `x.runtime` and `x.output` are for the command.
///
/// Returns the trained model on the director and, on any other node, why its part is over. Throws
/// failure as `networked_process` does, and what reading the data throws.
networked_end take_part(caf::actor_system& system, const job& x, const cluster_plan& plan,
                        const std::string& own_name, const take_part_options& options = {});

} // namespace troupe
