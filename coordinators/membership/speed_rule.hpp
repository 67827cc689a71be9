// Speed rule: when slices move to other replicas because machines differ in speed.
//
// Replicas say how many slices they have computed, and how long that took by their own clock. The difference of two
// reports is a speed. A step takes as long as its slowest replica, max n_i / v_i; with slices by speed
// (coordinators/step/placement.hpp) that is the least it can be.
//
//   measured for 2 s and 20 steps --a tenth is to be gained--> again 10 s later --still so--> moved
//        ^                                                                                     |
//        +--- after 20 steps: 3 % faster, or slices are shared as before and the wait doubles
//
// A move costs the step it comes in, and machines are noisy: so nothing moves for less than a tenth, nor at the first
// sight. No placement changes a bit of the result. A replica without slices is tried with one after a minute, then after
// two, .. ten; a few steps later slices go by what it was found to be.

#pragma once

#include "coordinators/base/moment.hpp"
#include "coordinators/membership/cluster_view.hpp"
#include "coordinators/membership/view_placement.hpp"
#include "coordinators/run/replica_statistics.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

struct speed_options {
  milliseconds window{2'000}; ///< at least, of one measurement
  uint64_t steps_min = 20;    ///< likewise
  milliseconds wait_min{10'000};
  milliseconds wait_max{600'000};

  friend bool operator==(const speed_options&, const speed_options&) = default;
};

class speed_rule {
public:
  static constexpr double gain_min = 0.1;  ///< of a step's time, predicted
  static constexpr double kept_min = 0.03; ///< of it, seen

  /// `holders`: as in placement.
  explicit speed_rule(const speed_options& options = {}, row_holders holders = {})
    : options_(options),
      holders_(std::move(holders)),
      trial_wait_(trial_wait_min()),
      wait_(options.wait_min) {}

  /// A process's replicas, by index, as it reports them; `version`: that training has reached.
  void on_report(const member& who, const std::vector<computed_slices>& replicas, uint64_t version,
                 moment now);
  /// How slices are to be shared from now on; no speeds: evenly. Nothing: as it is.
  std::optional<speed_wish> due(const cluster_view& view, moment now);

private:
  struct replica {
    uint64_t incarnation = 0;
    computed_slices last;
    computed_slices before; ///< when the window began
    double speed = 0;       ///< of the last window in which it computed; 0: none
    moment measured{};
  };
  struct pace {
    moment since;
    uint64_t version = 0;
  };
  milliseconds trial_wait_min() const { return 6 * options_.wait_min; }
  void begin_window(moment now);
  /// In the window.
  double steps_per_second(moment now) const;
  bool is_long_enough(moment now) const;
  /// Speeds of the window, or from before for those that computed nothing in it.
  replica_speeds measure(const cluster_view& view, moment now);
  /// A replica that had no slices for long; nothing: there is none.
  std::optional<replica_key> trial(const cluster_view& view, moment now);

  speed_options options_;
  row_holders holders_;
  std::map<replica_key, replica> replicas_;
  uint64_t version_ = 0;
  std::optional<pace> window_;
  std::optional<moment> seen_at_; ///< when a gain was first predicted
  /// Until it is judged.
  struct move {
    view_number from;
    double pace = 0;       ///< steps a second before
    replica_speeds speeds; ///< by which slices were shared before
  };
  std::optional<move> move_;
  replica_speeds in_force_;
  bool tries_ = false;      ///< a replica has one slice, to be measured
  view_number tried_in_;    ///< the view before
  milliseconds trial_wait_; ///< since it was measured last
  moment not_before_{};     ///< no move earlier
  milliseconds wait_;       ///< after a move that brought nothing
  view_number view_;        ///< in which the window began
};

/// "left 1.00, up 0.10": processes' speeds, the fastest being 1.
std::string words_of(const replica_speeds& speeds);

} // namespace troupe
