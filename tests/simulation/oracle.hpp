// The oracle: watches a run from outside and says what must never happen.
//
//  - within a term each span applies its steps one after the other, from the term's start on, and
//    each slice with rows goes into a step exactly once;
//  - the parameters of a version are those of the twin, the same job on machines that never fail;
//  - one view number is one view, whoever published it, and no term is begun twice;
//  - the horizon is never beyond the next version that is to be checkpointed;
//  - a stop is heeded, soon;
//  - who is asked to end, and has the time for it, takes nothing along;
//  - the result and the history are the twin's.
//
// It sees the twin first, and remembers it.

#pragma once

#include "actors/base/test_hooks.hpp"
#include "actors/protocol/cluster_messages.hpp"
#include "coordinators/step/timeline.hpp"
#include "data/checkpoint/checkpoint.hpp"
#include "tests/simulation/workload.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe::simulation {

/// What a job comes to when nothing goes wrong.
struct twin {
  std::vector<std::vector<float>> versions; ///< parameters; empty where not reached
  training_finished finished;
  std::vector<float> parameters; ///< of the result
};

class oracle {
public:
  /// `reference` empty: what is seen is remembered, as the twin.
  oracle(const timeline& plan, size_t parameter_count, const twin* reference, agreement with_twin,
         uint64_t checkpoint_every = 0);

  void on_applied(const applied_step& x);
  void on_view(const cluster_view& x);
  void on_resumed(const checkpoint& x);
  /// Each term begins where all stand, until somebody is lost.
  void expect_nothing_undone() { undoes_nothing_ = true; }
  void on_loss() { undoes_nothing_ = false; }
  bool may_undo() const { return !undoes_nothing_; }
  void on_directive(const directive& x);
  /// The director now in charge was asked to stop, when `version` had been seen.
  void on_stop_asked(uint64_t version) { stop_asked_at_ = version; }
  /// Another director knows of no stop.
  void forget_stop() { stop_asked_at_.reset(); }
  /// Work that ended every worker who had it was left out, as the job allows: the result is not the twin's.
  void on_left_out() { with_twin_ = agreement::end; }
  void on_finished(const training_finished& x, const std::vector<float>& parameters);

  /// A violation found by somebody else.
  void report(const std::string& what);

  /// What is wrong, the first first; no more than a few.
  const std::vector<std::string>& violations() const { return violations_; }
  size_t view_changes() const { return view_changes_; }
  size_t roll_backs() const { return roll_backs_; }
  size_t steps_applied() const { return steps_applied_; }
  const twin& seen() const { return seen_; }

private:
  void check_coverage(const applied_step& x);
  void check_order(const applied_step& x);
  void check_nothing_undone(const cluster_view& x);
  void check_parameters(uint64_t version, size_t first, std::span<const float> values,
                        const std::string& whose);
  void check_history(const training_finished& x);
  void check_rows(const training_finished& x);
  void check_stop(const training_finished& x);

  timeline plan_;
  const twin* reference_;
  agreement with_twin_;
  uint64_t checkpoint_every_;
  uint64_t highest_version_ = 0;            ///< that any shard has owned
  std::map<uint64_t, uint64_t> highest_of_; ///< by term
  bool undoes_nothing_ = false;
  std::optional<uint64_t> stop_asked_at_; ///< version
  twin seen_;
  std::map<std::pair<uint64_t, size_t>, uint64_t> next_step_; ///< by term and first element
  std::map<view_number, cluster_view> views_;
  size_t view_changes_ = 0;
  size_t roll_backs_ = 0;
  size_t steps_applied_ = 0;
  std::vector<std::string> violations_;
};

} // namespace troupe::simulation
