// The options of a networked process (networked_process.hpp).

#pragma once

#include "actors/protocol/training_progress.hpp"
#include "actors/run/training_result.hpp"
#include "coordinators/base/moment.hpp"
#include "coordinators/job/job.hpp"
#include "coordinators/membership/cluster_plan.hpp"
#include "data/checkpoint/checkpoint.hpp"
#include "data/identity/certificate.hpp"
#include "data/records/run_recorder.hpp"
#include "data/records/sequence_file.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace troupe {

class checkpoint_store; // data/checkpoint/checkpoint_store.hpp
struct training_status; // actors/protocol/status_messages.hpp
struct prepared_data;   // data/training_rows/prepare.hpp
struct test_hooks;      // actors/base/test_hooks.hpp

struct networked_options {
  cluster_plan cluster;
  std::string own_name; ///< the node that this process is
  /// A socket that the parent process has bound to the node's address, not listening yet. The node
  /// listens on it and closes it. -1: the node binds one itself.
  int inherited_listen_fd = -1;
  /// The files that secure connections. Absent: connections are plain, and any process that reaches
  /// the port can take part. Then the port must be on loopback, or `cluster.insecure` set.
  std::optional<tls_files> tls;
  job resolved; ///< the same in every process but for what placement and paths say
  std::shared_ptr<const prepared_data> data;
  std::string
    table; ///< of rows that some nodes have and others do not (row_table.hpp); empty: all have all

  /// Receives checkpoints, and one to resume from: on the director only. Null: none are written.
  std::shared_ptr<checkpoint_store> checkpoints;
  std::optional<checkpoint> resume_from;
  /// A folder for the best version and the result, on the director of several processes: a model
  /// may be larger than its memory. The files end with the process. Empty: the checkpoints' folder,
  /// or memory without one.
  std::string scratch_folder;

  /// Called with each progress message, on the thread that waits; on the director only.
  std::function<void(const training_progress&)> on_progress;
  /// Called with the status once a second, and at the end, on the thread that waits; on the
  /// director only. May be empty.
  std::function<void(const training_status&)> on_status;
  /// Called with the result on the director, before the farewell to the other processes. If it
  /// throws, the farewell has that failure, and `wait` throws it.
  std::function<void(training_result&)> keep;
  /// Called with one line about each change of another process (linked, lost, refused, cannot be
  /// reached), on the thread that waits.
  std::function<void(const std::string&)> on_news;
  /// Called about ten times a second, on the thread that waits. On the director true stops training
  /// at a version. Any other process leaves after a moment, in which the director may stop, too
  /// (coordinators/run/stop_signals.hpp).
  std::function<bool()> stop_requested;

  /// Time for a hello, and again for the introductions: a connection that stalls longer is made
  /// anew.
  milliseconds introduction_deadline{5'000};

  std::shared_ptr<test_hooks> hooks;   ///< for tests; null: none
  std::shared_ptr<run_recorder> trace; ///< of the timeline; null: none is wanted
  sequence_options decisions;          ///< as in train_options, on the director
};

} // namespace troupe
