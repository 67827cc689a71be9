// Director: one for each job. It says who takes part and how far training may go, keeps the
// history, writes the checkpoints, answers questions at any time, and ends the run. It computes
// nothing and runs on a thread of its own, so it answers while all cores are busy.
//
//   waiting --begin, all joined--> training --end named--> ending --all collected--> finished
//                                   ^    |                   |
//                                   +----+---- a span lost --+   (a new term, from a checkpoint)
//
// Three pure rules decide: `director_rule` the course of training, `membership_rule` who takes part
// and what a loss costs, `hold_rule` at which version a cluster stops. This shell turns messages
// into their events and their decisions into messages. Nothing it sends is acknowledged: views,
// courses and holds are repeated every second, and what it misses (parameters, checkpoint state) it
// asks for by an exchange like everybody else (actors/base/exchange_port.hpp).

#pragma once

#include "troupe/actors/base/guard.hpp"
#include "troupe/actors/director/checkpoint_drafts.hpp"
#include "troupe/actors/protocol/status_messages.hpp"
#include "troupe/coordinators/exchange/repair_clock.hpp"
#include "troupe/coordinators/job/job.hpp"
#include "troupe/coordinators/membership/membership_rule.hpp"
#include "troupe/coordinators/membership/work_watch.hpp"
#include "troupe/coordinators/run/director_rule.hpp"
#include "troupe/coordinators/run/hold_rule.hpp"
#include "troupe/coordinators/run/pace.hpp"
#include "troupe/coordinators/run/version_times.hpp"
#include "troupe/coordinators/run/waits.hpp"
#include "troupe/data/checkpoint/checkpoint.hpp"
#include "troupe/data/text/failure.hpp"
#include "troupe/data/training_rows/prepare.hpp"
#include "troupe/models/network/model.hpp"
#include "troupe/models/optimizers/optimizer_options.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace troupe {

class checkpoint_store;

struct director_options {
  director_rule_options rule;
  membership_options membership;
  optimizer_options optimizer; ///< for the learning rate in the history
  bool classification = true;
  double test_total_squares = 0; ///< regression: of the test targets around their mean
  double validation_total_squares = 0;
  size_t parameter_count = 0;
  size_t slot_count = 0;                         ///< of the optimizer's state
  std::string job_sha256;                        ///< for checkpoints
  std::string numerics;                          ///< likewise
  std::shared_ptr<checkpoint_store> checkpoints; ///< null: none are written
  std::optional<checkpoint> resume_from;         ///< nothing: from the beginning
  exchange_options exchange;
};

/// What a director needs to know of a resolved job; who takes part is still open.
director_options director_options_of(const job& resolved, const prepared_data& data,
                                     const model& network);

/// How often the director looks whether something is due.
inline constexpr milliseconds director_tick_interval{50};

/// How often views, courses and holds are said again, for those who missed them.
inline constexpr milliseconds repeat_interval{1000};

class director_state {
public:
  explicit director_state(director_actor::pointer self) : self_(self) {}

  director_actor::behavior_type make_behavior(const director_options& options);

  static inline const char* name = "director";

private:
  // director.cpp: messages to events, decisions to messages.
  void on_begin();
  void on_watch(const observer_actor& observer);
  void on_stop();
  void on_training_report(const training_report& news);
  void on_evaluation(const evaluation& news);
  void on_not_finite(const not_finite_report& news);
  void on_tick();
  caf::result<parameter_span> on_pull() const;

  void carry_out(const director_decisions& decisions);
  void carry_out(const allow_up_to& decision);
  void carry_out(const hold_replicas& decision);
  void carry_out(const publish_row& decision);
  void carry_out(const keep_version& decision);
  void carry_out(const take_checkpoint& decision);
  void carry_out(const finish_at& decision);

  void finish_when_complete();
  /// The result is the version whose parameters were fetched on the way.
  bool is_result_kept() const;
  std::string problem_text() const;
  void fail(failure_code code, const std::string& why, const std::string& where = {},
            const std::string& hint = {});
  void publish_finished();

  // director_members.cpp: who takes part.
  void on_member(const member& who, const node_actor& way);
  void on_down(const caf::down_msg& news);
  void on_node_report(const node_report& news);
  void on_hold_answer(const hold_answer& news);

  void carry_out(const membership_decisions& decisions);
  void carry_out(const persist_term& decision);
  void carry_out(const publish& decision);
  void carry_out(const wait_for& decision);
  void carry_out(const turn_away& decision);
  void carry_out(const give_up& decision);
  void carry_out(const stand_down& decision);
  void carry_out(const hold_decisions& decisions);
  void carry_out(const ask_to_hold& decision);
  void carry_out(const stop_at& decision);

  void tell_turned_away();

