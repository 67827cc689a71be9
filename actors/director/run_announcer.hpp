// Run announcer: sends all members the view, the directive (how far training may go), and the request to hold. It
// repeats them every second for members that missed them. A view grows with the number of processes, so only members
// whose last report lacks it get it again.
//
//              a stop is asked for                 all hold: the version to stop at is named
//   directive ------------------------> hold request --------------------------------------> directive
//      ^                                  |
//      +------ a horizon, a new term -----+

#pragma once

#include "actors/director/director_context.hpp"
#include "actors/director/process_roster.hpp"
#include "coordinators/exchange/repair_clock.hpp"
#include "coordinators/run/hold_rule.hpp"

#include <cstdint>
#include <optional>

namespace troupe {

class run_announcer {
public:
  /// The version to end training at, once all holding processes have answered.
  using named_version = std::optional<uint64_t>;

  run_announcer(director_context& context, const process_roster& roster)
    : context_(context), roster_(roster) {}

  // ---- Announcements ----

  /// The context has a new view.
  void send_view();
  void send_directive() const;
  /// Allows all members to go this far; ends a hold.
  void allow(const horizon_rule& horizon);
  /// Does the same on `allow_what_waits`, unless a hold or another horizon comes before.
  void allow_later(const horizon_rule& horizon) { waiting_horizon_ = horizon; }
  void allow_what_waits();
  /// Set what the next directives say: rows are complete up to this version; the last checkpoint has this version; all
  /// processes must report their figures again.
  void set_rows(uint64_t version) { directive_.row_version = version; }
  void set_checkpoint(uint64_t version) { directive_.checkpoint_version = version; }
  void count_anew();
  /// Repeats the directive while a process's figures are missing.
  void ask_for_counts(moment now);
  void tick(moment now);

  // ---- Stopping ----

  void begin_term();
  named_version on_stop();
  named_version on_view();
  named_version on_held(const hold_answer& news);
  /// The roster has a report of this process.
  named_version on_report_of(const std::string& process);

  const horizon_rule& horizon() const { return directive_.rule; }
  /// The number of the last request for figures.
  uint64_t round() const { return directive_.round; }

private:
  named_version carry_out(const hold_decisions& decisions);
  directive current_directive() const;

  director_context& context_;
  const process_roster& roster_;
  hold_rule hold_;
  std::optional<hold_request> hold_request_; ///< while answers are missing
  std::optional<horizon_rule> waiting_horizon_;
  directive directive_; ///< its sequence is that of directives and holds
  repair_clock count_clock_;
  moment repeated_{};
};

} // namespace troupe
