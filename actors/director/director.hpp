// Director: one for each job. It decides which processes take part and how far training may go,
// keeps the history, has checkpoints written, reports the status, and ends the run. It computes
// nothing, waits for no disk (checkpoint_writer.hpp) and runs on a thread of its own. So it answers
// while all cores and the disk are busy.
//
//   waiting --begin, all joined--> training --end named--> ending --all collected--> finished
//                                   ^    |                   |
//                                   +----+---- a span lost --+   (a new term, from a checkpoint)
//
// Pure rules decide: `director_rule` how training goes on, `membership_rule` which processes take
// part and what a loss costs, `hold_rule` at which version a cluster stops. The director's parts
// turn messages into events of these rules, and decisions into messages. Each part knows only those
// below it:
//
//                    +--------------------------------------------------------+
//    tick      ====> | run_supervisor   hanging processes, standstills        |
//    status   <====> | run_status       how it goes, in figures and words     |
//    reports   ====> | run_training     how far it goes, and its end          |
//    processes ====> | run_membership   processes taking part: views, terms   |
//    tensors  <====> | run_tensors      parameters fetched, checkpoints made  |
//    writer   <====> | run_writes       open orders to the writer             |
//    directives <=== | run_announcer    views, directives, holds: sent to all |
//                    +--------------------------------------------------------+
//                    | plain objects:  process_roster, run_history, run_watch,|
//                    |                 run_end, checkpoint_drafts             |
//                    +--------------------------------------------------------+
//
// All parts share one context (director_context.hpp). No message of the director is acknowledged:
// it repeats its state every second. It gets tensors (parameters, checkpoint state) through an
// exchange, as nodes do (actors/base/exchange_port.hpp).

#pragma once

#include "actors/base/guard.hpp"
#include "actors/director/run_training.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <memory>
#include <string>

namespace troupe {

// Run status: how training goes, and which processes it waits for, in figures and in words.

/// The current wait of a run.
struct current_wait {
  std::string who; ///< equal for equal waits
  moment since;
  std::string text;
};

class run_status {
public:
  run_status(const director_context& context, const run_history& history,
             const process_roster& roster, const run_watch& watch, const run_writes& writes,
             const run_tensors& tensors, const run_membership& membership,
             const run_training& training)
    : context_(context),
      history_(history),
      roster_(roster),
      watch_(watch),
      writes_(writes),
      tensors_(tensors),
      membership_(membership),
      training_(training) {}

  training_status status() const;
  current_wait wait(moment now) const;
  /// Nothing moves, so the last reports still hold.
  bool is_still(moment now) const;

private:
  void fill_in_results(training_status& status) const;
  node_status status_of(const expected_member& node, moment now) const;
  std::string phase_text() const;
  std::string waits_for(moment now) const;

  const director_context& context_;
  const run_history& history_;
  const process_roster& roster_;
  const run_watch& watch_;
  const run_writes& writes_;
  const run_tensors& tensors_;
  const run_membership& membership_;
  const run_training& training_;
};

// Run supervisor: keeps a run from waiting for ever. It carries out the decisions of the watch. It
// takes a hanging process out, begins a term anew when the run stands still, and tells people of
// waits. A stop that lacks processes ends at the last checkpoint. While the disk is being written
// to, the run does not count as standing still.
class run_supervisor {
public:
  run_supervisor(const director_context& context, const run_history& history,
                 const process_roster& roster, run_watch& watch, const run_writes& writes,
                 run_membership& membership, run_training& training, const run_status& status)
    : context_(context),
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

  const director_context& context_;
  const run_history& history_;
  const process_roster& roster_;
  run_watch& watch_;
  const run_writes& writes_;
  run_membership& membership_;
  run_training& training_;
  const run_status& status_;
};

class director_state {
public:
  explicit director_state(director_actor::pointer self) { context_.self = self; }

  director_actor::behavior_type make_behavior(const director_options& options);

  static inline const char* name = "director";

private:
  void on_begin();
  void on_watch(const observer_actor& observer);
  void on_tick();

  /// The parts of the picture above, the lowest first.
  struct parts {
    explicit parts(director_context& context);
    process_roster roster;
    run_history history;
    run_watch watch;
    run_announcer announcer;
    run_writes writes;
    run_tensors tensors;
    run_membership membership;
    run_training training;
    run_status status;
    run_supervisor supervisor;
  };
  director_context context_;
  std::unique_ptr<parts> parts_;
};

director_actor::behavior_type director(self_pointer<director_actor, director_state> self,
                                       const director_options& options);

} // namespace troupe
