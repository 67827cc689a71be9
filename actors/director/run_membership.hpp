// Run membership: who takes part. It turns what is heard of processes into events of the membership
// rule (coordinators/membership/membership_rule.hpp), and the rule's decisions into views, terms on
// the disk, and ends.
//
//   processes, reports, losses --> rule --> persist a term | publish a view | wait | turn away | end

#pragma once

#include "actors/director/process_roster.hpp"
#include "actors/director/run_announcer.hpp"
#include "actors/director/run_writes.hpp"
#include "coordinators/membership/lost_work.hpp"
#include "coordinators/membership/membership_rule.hpp"
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

// Run watch: who hangs, whether the run stands still, what a stop no longer waits for, and when
// people are told of a wait. A plain object: what moves goes in, decisions come out.
//
//   moved (a version or a view) ..... told to people 2 s later, then ever more seldom
//   worked (also a piece, a write) .. nobody for 3 x lost_after: the run stands still
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
  /// Something was done, though no version was reached.
  void on_work(moment now) { work_.on_moved(now); }
  void on_report(const report_change& change, const work_report& work, moment now);
  /// The first time counts.
  void on_stop(moment now) { stop_asked_at_ = stop_asked_at_.value_or(now); }
  /// Whether the end is named.
  void on_end(bool is_named) { is_ending_ = is_named; }

  bool stop_asked() const { return stop_asked_at_.has_value(); }
  moment moved() const { return moved_; }
  /// A report is a second old: what it says was true while nothing moved since.
  bool is_still(moment now) const;
  bool hangs(const work_report& work) const { return work_.hangs(work, is_stopping()); }

  /// Who has not answered for too long, and, where nothing moves, of whom nothing is heard although its
  /// link holds. Who stops a run waits for neither. Nobody right after a pause of the director's own:
  /// what it heard before says nothing of others.
  std::vector<hung_process> look_for_hung(const process_roster& roster, const cluster_view& view,
                                          moment now);
  /// Nothing moves and nobody works: said once for each time.
  bool stands_still(uint64_t version, moment now);
  /// It has so often at one version that another beginning would not help.
  bool has_stood_too_often() const;
  milliseconds patience() const { return work_.patience(); }
  /// A stop has waited long enough for who is missing since then; it may have been about to come:
  /// all that start together meet within a second.
  bool is_stop_due(moment missing_since, moment now) const;

  /// Something moved: how long the wait lasted, if it was told.
  std::optional<milliseconds> wait_over(moment now);
  /// It moved so lately that nobody is told of a wait.
  bool moved_lately(moment now) const { return now - moved_ < teller_.patience(); }
  /// Somebody is at a piece that takes about as long as others did: that is no news.
  bool is_long_step(const process_roster& roster) const;
  /// Time to tell of the wait for these.
  bool is_wait_due(const std::string& who, moment since, moment now);

  friend bool operator==(const run_watch&, const run_watch&) = default;

private:
  bool is_stopping() const { return stop_asked() || is_ending_; }

  bool is_alone_; ///< nobody could do another's work
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
  /// What comes of it.
  struct listener {
    std::function<void(const publish& news)> on_view; ///< the context has it, and all were sent it
    std::function<void()> on_heard;                   ///< a process was lost, or has reported
  };

  run_membership(director_context& context, process_roster& roster, run_watch& watch,
                 run_announcer& announcer, run_writes& writes, listener to)
    : context_(context),
      roster_(roster),
      watch_(watch),
      announcer_(announcer),
      writes_(writes),
      to_(std::move(to)),
      lost_(context.options.lost_work) {}

  /// Training may begin once everybody is there; from this checkpoint, if not 0.
  void begin(uint64_t checkpoint_version);

  void on_member(const member& who, const node_actor& way);
  void on_down(const caf::down_msg& news);
  void on_report(const node_report& news);
  /// It is complete, and on the disk.
  void on_checkpoint(uint64_t version) { rule_->on_checkpoint(version); }
  void take_out(const hung_process& one);
  /// All begin anew.
  void on_standstill(const std::string& why);
  void tick(moment now);

  bool has_begun() const { return rule_.has_value(); }
  /// Training stands still, or has not begun, for want of these.
  const std::optional<wait_for>& waiting() const { return waiting_; }
  uint64_t view_count() const { return view_count_; }
  uint64_t roll_back_count() const { return roll_back_count_; }
  /// The view's number with terms as people count them: of this director, from 1.
  view_number view_for_people() const;

private:
  void carry_out(const membership_decisions& decisions);
  void carry_out(const persist_term& decision);
  void carry_out(const publish& decision);
  void carry_out(const wait_for& decision) { waiting_ = decision; }
  void carry_out(const turn_away& decision);
  void carry_out(const give_up& decision);
  void carry_out(const stand_down& decision);
  void tell_turned_away();
  /// Ends the run by work that was lost with all who had it, or goes on.
  void settle_doubt(moment now);
  /// Of this life of a process, in the view; 0 when it is not.
  uint64_t replicas_in_view(const member& who) const;

  director_context& context_;
  process_roster& roster_;
  run_watch& watch_;
  run_announcer& announcer_;
  run_writes& writes_;
  listener to_;
  std::optional<membership_rule> rule_;         ///< since `begin`
  std::map<std::string, uint64_t> turned_away_; ///< incarnations that are yet to hear that they are
  std::optional<wait_for> waiting_;
  lost_work lost_;
  std::optional<publish> held_back_; ///< while it is in doubt
  std::optional<uint64_t> first_term_;
  uint64_t view_count_ = 0;
  uint64_t roll_back_count_ = 0;
};

} // namespace troupe
