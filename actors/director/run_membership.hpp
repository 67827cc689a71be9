// Run membership: who takes part. It turns what is heard of processes into events of the membership
// rule (coordinators/membership/membership_rule.hpp), and the rule's decisions into views, terms on
// the disk, and ends.
//
//   processes, reports, losses --> rule --> persist a term | publish a view | wait | turn away | end

#pragma once

#include "actors/director/process_roster.hpp"
#include "actors/director/run_announcer.hpp"
#include "actors/director/run_watch.hpp"
#include "actors/director/run_writes.hpp"

#include "coordinators/membership/lost_work.hpp"

#include <caf/system_messages.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace troupe {

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
