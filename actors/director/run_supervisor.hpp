// Run supervisor: sees to it that a run does not wait for what will not come. It carries out what
// the watch decides: who hangs is taken out, what stands still begins anew, a stop ends at the last
// checkpoint when somebody it needs is missing, and people are told of waits. Nobody stands still
// while something is being written: a slow disk is no circle.

#pragma once

#include "troupe/actors/director/run_status.hpp"

namespace troupe {

class run_supervisor {
public:
  run_supervisor(const director_seat& seat, const run_history& history,
                 const process_roster& roster, run_watch& watch, const run_writes& writes,
                 run_membership& membership, run_training& training, const run_status& status)
    : seat_(seat),
      history_(history),
      roster_(roster),
      watch_(watch),
      writes_(writes),
      membership_(membership),
      training_(training),
      status_(status) {}

  void tick(moment now);

private:
  void take_out(const hung_process& one);
  void see_to_standstill(moment now);
  void see_to_stop(moment now);
  void see_to_waits(moment now);

  const director_seat& seat_;
  const run_history& history_;
  const process_roster& roster_;
  run_watch& watch_;
  const run_writes& writes_;
  run_membership& membership_;
  run_training& training_;
  const run_status& status_;
};

} // namespace troupe
