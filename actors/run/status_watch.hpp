// Somebody looks on while a run is waited for: the director is asked once a second how training goes.

#pragma once

#include "troupe/actors/protocol/interfaces.hpp"
#include "troupe/coordinators/base/moment.hpp"

#include <caf/scoped_actor.hpp>

#include <functional>

namespace troupe {

class status_watch {
public:
  static constexpr milliseconds interval{1'000};
  /// For an answer, which comes within milliseconds: whoever waits hears nothing else meanwhile.
  static constexpr milliseconds answer_time_max{1'000};

  /// `tell` is called on the thread that waits, and may be empty.
  status_watch(caf::scoped_actor& self, director_actor director,
               std::function<void(const training_status&)> tell);

  /// Asks when it is time to.
  void tick();
  /// Asks now: the last time, when a run has ended.
  void ask();

private:
  caf::scoped_actor& self_;
  director_actor director_;
  std::function<void(const training_status&)> tell_;
  moment next_{};
};

} // namespace troupe
