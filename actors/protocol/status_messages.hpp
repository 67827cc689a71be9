// The status of a run and of each of its processes. An actor of the process asks for it, or a
// visitor from outside through the gate (actors/net/gate/visit.hpp).

#pragma once

#include "actors/protocol/cluster_messages.hpp"
#include "coordinators/clients/client_presence.hpp"
#include "coordinators/run/slow_watch.hpp"

#include <string>
#include <vector>

namespace troupe {

/// A process of the cluster file, as its director sees it. Its own figures are as old as `silence`:
/// processes report once a second.
struct node_status {
  std::string name;
  bool is_director = false;
  bool is_linked = false;                ///< there is a link to it
  bool takes_part = false;               ///< the view names it
  uint64_t replicas = 0;                 ///< in the view, else in the cluster file
  uint64_t shards = 0;                   ///< likewise
  uint64_t slices = 0;                   ///< it computes
  uint64_t spans = 0;                    ///< of the parameters that it owns
  std::optional<uint64_t> version;       ///< the newest that was whole there
  std::vector<uint64_t> shard_versions;  ///< of its spans
  std::vector<awaited> waits;            ///< none: it works, or never reported
  double silence = -1;                   ///< seconds since its last message; -1: never
  uint64_t samples = 0;                  ///< computed, repetitions included
  traffic wire{};                        ///< with other processes
  std::vector<std::string> partitions{}; ///< of a split model, what each replica carries, in words
  std::vector<work_piece> pieces{};      ///< that its actors work on, the longest first
  double late = 0;       ///< seconds that its node was called later than it should, at worst
  std::string trouble{}; ///< why it is not linked, as far as that is known

  friend bool operator==(const node_status&, const node_status&) = default;
};

TROUPE_INSPECTED(node_status);

/// Figures of what holds up a run, or could.
struct status_of_waits {
  std::vector<link_figures> links{}; ///< between processes; those that matter most
  std::vector<slow_trainer> slow{};  ///< that others wait for most of the time; one or none
  double writes_for = 0;  ///< seconds since the disk has been written to without an answer
  std::string stranger{}; ///< the last connection that was refused before it gave a name

  friend bool operator==(const status_of_waits&, const status_of_waits&) = default;
};

/// How well it learns, and how long it takes.
struct status_of_results {
  std::optional<double> train_loss;      ///< mean so far in the epoch being trained
  std::optional<double> train_accuracy;  ///< likewise, of a classification
  std::optional<double> learning_rate;   ///< of the next step; nothing: the rule has none
  std::optional<double> seconds_left;    ///< at the pace of the last seconds, to `last_version`
  std::vector<history_row> newest_row{}; ///< the history's last, if it has one

  friend bool operator==(const status_of_results&, const status_of_results&) = default;
};

/// director -> the asking actor: how training goes.
struct training_status : status_of_waits, status_of_results, recovery_figures {
  std::string phase; ///< "waiting", "training", "stopping", "finished", "failed"
  uint64_t version = 0;
  uint64_t last_version = 0; ///< at which training ends when nothing ends it before
  uint64_t epoch = 0;        ///< finished epochs
  uint64_t epochs = 0;
  double seconds = 0;            ///< since training started
  double steps_per_second = 0;   ///< over the last seconds
  double samples_per_second = 0; ///< likewise
  uint64_t replicas = 0;
  uint64_t shards = 0;
  std::string waits_for; ///< what the director waits for, in words; empty when finished
  double still = 0;      ///< seconds since something moved
  std::string job_sha256;
  view_number view;
  std::vector<late_process> late; ///< that hold up the run now
  std::vector<node_status> nodes; ///< in order of the cluster file, then those that joined
  trainer_figures figures;        ///< of all replicas, as old as the report they came with
  std::optional<client_presence> clients{}; ///< that dialled in; nothing: none do

  friend bool operator==(const training_status&, const training_status&) = default;
};

TROUPE_INSPECTED(client_presence);
TROUPE_INSPECTED(late_process);
TROUPE_INSPECTED(link_figures);
TROUPE_INSPECTED(slow_trainer);
TROUPE_INSPECTED(training_status);

} // namespace troupe
