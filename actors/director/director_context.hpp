// A director's context: what all parts of a director look at. The ways to the processes, the view in
// force, the exchange, and who watches. Links and view are written by run_membership alone, the end
// by run_training.

#pragma once

#include "actors/base/exchange_port.hpp"
#include "actors/director/director_options.hpp"
#include "actors/protocol/status_messages.hpp"
#include "data/text/failure.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

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
