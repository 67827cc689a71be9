// The caretaker: lets faults befall a cluster when their time comes, and mends what people mend.
//
// A fault has fired when it did something: a crash of a machine that is down already has not.

#pragma once

#include "tests/simulation/cluster.hpp"
#include "tests/simulation/oracle.hpp"
#include "tests/simulation/workload.hpp"

#include <optional>
#include <vector>

namespace troupe::simulation {

struct trial_report;

class caretaker {
public:
  caretaker(world& here, cluster& patients, oracle& judge, trial_report& report);

  /// Starts the director; the faults come when they are due.
  void start(std::vector<fault> faults);

  /// To be called after each event: sees what is due.
  void look();

  /// The run has come to an end, good or bad.
  bool is_over() const { return is_over_; }
  /// When the last fault that has befallen will be healed.
  moment healed_at() const { return healed_at_; }
  /// Nobody stands still any more.
  void let_all_run();

private:
  bool befall(const fault& x);
  bool crash_process(const fault& x, bool with_spans);
  bool crash_director(const fault& x);
  bool freeze(const fault& x);
  bool block(const fault& x, bool both_ways);
  bool reset_link(const fault& x);
  bool separate(const fault& x, duration length);
  bool corrupt(const fault& x);
  bool drop_messages(const fault& x);
  bool echo_messages(const fault& x);
  /// Counts the fault when it is over, if `hits` has grown.
  bool trouble_wires(const fault& x, void (network::*set)(unsigned), unsigned per_10000,
                     size_t (network::*hits)() const);
  bool hang(const fault& x);
  bool take_other_file(const fault& x);
  void boot_when_it_ended(size_t process, duration wait);
  bool slow_down(const fault& x);
  bool join_late(const fault& x);
  bool fill_disk(const fault& x);
  bool fail_disk(const fault& x);
  bool tear(const fault& x);
  bool rot(const fault& x);
  bool lose_disk(const fault& x);
  bool replace_director(const fault& x);
  bool stop(const fault& x);
  bool give_notice(const fault& x);

  void start_director();
  void start_anew();
  void restart_director_in(duration wait);
  void repeat_stale_director(size_t times);
  /// Picks one of the processes for which `fits` holds; nothing when there is none.
  template <class Predicate>
  std::optional<size_t> pick(uint64_t choice, Predicate fits) const {
    std::vector<size_t> candidates;
    for (size_t i = 0; i < cluster_.process_count(); ++i)
      if (fits(i))
        candidates.push_back(i);
    if (candidates.empty())
      return std::nullopt;
    return candidates[choice % candidates.size()];
  }
  bool holds_spans(size_t process) const;
  void heals_at(moment when) { healed_at_ = std::max(healed_at_, when); }
  void count(fault_kind kind);

  world& world_;
  cluster& cluster_;
  oracle& judge_;
  trial_report& report_;
  std::vector<fault> waiting_; ///< for their version
  moment healed_at_;
  std::optional<size_t> gone_; ///< a process that does not come back
  bool has_separated_ = false;
  bool has_hung_ = false;             ///< somebody does, to the end
  bool may_lose_checkpoints_ = false; ///< a disk rotted or was lost
  bool may_fail_to_write_ = false;    ///< a disk was full or failed
  bool is_over_ = false;
};

} // namespace troupe::simulation
