// Keeper's desk: what every keeper does as a shard towards director and node, whatever it decides
// about trainers. It holds the newest version's parameters and the one before, keeps the book of
// training figures, has versions evaluated, and reports.
//
//   on_start, on_view --> (begun) --adopt--> version v' > v --adopt--> ..
//                            \--stop_here--> failed: its version stays
//
// Versions may be several steps apart; each with a row of the history must be among them.
//
// Trainers sit on seats. Whoever is lost, because it went down or a view does not name it any more,
// leaves one empty, and its share of evaluations goes to another; who comes takes the lowest empty
// seat, or a new one (coordinators/modes/work_book.hpp says the same of work).

#pragma once

#include "troupe/actors/base/version_buffers.hpp"
#include "troupe/actors/protocol/trainer_messages.hpp"
#include "troupe/coordinators/run/training_statistics.hpp"
#include "troupe/coordinators/step/timeline.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

class keeper_desk {
public:
  keeper_desk(keeper_actor::pointer self, const timeline& plan, const evaluation_rows& rows)
    : self_(self), plan_(plan), rows_(rows) {}
  keeper_desk(const keeper_desk&) = delete; // its actor's handlers know where it is
  keeper_desk& operator=(const keeper_desk&) = delete;

  /// What a view changed.
  struct seat_changes {
    bool begins = false;        ///< training begins now, from `parameters()`, with all seats
    std::vector<size_t> lost;   ///< seats that are empty now
    std::vector<size_t> joined; ///< seats that are taken now, in the order they came
  };

  void on_start(const shard_start& news) { versions_ = news.versions; }
  seat_changes on_view(const view& news);
  /// The seat that somebody who ended leaves empty; nothing when it was nobody here.
  std::optional<size_t> on_down(const caf::actor_addr& who);
  /// Evaluates and reports what the new horizon makes due.
  void on_horizon(const horizon& news);
  /// No step begins until the next horizon; tells the node the first that has not begun.
  void hold(uint64_t replica, uint64_t round, uint64_t next_step);
  caf::result<parameter_span> on_pull(uint64_t version) const;

  /// The steps up to `version` are done: their figures, and the parameters they led to.
  void adopt(uint64_t version, const const_buffer& parameters, const batch_sums& sums);
  /// What came of the current version's step is not finite.
  void stop_here(const std::string& what);

  /// Sends work to who sits there.
  void give(size_t seat, trainer_order order);
  /// Its result is here, and so is what it was to evaluate before.
  void on_answer(size_t seat);
  /// Tells people.
  void tell(const std::string& notice);

  /// True when the step after the first `begun_count` ones may begin.
  bool may_begin(uint64_t begun_count) const {
    return has_view_ && !failed_ && !held_ && begun_count < horizon_.version;
  }

  bool has_begun() const { return has_view_; }
  bool failed() const { return failed_; }
  uint64_t version() const { return version_; }
  const const_buffer& parameters() const { return current_; }
  size_t seat_count() const { return seats_.size(); }
  size_t living_count() const { return living_seats().size(); }
  /// The same figures, with the names of who sits there, or sat there last.
  trainer_figures figures_of(const training_statistics& statistics) const;
  /// "1 replica is left".
  std::string left_text() const;

private:
  struct seat {
    trainer_actor actor; ///< null: empty
    /// That it may not have done yet: it has answered no later order, and their row is incomplete.
    std::vector<evaluation_order> evaluations;
    size_t before_order = 0; ///< so many of them were sent before its last order
  };

  void start(const view& news);
  size_t find_seat_for(const replica_entry& who);
  void leave_seat(size_t index);
  /// Nobody need evaluate the versions before this one again.
  void forget_evaluations(uint64_t row_version);
  std::vector<size_t> living_seats() const;
  void evaluate_at(size_t index, const evaluation_order& order);
  void evaluate_if_due();
  void report_if_due();
  void send_report(bool is_row, bool is_mark, const std::string& notice);
  parameter_span span_of(uint64_t version, const const_buffer& parameters) const;

  keeper_actor::pointer self_;
  timeline plan_;
  evaluation_rows rows_;
  std::shared_ptr<version_buffers> versions_;
  view view_;
  std::vector<seat> seats_;
  std::vector<replica_name> names_;        ///< of seats
  std::vector<evaluation_order> homeless_; ///< evaluations for whoever comes next
  bool has_view_ = false;
  bool held_ = false;
  bool failed_ = false;
  horizon_rule horizon_;
  uint64_t version_ = 0;
  uint64_t previous_version_ = 0;
  const_buffer current_;
  const_buffer previous_;
  batch_sums book_;                   ///< of the epoch of the last step
  uint64_t row_version_ = 0;          ///< reported as a row
  uint64_t mark_version_ = 0;         ///< reported as the horizon
  std::optional<uint64_t> evaluated_; ///< the last version that was
  std::chrono::steady_clock::time_point begin_;
  std::chrono::steady_clock::time_point last_report_;
};

} // namespace troupe
