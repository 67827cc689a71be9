// A director's context: what all parts of a director look at. The ways to the processes, the view in
// force, the exchange, and who watches. Links and view are written by run_membership alone, the end
// by run_training.

#pragma once

#include "actors/base/exchange_port.hpp"
#include "actors/protocol/cluster_messages.hpp"
#include "actors/protocol/status_messages.hpp"
#include "actors/protocol/write_messages.hpp"
#include "coordinators/exchange/tensor_exchange.hpp"
#include "coordinators/job/job.hpp"
#include "coordinators/membership/lost_work.hpp"
#include "coordinators/membership/membership_rule.hpp"
#include "coordinators/run/director_rule.hpp"
#include "data/checkpoint/checkpoint.hpp"
#include "data/text/failure.hpp"
#include "data/training_rows/prepare.hpp"
#include "models/metrics/metric_set.hpp"
#include "models/network/model.hpp"
#include "models/optimizers/optimizer_options.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

// What a director is told when it is made.

class run_recorder; // data/records/run_recorder.hpp

struct director_options {
  director_rule_options rule;
  membership_options membership;
  optimizer_options optimizer; ///< for the learning rate in the history
  bool classification = true;
  double test_total_squares = 0; ///< regression: of the test targets around their mean
  double validation_total_squares = 0;
  std::shared_ptr<const metric_set> metrics; ///< of evaluations; null: none
  size_t parameter_count = 0;
  size_t slot_count = 0;  ///< of the optimizer's state
  std::string job_sha256; ///< for checkpoints
  std::string arithmetic; ///< likewise
  /// Lives and dies with the director. Null: no checkpoint is written, and there is no scratch room.
  checkpoint_writer_actor writer;
  /// Where parameters are kept that nobody else has: the best version, the result. Null: in memory.
  std::shared_ptr<scratch_pool> scratch;
  std::optional<checkpoint> resume_from; ///< nothing: from the beginning
  exchange_options exchange;
  lost_work_options lost_work{0};
  bool hides_work = false; ///< how much was computed and sent would tell of a private run's clients
  /// For people: the rows of these slices of a step, and where they come from. May be empty.
  std::function<std::string(uint64_t step, const std::vector<size_t>& slices)> rows;
  /// Told of each report that compares a process's clock with this one's, with when it came; may be empty.
  std::function<void(const std::string& process, const clock_stamps& stamps, uint64_t heard)>
    on_clock;
  std::shared_ptr<run_recorder> trace; ///< of its links; null: it is not recorded
};

/// What a director needs to know of a resolved job; who takes part is still open.
director_options director_options_of(const job& resolved, const prepared_data& data,
                                     const model& network);

/// How often the director looks whether something is due.
inline constexpr milliseconds director_tick_interval{50};

/// How often views, directives and holds are said again, for those who missed them.
inline constexpr milliseconds repeat_interval{1000};

/// A process that has come, and the way to it.
struct process_link {
  member who;
  node_actor way;
};

struct director_context {
  director_actor::pointer self = nullptr;
  director_options options;
  std::map<std::string, process_link> links;
  exchange_port exchange;
  cluster_view view; ///< the one published last

  std::optional<moment> begin;
  bool finished = false; ///< nothing is decided any more
  std::vector<observer_actor> observers;
  training_progress last_progress;
  std::function<void(const failure&)> fail; ///< ends the run

  moment now() const { return self->clock().now(); }
  uint64_t term() const { return view.id.term; }
  /// There is one process: nobody waits for a wire, and nobody could stand in for it.
  bool is_alone() const { return options.membership.expected.size() <= 1; }
  double seconds_since_begin() const {
    return begin ? std::chrono::duration<double>(now() - *begin).count() : 0;
  }

  template <class T>
  void send_to_members(const T& news) const {
    send_to_members_if(news, [](const std::string&) { return true; });
  }
  /// To those whose name the predicate holds for.
  template <class T, class Predicate>
  void send_to_members_if(const T& news, const Predicate& is_meant) const {
    for (const auto& who : view.members)
      if (const auto found = links.find(who.name);
          found != links.end() && found->second.who.incarnation == who.incarnation &&
          is_meant(who.name))
        self->send(found->second.way, news);
  }
  template <class T>
  void send_to_observers(const T& news) const {
    for (const auto& observer : observers)
      self->send(observer, news);
  }
  void show(const training_progress& news) {
    send_to_observers(news);
    last_progress = news;
    last_progress.finished_epoch.reset();
    last_progress.rounds.clear();
  }
  /// A line for people: with the last progress again, so that nobody who shows progress takes it for
  /// a step back.
  void tell(const std::string& line) const {
    auto news = last_progress;
    news.notice = line;
    send_to_observers(news);
  }
};

} // namespace troupe
