// A director's context, shared by all its parts: the links to processes, the current view, the exchange, and the
// observers. Only run_membership writes links and view, only run_training the end.

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

// The options of a director.

class run_recorder; // data/records/run_recorder.hpp

/// What the director's process knows, for people. Each may be empty.
struct known_here {
  /// Names the rows of these slices of a step, and their file.
  std::function<std::string(uint64_t step, const std::vector<size_t>& slices)> rows;
  /// Who has dialled in to a federated run.
  std::function<client_presence()> clients;
};

struct director_options {
  director_rule_options rule;
  membership_options membership;
  optimizer_options optimizer; ///< gives the learning rate in the history
  bool classification = true;
  double test_total_squares = 0; ///< regression: of the test targets around their mean
  double validation_total_squares = 0;
  std::shared_ptr<const metric_set> metrics; ///< of evaluations; null: none
  size_t parameter_count = 0;
  size_t slot_count = 0;  ///< of the optimizer's state
  std::string job_sha256; ///< for checkpoints
  std::string arithmetic; ///< likewise
  /// Ends with the director. Null: no checkpoint is written, and there is no scratch room.
  checkpoint_writer_actor writer;
  /// Keeps parameters that only the director has: the best version, the result. Null: in memory.
  std::shared_ptr<scratch_pool> scratch;
  std::optional<checkpoint> resume_from; ///< nothing: train from the beginning
  exchange_options exchange;
  lost_work_options lost_work{0};
  bool hides_work = false; ///< figures of work and traffic would reveal a private run's clients
  known_here here;
  /// Called for each report that compares a process's clock with the director's, with its time of arrival; may be
  /// empty.
  std::function<void(const std::string& process, const clock_stamps& stamps, uint64_t heard)>
    on_clock;
  std::shared_ptr<run_recorder> trace; ///< of its links; null: nothing is recorded
};

/// The director's options from a resolved job; the caller adds the processes.
director_options director_options_of(const job& resolved, const prepared_data& data,
                                     const model& network);

/// How often the director looks for due work.
inline constexpr milliseconds director_tick_interval{50};

/// How often the director repeats views, directives and holds, for processes that missed them.
inline constexpr milliseconds repeat_interval{1000};

/// A linked process and its node.
struct process_link {
  member who;
  node_actor way;
  std::vector<std::string> linked{}; ///< processes it has links to, as it said last while outside
};

struct director_context {
  director_actor::pointer self = nullptr;
  director_options options;
  std::map<std::string, process_link> links;
  exchange_port exchange;
  cluster_view view; ///< the last published one

  std::optional<moment> begin;
  bool finished = false; ///< no rule decides any more
  std::vector<observer_actor> observers;
  training_progress last_progress;
  std::function<void(const failure&)> fail; ///< ends the run

  moment now() const { return self->clock().now(); }
  uint64_t term() const { return view.id.term; }
  /// The run has one process: no waits for wires, and no process that could replace it.
  bool is_alone() const { return options.membership.is_alone(); }
  double seconds_since_begin() const {
    return begin ? std::chrono::duration<double>(now() - *begin).count() : 0;
  }

  template <class T>
  void send_to_members(const T& news) const {
    send_to_members_if(news, [](const std::string&) { return true; });
  }
  /// Sends to the members whose names the predicate accepts.
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
  /// Sends a line for people, with the last progress again, so that a progress display does not step back.
  void tell(const std::string& line) const {
    auto news = last_progress;
    news.notice = line;
    send_to_observers(news);
  }
};

} // namespace troupe
