// What a networked process (networked_process.hpp) is told when it is made.

#pragma once

#include "actors/protocol/training_progress.hpp"
#include "actors/run/training_result.hpp"
#include "coordinators/base/moment.hpp"
#include "coordinators/job/job.hpp"
#include "coordinators/membership/cluster_plan.hpp"
#include "data/checkpoint/checkpoint.hpp"
#include "data/identity/certificate.hpp"
#include "data/records/run_recorder.hpp"

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
  /// A folder for the best version and the result, on the director of several: a model may be larger
  /// than its memory. They are gone with the process. Empty: the checkpoints' one, or, where there
  /// are none, memory.
  std::string scratch_folder;

  /// Called with each progress message, on the thread that waits; on the director only.
  std::function<void(const training_progress&)> on_progress;
  /// Told once a second, and at the end, how training goes, on the thread that waits; on the
  /// director only. Empty: nobody asks.
  std::function<void(const training_status&)> on_status;
  /// Called with the result on the director, before the others are told that the run is finished:
  /// what it throws they are told instead, and `wait` throws it.
  std::function<void(training_result&)> keep;
  /// Called with one line about each change among the others (linked, lost, refused, cannot be
  /// reached), on the thread that waits.
  std::function<void(const std::string&)> on_news;
  /// Asked about ten times a second, on the thread that waits. True stops training at a version
  /// when this is the director; any other process leaves after a moment, in which the director may
  /// turn out to stop too (coordinators/run/stop_signals.hpp).
  std::function<bool()> stop_requested;

  /// For a hello, and then for the introductions: a connection that stalls longer is made anew.
  milliseconds introduction_deadline{5'000};

  std::shared_ptr<test_hooks> hooks;   ///< for tests; null: none
  std::shared_ptr<run_recorder> trace; ///< of the timeline; null: none is wanted
};

} // namespace troupe
