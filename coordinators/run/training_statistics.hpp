// Training statistics: who makes the others wait, and what becomes of everybody's work.
//
// Fed with events and `now` by whoever coordinates; it decides nothing. For each trainer:
//   - at a barrier (a step or round that waits for several): how often it was the last to come, and
//     how long after the one before it; how long it waited itself;
//   - how late its gradients were, in updates of others, and how many were discarded;
//   - how many results were refused because the work was not its own any more, and how often it was
//     lost itself;
//   - how its time went: computing, on the way, waiting. Clocks of machines differ, so a trainer
//     says how long it computed; the rest of the time between sending it work and having its result
//     is the network's (and that of queues).
//
// Every wait of the barrier has a name in it, that of a lost trainer as well: the time from the
// last result until the loss was found is its own when nobody else had anything to do.
// data/records/trainer_table.hpp makes a table of it for people.

#pragma once

#include "coordinators/base/moment.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// Lags are counted in classes that double: 0, 1, 2-3, 4-7, 8-15, 16-31, 32-63, 64 and more.
inline constexpr size_t lag_class_count = 8;

/// The class of a lag.
size_t lag_class(uint64_t lag);

struct trainer_statistics {
  uint64_t result_count = 0;
  uint64_t last_count = 0;                 ///< barriers at which it was the last of several
  std::chrono::nanoseconds last_by{0};     ///< after the one before it, summed over those
  std::chrono::nanoseconds last_by_max{0}; ///< the worst of them
  std::chrono::nanoseconds waited{0};      ///< for others, after its own result was there
  std::chrono::nanoseconds computed{0};    ///< by its own clock
  std::chrono::nanoseconds network{0};     ///< between sending and arrival, without computing
  uint64_t applied_count = 0;
  uint64_t discarded_count = 0;
  uint64_t refused_count = 0; ///< results of work that others had, or that was handed in already
  uint64_t lost_count = 0;
  std::array<uint64_t, lag_class_count> lags{}; ///< of all that were judged, by class

  friend bool operator==(const trainer_statistics&, const trainer_statistics&) = default;
};

class training_statistics {
public:
  explicit training_statistics(size_t trainer_count) : trainers_(trainer_count) {}

  // All throw std::out_of_range for no such trainer.

  /// A trainer may not go on before others have; it waits until work leaves for it. Not for those
  /// who wait at a barrier.
  void on_waits(size_t trainer, moment now);

  /// Work leaves for a trainer.
  void on_sent(size_t trainer, moment now);

  /// Its result is here; it says how long it computed, by its own clock.
  void on_result(size_t trainer, moment now, std::chrono::nanoseconds computed);

  /// Everybody's wait is over; those whose results came since the last barrier were at it.
  void on_barrier(moment now);

  void on_applied(size_t trainer, uint64_t lag);
  void on_discarded(size_t trainer, uint64_t lag);
  void on_refused(size_t trainer);

  /// It is gone: it is at no barrier until it has a new result.
  void on_lost(size_t trainer, moment now);
  /// It is there, again or for the first time: the next index after the last. Throws
  /// std::out_of_range for any later index.
  void on_joined(size_t trainer);

  size_t trainer_count() const { return trainers_.size(); }

  const trainer_statistics& of(size_t trainer) const { return trainers_.at(trainer).figures; }
  uint64_t barrier_count() const { return barrier_count_; }

  friend bool operator==(const training_statistics&, const training_statistics&) = default;

private:
  struct record {
    trainer_statistics figures{};
    std::optional<moment> sent{};
    std::optional<moment> waits_since{}; ///< for others, at no barrier

    friend bool operator==(const record&, const record&) = default;
  };
  struct arrival {
    size_t trainer = 0;
    moment when{};

    friend bool operator==(const arrival&, const arrival&) = default;
  };

  /// Others wait for this trainer from `begin` to `end`.
  static void charge(trainer_statistics& figures, moment begin, moment end);

  std::vector<record> trainers_;
  moment stalled_until_{};        ///< that wait is a lost trainer's
  std::vector<arrival> arrivals_; ///< since the last barrier, the latest of each trainer, in order
  uint64_t barrier_count_ = 0;
};

} // namespace troupe
