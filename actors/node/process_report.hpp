// Process report: what a node reports about its process, once a second and when something changed. It asks its actors
// for their figures. An actor that computes answers afterwards; the report does not wait for it.

#pragma once

#include "actors/node/node_work.hpp"
#include "actors/node/span_copies.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// How often a node reports to the director without a reason.
inline constexpr milliseconds node_report_interval{1000};

/// How often while the node has no link to a member. The director takes a process out only while reports still show the
/// broken link, so at most this much later.
inline constexpr milliseconds broken_link_interval{250};

/// How often while no view names the process: it is admitted once the director knows of its links.
inline constexpr milliseconds outside_interval{100};

class process_report {
public:
  process_report(node_context& context, const local_spans& spans, const span_copies& copies,
                 const directive_state& directives, const node_work& work);

  /// Asks its actors for their figures, and reports when all have answered, or at the next tick.
  void send_soon();
  /// Reports with the last known figures.
  void send();
  void tick(moment now);
  /// A directive may ask for new figures: reports soon. At the end of a run the director waits only for that.
  void on_directive();

  /// A directive came that left at this time of the director's clock. The next report compares both clocks.
  void note_clock(uint64_t directive_sent);

  /// The shards begin: their earlier answers do not count, above all a parameter server's figures of earlier lives.
  void on_started();

  /// Another view comes: all reports with it say at which version the process was then.
  void on_view();

  /// Call it after each message that may have brought a version.
  void note_version();

  /// A process is linked: reports at once if the director waits for that.
  void on_link(const std::string& process);
  /// Why the newest view cannot be followed; empty: it can.
  void set_misfit(const std::string& why) { misfit_ = why; }
  /// From now on each report says that the process asks to leave.
  void set_leaves() {
    if (!std::exchange(leaves_, true))
      send();
  }
  bool leaves() const { return leaves_; }

private:
  /// A local actor, which answers when it has finished its current work.
  struct asked_actor {
    std::optional<moment> since; ///< when it was asked; nothing: it has answered
    uint64_t asked_round = 0;
    uint64_t heard_round = 0;
  };
  void ask_actor(size_t index);
  void on_actor_heard(size_t index);
  /// Call it after the whole process stood still: waits count from now.
  void count_from(moment now);
  bool everybody_answered() const;
  /// The director's last request for figures that all actors' answers cover.
  uint64_t heard_round() const;
  work_report work_of_actors() const;
  /// The local owner that counts the figures of all replicas; null: it is in another process.
  owner_actor who_counts() const;
  /// The newest version that a shard of the process has, or that is whole there.
  std::optional<uint64_t> version_here() const;
  std::vector<std::string> members_without_link() const;
  std::vector<awaited> waits() const;
  std::vector<work_piece> pieces() const;
  std::vector<link_report> links(const exchange_figures& figures) const;

  node_context& context_;
  const local_spans& spans_;
  const span_copies& copies_;
  const directive_state& directives_;
  const node_work& work_;
  std::vector<replica_status> statuses_; ///< of local replicas, as last reported
  trainer_figures figures_;              ///< of all replicas, likewise
  std::vector<asked_actor> asked_;       ///< replicas, then shards
  bool is_due_ = false;
  uint64_t sent_round_ = 0;
  moment last_{};
  std::vector<std::string> unreachable_; ///< members without a link, as last reported
  std::string misfit_;
  bool leaves_ = false;
  clock_stamps clock_;
  moment ticked_{};
  moment::duration late_{};      ///< at worst, of the ticks since the last report
  std::optional<uint64_t> left_; ///< its version when the newest view came
  still_clock still_;
  uint64_t seen_ = 0; ///< the newest version of the present term
};

} // namespace troupe
