// Process roster: the linked processes, each with its last report. A plain object: links, views and
// reports go in, figures of all processes come out.

#pragma once

#include "actors/protocol/cluster_messages.hpp"
#include "coordinators/links/link_watch.hpp"
#include "coordinators/membership/membership_rule.hpp"
#include "coordinators/parallel/grid.hpp"
#include "coordinators/run/slow_watch.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace troupe {

/// A process's last report.
struct heard_report {
  node_report news;
  moment at{};

  friend bool operator==(const heard_report&, const heard_report&) = default;
};

/// How a process's report differs from the one before.
struct report_change {
  bool moved = false;                 ///< it has reached a version
  bool sent = false;                  ///< it has sent new data, not only resends
  std::vector<std::string> reachable; ///< it has a link to them again
};

class process_roster {
public:
  /// A process has a link, or a new one: reports over the old link do not count.
  void on_link(const std::string& who, moment now);
  /// The link is lost, and with it this many replicas of the view.
  void on_link_lost(const std::string& who, uint64_t replica_count);
  /// Takes the report of a linked process.
  report_change on_report(const node_report& news, moment now);
  void on_view(const cluster_view& view);
  /// A process cannot be linked, or was refused. `who` is empty when its name is unknown.
  void on_trouble(const std::string& who, const std::string& why, moment now);

  bool has_link(const std::string& who) const { return processes_.contains(who); }
  /// Null: the process has no link, or has not reported over it.
  const heard_report* find(const std::string& who) const;
  /// The linked processes of the view. The loss of the others is handled elsewhere.
  std::vector<heard_process> heard(const cluster_view& view, moment now) const;
  /// True if every working process of the view has reported its figures for this count or a later
  /// one.
  bool has_counted(const cluster_view& view, uint64_t round) const;

  /// True if the predicate holds for a process's last report.
  template <class Predicate>
  bool any_of(const Predicate& holds) const {
    return std::ranges::any_of(processes_, [&](const auto& entry) {
      return entry.second.last && holds(entry.second.last->news);
    });
  }

  std::vector<replica_status> work_of_replicas(const cluster_view& view) const;
  /// The figures come from one process: that of the shard that keeps the metrics. For a split model
  /// they name each replica's partition.
  trainer_figures figures(const cluster_view& view, const model_split& split) const;
  uint64_t replicas_lost() const { return replicas_lost_; }
  /// Why a process is not linked, from the last attempt; empty: unknown.
  std::string trouble_of(const std::string& who, moment now) const;
  /// Takes a sample of the figures; two samples show which replica is slow.
  void sample_pace(const cluster_view& view, const model_split& split, moment now);
  const link_watch& links() const { return links_; }
  const slow_watch& pace() const { return pace_; }
  void fill_in(training_finished& result, const cluster_view& view,
               const membership_options& options) const;

  friend bool operator==(const process_roster&, const process_roster&) = default;

private:
  struct linked_process {
    moment since;
    std::optional<heard_report> last;

    friend bool operator==(const linked_process&, const linked_process&) = default;
  };

  struct heard_trouble {
    std::string why;
    moment at{};

    friend bool operator==(const heard_trouble&, const heard_trouble&) = default;
  };

  std::map<std::string, linked_process> processes_;
  std::map<std::string, heard_trouble> troubles_; ///< of processes without a link
  link_watch links_;
  slow_watch pace_;
  std::set<std::string> took_part_; ///< names in any view
  uint64_t replicas_lost_ = 0;
};

} // namespace troupe
