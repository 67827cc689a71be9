// Run membership: decides which processes take part. It turns links and reports of processes into events of the
// membership rule (coordinators/membership/membership_rule.hpp), and the rule's decisions into views, stored terms, and
// the end of the run.
//
//   processes, reports, losses --> rule --> persist a term | publish a view | wait | turn away | end

#pragma once

#include "actors/director/process_roster.hpp"
#include "actors/director/run_announcer.hpp"
#include "actors/director/run_writes.hpp"
#include "coordinators/membership/lost_work.hpp"
#include "coordinators/membership/membership_rule.hpp"
#include "coordinators/membership/speed_rule.hpp"
#include "coordinators/membership/work_watch.hpp"
#include "coordinators/run/waits.hpp"

#include <caf/system_messages.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

// Run watch: finds hanging processes and a run that stands still. It limits how long a stop waits, and decides when to
// tell people of a wait. A plain object: signs of progress go in, decisions come out.
//
//   not moved (no new version or view) for 2 s ........... people are told, then ever more seldom
//   not worked (also no piece or write) for 3 x lost_after .. the run stands still
//
// coordinators/membership/work_watch.hpp argues the times, coordinators/run/waits.hpp the lines.

struct hung_process {
  std::string who;
  std::string why; ///< in words

  friend bool operator==(const hung_process&, const hung_process&) = default;
};

class run_watch {
public:
  explicit run_watch(const membership_options& options);

  void begin(moment now) { moved_ = last_look_ = now; }
  void on_version(moment now) { moved_ = now; }
  void on_view(moment now);
  /// There was work, though no new version.
  void on_work(moment now) { work_.on_moved(now); }
  void on_report(const report_change& change, const work_report& work, moment now);
  /// Only the first call counts.
  void on_stop(moment now) { stop_asked_at_ = stop_asked_at_.value_or(now); }
  /// Sets whether the end is named.
  void on_end(bool is_named) { is_ending_ = is_named; }

  bool stop_asked() const { return stop_asked_at_.has_value(); }
  bool is_stopping() const { return stop_asked() || is_ending_; }
  moment moved() const { return moved_; }
  /// True if nothing has moved for a second: then reports, which are up to a second old, still hold.
  bool is_still(moment now) const;
  bool hangs(const work_report& work) const { return work_.hangs(work, is_stopping()); }

  /// Processes whose replicas have not answered for too long. Where nothing moves, also linked processes that do not
  /// report. A stop shortens both times. Empty right after a pause of the director itself: then its reports are old.
  std::vector<hung_process> look_for_hung(const process_roster& roster, const cluster_view& view,
                                          moment now);
  /// True if nothing moves and no process works; once for each standstill.
  bool stands_still(uint64_t version, moment now);
  /// The run has stood still at one version so often that another beginning would not help.
  bool has_stood_too_often() const;
  milliseconds patience() const { return work_.patience(); }
  /// A stop has waited long enough for the processes missing since then. It waits at all because processes that start
  /// together are linked within a second.
  bool is_stop_due(moment missing_since, moment now) const;

  /// Something moved: how long the wait lasted, if people were told of it.
  std::optional<milliseconds> wait_over(moment now);
  /// True if the run moved too recently to tell people of a wait.
  bool moved_lately(moment now) const { return now - moved_ < teller_.patience(); }
  /// A process works on a piece that takes no longer than usual: no news for people.
  bool is_long_step(const process_roster& roster) const;
  /// True if it is time to tell people of the wait for these processes.
  bool is_wait_due(const std::string& who, moment since, moment now);

  friend bool operator==(const run_watch&, const run_watch&) = default;

private:
  bool is_alone_; ///< the run has one process
  work_watch work_;
  wait_reporter teller_;
  moment moved_{};
  moment last_look_{};
  std::optional<moment> stop_asked_at_;
  bool is_ending_ = false;
  size_t standstills_ = 0; ///< one after the other, at one version
  uint64_t stood_at_ = 0;
};

class run_membership {
public:
  /// Called after the decisions.
  struct listener {
    std::function<void(const publish& news)> on_view; ///< the context and all members have it
    std::function<void()> on_heard;                   ///< a process was lost, or has reported
    std::function<void()> on_cut;                     ///< all are to stand at a version
  };

  run_membership(director_context& context, process_roster& roster, run_watch& watch,
                 run_announcer& announcer, run_writes& writes, listener to)
    : context_(context),
      roster_(roster),
      watch_(watch),
      announcer_(announcer),
      writes_(writes),
      to_(std::move(to)),
      lost_(context.options.lost_work),
      speeds_(context.options.membership.speeds, context.options.membership.holders) {
    if (const auto& last = context.options.resume_from) {
      recovery_ = last->recovery;
      ++recovery_.lives;
    } else
      recovery_.views = 0;
  }

  /// Training may begin once all processes, or enough of them, are linked; from this checkpoint, if not 0.
  void begin(uint64_t checkpoint_version);

  void on_member(const member& who, const node_actor& way);
  void on_down(const caf::down_msg& news);
  void on_report(const node_report& news);
  /// The newest checkpoint on the disk, and the later versions that the director can go back to.
  void on_restarts(uint64_t checkpoint, const index_range& cuts) {
    rule_->on_restarts(checkpoint, cuts);
  }
  /// All stand at this version, whose rows are complete.
  void on_cut(uint64_t version) { carry_out(rule_->on_cut(version)); }
  void take_out(const hung_process& one);
  /// All processes begin a new term.
  void on_standstill(const std::string& why);
  void tick(moment now);

  bool has_begun() const { return rule_.has_value(); }
  /// The missing processes without which training stands still or cannot begin.
  const std::optional<wait_for>& waiting() const { return waiting_; }
  recovery_figures recovery() const;
  /// The view's number with terms as people count them: from 1 for this director.
  view_number view_for_people() const;

private:
  void carry_out(const membership_decisions& decisions);
  void carry_out(const persist_term& decision);
  void carry_out(const ask_copies& decision);
  void carry_out(const ask_cut&) { to_.on_cut(); }
  void carry_out(const publish& decision);
  void carry_out(const wait_for& decision) { waiting_ = decision; }
  void carry_out(const turn_away& decision);
  void carry_out(const stays_out& decision);
  void carry_out(const give_up& decision);
  void carry_out(const stand_down& decision);
  void tell_turned_away();
  /// Moves slices to faster replicas, if that is worth it.
  void share_by_speed(moment now);
  /// Ends the run if a piece of work ended every process that had it; else publishes the view that was held back.
  void settle_doubt(moment now);
  /// Replicas of this life of a process in the view; 0 if the view does not name it.
  uint64_t replicas_in_view(const member& who) const;

  director_context& context_;
  process_roster& roster_;
  run_watch& watch_;
  run_announcer& announcer_;
  run_writes& writes_;
  listener to_;
  std::optional<membership_rule> rule_;         ///< since `begin`
  std::map<std::string, uint64_t> turned_away_; ///< incarnations that do not know it yet
  std::optional<wait_for> waiting_;
  lost_work lost_;
  speed_rule speeds_;
  std::optional<publish> held_back_; ///< while `lost_` is in doubt
  std::optional<uint64_t> first_term_;
  still_total still_;
  uint64_t begun_at_ = 0;     ///< version and steps again with which this life began
  recovery_figures recovery_; ///< but for the replicas that the roster counts
};

} // namespace troupe