  void begin_term();
  /// History, rule and best version are those of the last checkpoint.
  void remember_checkpoint();
  director_memory memory_of(const checkpoint& x) const;
  course current_course() const;
  void send_course();
  template <class T>
  void send_to_members(const T& news);
  uint64_t term() const { return view_.id.term; }

  // director_tensors.cpp: parameters and checkpoints.
  /// Sends what the exchange wants sent, and sees to what has come.
  void settle();
  std::vector<tensor_source> owners();
  void on_piece(const sent_piece& news);
  void on_arrived(const tensor_arrived& news);
  void on_asked(const tensor_asked& news);
  void on_shard_numbers(const shard_numbers& news);
  void fetch(uint64_t version);
  void ask_for_missing(moment now);
  void on_fetched(uint64_t version, const const_buffer& parameters);
  /// This version's state is to be written, and is not yet.
  bool is_checkpointed(uint64_t version) const;
  void keep_rows_of_undisturbed_run(checkpoint& x) const;
  std::string hint_of_older_checkpoint() const;
  void write_if_complete();
  void hand_out_checkpoint();

  // director_figures.cpp
  history_row row_of(const epoch_figures& figures) const;
  training_progress progress_at(uint64_t version, const batch_sums& sums) const;
  double seconds_at(uint64_t version) const;
  double seconds_since_begin() const;
  std::optional<double> rate_at(uint64_t step) const;
  std::vector<replica_status> work_of_replicas() const;
  trainer_figures figures() const;
  void fill_in_figures();

  // director_watch.cpp: who does nothing, and what a stop does not wait for.
  void see_to_hung(moment now);
  void see_to_standstill(moment now);
  void see_to_stop(moment now);
  bool works_on_stop() const { return stop_asked_ || ending_; }
  void take_out_hung(const std::string& who, const std::string& why, moment now);
  /// The result is what the last checkpoint has, without asking anybody; else it fails.
  void end_at_checkpoint(const std::string& why);

  // director_status.cpp: how training goes, and whom it waits for.
  struct wait {
    std::string who; ///< equal for equal waits
    moment since;
    std::string text;
  };
  training_status on_status() const;
  void fill_in_results(training_status& status) const;
  std::string phase_text() const;
  node_status status_of(const expected_member& node, moment now) const;
  std::string waits_for() const;
  bool is_still(moment now) const;
  std::vector<heard_process> heard_members(moment now) const;
  wait current_wait(moment now) const;
  void tell(const std::string& line);
  void see_to_waits(moment now);
  void send_progress(const training_progress& news);

  director_actor::pointer self_;
  director_options options_;
  std::optional<director_rule> rule_;
  std::optional<membership_rule> membership_; ///< since `begin`
  hold_rule hold_;

  struct link {
    member who;
    node_actor way;
    moment since{};
  };
  std::map<std::string, link> links_;
  exchange_port exchange_;
  struct heard {
    node_report news;
    moment at{};
  };
  std::map<std::string, heard> reports_; ///< of processes with a link, the newest of each
  cluster_view view_;
  std::map<std::string, uint64_t> turned_away_; ///< incarnations that are yet to hear that they are
  std::optional<uint64_t> first_term_;
  uint64_t sequence_ = 0; ///< of courses and holds
  horizon_rule horizon_;
  std::optional<hold_request> hold_request_; ///< while answers are missing
  moment repeated_{};
  std::optional<wait_for> waiting_; ///< training stands still, or has not begun, for want of these

  std::vector<observer_actor> observers_;
  std::optional<moment> begin_;
  double seconds_before_ = 0;    ///< trained up to the term's start version
  double row_seconds_ = 0;       ///< when the last published row ended
  version_times report_seconds_; ///< of reported versions, over all runs of the job
  uint64_t version_ = 0;         ///< the newest heard of
  pace pace_;
  moment moved_{}; ///< somebody reached a version, or a view was published
  moment last_tick_{};
  work_watch watch_;
  size_t standstills_ = 0; ///< one after the other, at one version
  uint64_t stood_at_ = 0;
  wait_teller teller_;
  training_progress last_progress_;
  std::vector<history_row> history_;

  std::set<std::string> took_part_; ///< names in any view
  uint64_t round_ = 0; ///< of counts: an older report about what replicas did is too old
  repair_clock count_clock_;
  std::optional<checkpoint> checkpoint_; ///< the last complete one, or the one resumed from
  std::shared_ptr<buffer_pool> tensors_; ///< for what comes from other processes
  std::optional<checkpoint_drafts> drafts_;

  bool stop_asked_ = false;
  moment stop_asked_at_{};
  bool ending_ = false;
  const_buffer best_parameters_;           ///< kept; those of rule_->kept()
  std::optional<const_buffer> parameters_; ///< the result
  training_finished result_;
  bool finished_ = false;
};

director_actor::behavior_type director(self_pointer<director_actor, director_state> self,
                                       const director_options& options);

} // namespace troupe
