#include "troupe/actors/director/run_supervisor.hpp"

namespace troupe {

void run_supervisor::tick(moment now) {
  if (writes_.is_writing())
    watch_.on_work(now);
  for (const auto& one : watch_.look_for_hung(roster_, seat_.view, now))
    if (!seat_.finished)
      take_out(one);
  see_to_standstill(now);
  see_to_stop(now);
  see_to_waits(now);
}

void run_supervisor::take_out(const hung_process& one) {
  if (one.who != seat_.options.membership.home) {
    watch_.on_work(seat_.now());
    return membership_.take_out(one);
  }
  if (watch_.stop_asked())
    return training_.end_at_checkpoint("this process hangs: " + one.why);
  training_.fail({failure_code::internal,
                  "this process hangs: " + one.why,
                  {},
                  "go on from the last checkpoint with --resume"});
}

void run_supervisor::see_to_standstill(moment now) {
  const auto version = history_.version();
  if (seat_.finished || membership_.waiting() || !watch_.stands_still(version, now))
    return;
  const auto who = status_.wait(now).text;
  if (watch_.stop_asked())
    return training_.end_at_checkpoint("nothing moved and nobody worked; " + who);
  if (watch_.has_stood_too_often())
    return training_.fail(
      {failure_code::internal,
       "training stands still at version " + std::to_string(version) + ": " + who,
       {},
       "please report this; go on from the last checkpoint with --resume"});
  membership_.on_standstill("nothing moved for " + time_text(watch_.patience()) +
                            " and nobody worked (" + who + ")");
}

void run_supervisor::see_to_stop(moment now) {
  const auto& waiting = membership_.waiting();
  if (!seat_.finished && waiting && watch_.is_stop_due(waiting->since, now))
    training_.end_at_checkpoint(waiting->reason);
}

void run_supervisor::see_to_waits(moment now) {
  if (seat_.finished)
    return;
  const bool lacks_somebody = membership_.waiting() && !writes_.is_writing_term();
  if (!lacks_somebody && watch_.moved_lately(now)) {
    if (const auto lasted = watch_.wait_over(now))
      seat_.tell("the wait is over, after " + time_text(*lasted));
    return;
  }
  if (!lacks_somebody && watch_.is_long_step(roster_))
    return;
  const auto found = status_.wait(now);
  if (watch_.is_wait_due(found.who, found.since, now))
    seat_.tell(found.text);
}

} // namespace troupe
