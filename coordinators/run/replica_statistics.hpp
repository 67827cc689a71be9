// Replica statistics: training statistics of replicas that train in step, by name.
//
// The shard that counts the metrics feeds it. Places are indexes of a view, which move when a
// member comes or goes; the figures stay with the names. A replica's result for a step is there
// when the last part of its gradient is. Gradients of one process may be added before they leave
// it: then the replica with the last of them stands for all. So it does where replicas share a
// model: they report themselves which of them made the others wait (`boundary_waits`).

#pragma once

#include "coordinators/base/moment.hpp"
#include "coordinators/membership/cluster_view.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

// Training statistics: which trainer makes the others wait, and what becomes of each one's work.
//
// The coordinating actor feeds it with events and `now`; it decides nothing. For each trainer:
//   - at a barrier (a step or round that waits for several): how often it was the last to come, and
//     how long after the one before it; how long it waited itself;
//   - how late its gradients were, in updates of others, and how many were discarded;
//   - how many results were refused because the work was not its own any more, and how often it was
//     lost itself;
//   - how its time went: computing, on the way, waiting. Clocks of machines differ, so a trainer
//     says how long it computed; the rest of the time between sending it work and having its result
//     is the network's (and that of queues).
//
// Every wait at the barrier is some trainer's, also of a lost one: the time from the last result
// until the loss was found is its own if no other trainer had work. data/records/trainer_table.hpp
// makes a table of it for people.

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

  /// A trainer may not go on before others have; it waits until work leaves for it. Not for
  /// trainers that wait at a barrier.
  void on_waits(size_t trainer, moment now);

  /// Work leaves for a trainer.
  void on_sent(size_t trainer, moment now);

  /// Its result is here. `computed`: for so long, by its own clock.
  void on_result(size_t trainer, moment now, std::chrono::nanoseconds computed);

  /// All waits are over; trainers whose results came since the last barrier were at it.
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

/// What a replica did, and how it waited.
struct named_statistics {
  replica_name who;
  trainer_statistics figures;
  std::string partition = {}; ///< of a split model, in words; reports for people fill it in

  friend bool operator==(const named_statistics&, const named_statistics&) = default;
};

class replica_statistics {
public:
  struct place {
    replica_name who;
    bool computes = true; ///< it has slices
    size_t group = 0;     ///< the first of its slices: replicas that share them count as one
  };

  /// The replicas from now on. One that was there before and is not named is lost.
  void on_places(const std::vector<place>& places, moment now);

  /// A version is there: all may work on the next step.
  void on_step_begins(moment now);

  /// A part of the gradient of the replica at this place of the view, which has computed for so
  /// long in this step. A place that no replica has is ignored.
  void on_part(size_t position, moment now, std::chrono::nanoseconds computed);

  /// All parts of the step are there.
  void on_step_complete(moment now);

  uint64_t barrier_count() const { return statistics_.barrier_count(); }
  /// In the order of their first coming.
  std::vector<named_statistics> figures() const;

private:
  struct arrival {
    moment when;
    std::chrono::nanoseconds computed{0};
    size_t index; ///< among names
    size_t group;
  };

  size_t index_of(const replica_name& who);
  /// What is there so far are results.
  void take_arrivals();

  training_statistics statistics_{0};
  std::vector<replica_name> names_;
  struct replica_place {
    size_t index = 0; ///< among names
    bool computes = true;
    size_t group = 0;
  };
  std::vector<replica_place> places_;
  std::vector<arrival> arrivals_; ///< of the step under way, the latest of each group
};

// Boundary waits: which replica makes the others of a group wait, where a model is split.
//
// Members of a group stand idle in the middle of a step, until a piece of another comes. The last
// gradient says nothing there: in a pipeline it is always the first stage's. So each member counts
// itself how long it stood idle and whose piece ended that:
//
// A member in the middle of a chain passes waits on: only the time by which others' waits for it
// exceed its own waits is its fault.
struct boundary_wait {
  replica_name whom;
  uint64_t count = 0;
  std::chrono::nanoseconds time{0};
  std::chrono::nanoseconds longest{0};

  friend bool operator==(const boundary_wait&, const boundary_wait&) = default;
};

/// Slices that a replica has computed since its process began.
struct computed_slices {
  uint64_t count = 0;
  std::chrono::nanoseconds time{0}; ///< by the replica's own clock, without waiting

  friend bool operator==(const computed_slices&, const computed_slices&) = default;
};

/// What a member did and which members it waited for, by its own clock.
struct boundary_waits {
  std::chrono::nanoseconds computed{0};
  std::vector<boundary_wait> waits{}; ///< in the order of the first

  void add(const replica_name& whom, std::chrono::nanoseconds time);

  friend bool operator==(const boundary_waits&, const boundary_waits&) = default;
};

/// What a member reported, and in how many steps it had work.
struct reported_waits {
  replica_name who;
  uint64_t steps = 0;
  boundary_waits waits;
};

/// Members' own figures take the place of what was seen from outside; a wait for a member counts as
/// its being last. Waits for a member that is not among `told` any more do not count.
void count_waits(std::vector<named_statistics>& figures, const std::vector<reported_waits>& told);

} // namespace troupe
