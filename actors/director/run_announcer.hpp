// Run announcer: what the director says to all members: the view, how far training may go, and the
// request to hold. It is said again every second, to whoever missed it: a view, which is as long as there are
// processes, to those whose last report does not name it, all else to everybody.
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
  /// The version that training is to end at, once all who hold have said where they stand.
  using named_version = std::optional<uint64_t>;

  run_announcer(director_context& context, const process_roster& roster)
    : context_(context), roster_(roster) {}

  // ---- What is said ----

  /// The context has a new view.
  void send_view();
  void send_directive() const;
  /// Everybody may go so far, whoever was to hold.
  void allow(const horizon_rule& horizon);
  /// The same once `allow_what_waits` is called; not if a hold or another horizon comes before.
  void allow_later(const horizon_rule& horizon) { waiting_horizon_ = horizon; }
  void allow_what_waits();
  /// What the next directives say: rows up to this version are complete; the last checkpoint is of
  /// this one; everybody is to say again what was done.
  void set_rows(uint64_t version) { directive_.row_version = version; }
  void set_checkpoint(uint64_t version) { directive_.checkpoint_version = version; }
  void count_anew();
  /// While somebody's count is missing.
  void ask_for_counts(moment now);
  void tick(moment now);

  // ---- Stopping ----

  void begin_term();
  named_version on_stop();
  named_version on_view();
  named_version on_held(const hold_answer& news);

  const horizon_rule& horizon() const { return directive_.rule; }
  /// Counts of what was done, so many by now.
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
