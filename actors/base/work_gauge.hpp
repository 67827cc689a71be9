// Work gauge: shows what a computing actor works on; other threads of its process read it.
//
// A computing actor answers no message, so only the gauge shows whether it works or hangs. The
// actor marks the beginning and the end of each piece of work: a slice's gradient, a chunk of an
// evaluation. The work watch compares a piece with the longest one that ended
// (coordinators/membership/work_watch.hpp). One thread writes, any thread may read.

#pragma once

#include "coordinators/base/moment.hpp"
#include "data/records/trace_record.hpp"

#include <caf/actor_clock.hpp>

#include <atomic>
#include <cstdint>
#include <optional>

namespace troupe {

/// Names a piece of work, as in a timeline.
struct work_name {
  trace_kind kind = trace_kind::slice;
  uint64_t step = 0;   ///< or version, or round
  uint64_t object = 0; ///< slice, chunk, ..
};

class work_gauge {
public:
  void begin(moment now, const work_name& what) {
    kind_ = what.kind;
    step_ = what.step;
    object_ = what.object;
    since_ = now.time_since_epoch().count();
  }
  /// A short piece is no measure for a long one: only those that train are `measured`.
  void end(moment now, bool measured) {
    const auto took = now.time_since_epoch().count() - since_;
    if (measured && took >= longest_)
      longest_ = took + 1; // a piece that took no time has ended, too
    changed_ = now.time_since_epoch().count();
    since_ = 0;
  }

  /// Call it after the whole process stood still: the piece under way counts from now, and the
  /// longest piece is forgotten. Any thread.
  void restart(moment now) {
    if (auto begin = since_.load(); begin != 0) // else the piece has ended
      since_.compare_exchange_strong(begin, now.time_since_epoch().count());
    longest_ = 0;
  }

  /// When the piece under way began.
  std::optional<moment> since() const {
    const auto begin = since_.load();
    return begin == 0 ? std::nullopt : std::optional{moment{moment::duration{begin}}};
  }
  /// The piece under way, or the last one. A reader may already see the next piece.
  work_name what() const { return {kind_, step_, object_}; }
  /// When a piece ended last.
  moment changed() const { return moment{moment::duration{changed_}}; }
  /// The longest measured piece that ended; zero when none has.
  moment::duration longest() const { return moment::duration{longest_}; }

private:
  std::atomic<moment::rep> since_{0};
  std::atomic<trace_kind> kind_{trace_kind::slice};
  std::atomic<uint64_t> step_{0};
  std::atomic<uint64_t> object_{0};
  std::atomic<moment::rep> changed_{0};
  std::atomic<moment::rep> longest_{0};
};

/// A piece of work, from here to the end of the scope. Without a gauge no clock is read.
class piece_of_work {
public:
  piece_of_work(work_gauge* gauge, const caf::actor_clock& clock, const work_name& what,
                bool measured)
    : gauge_(gauge), clock_(clock), measured_(measured) {
    if (gauge_)
      gauge_->begin(clock_.now(), what);
  }
  ~piece_of_work() {
    if (gauge_)
      gauge_->end(clock_.now(), measured_);
  }
  piece_of_work(const piece_of_work&) = delete;
  piece_of_work& operator=(const piece_of_work&) = delete;

private:
  work_gauge* gauge_;
  const caf::actor_clock& clock_;
  bool measured_;
};

} // namespace troupe
