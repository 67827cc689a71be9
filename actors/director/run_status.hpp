// Run status: how training goes, and whom it waits for, in figures and in words.

#pragma once

#include "actors/director/run_training.hpp"

#include <string>

namespace troupe {

/// What the run waits for.
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
  /// Nothing moves: what was heard of processes holds.
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

} // namespace troupe
