// The staleness rule: what happens to gradients when trainers do not wait for each other.
//
// A trainer pulls the parameters, computes a gradient, hands it in. Meanwhile others moved the
// parameters: the gradient is late by some number of *their* updates, its staleness. The modes
// differ in which trainers wait and what lateness costs:
//
//   asynchronous      no trainer waits, everything is applied as it arrives (Recht et al. 2011; Dean
//                     et al. 2012)
//   bounded           a trainer that would begin its gradient number c while another has not
//                     finished its number c - s - 1 waits: it reads all updates older than s
//                     clocks (stale synchronous parallel: Ho et al. 2013). s = 0: all in step
//   half_synchronous  the first k gradients of n make the step (backup workers: Chen et al. 2016);
//                     late ones count into the next step, or are dropped
//   lag               with n trainers and ratio r, a gradient is discarded when T = max(1, floor(n
//                     r)) or more updates of *others* landed since its trainer pulled
//
// Of the last, three things are certain here. With one trainer nothing is discarded. A trainer's
// own updates never count against it. And no trainer starves: after d = `discards_in_row_max`
// discards in a row its next gradient is applied whatever its lag. So of any d + 1 gradients in a row
// at least one counts (d = 1: a trainer that is twice as slow as the others loses at most half).
//
// Instead of discarding, a late gradient can take a smaller step (`scaling`), or be corrected
// (models/merging/delay_compensation.hpp). None of the modes gives the same bits twice: what is
// applied depends on the order of arrival.
//
// Each pull opens a ticket; a gradient closes the one it was computed for. So nothing is applied
// twice, and what a lost trainer sends later is refused.

#pragma once

#include "models/base/names.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace troupe {

/// When updates are applied. In synchronous training nothing is stale: the rule takes it for asynchronous.
enum class consistency_kind : uint8_t { synchronous, asynchronous, bounded, half_synchronous, lag };

template <>
struct name_table<consistency_kind> {
  static constexpr std::array entries{named(consistency_kind::synchronous, "synchronous"),
                                      named(consistency_kind::asynchronous, "asynchronous"),
                                      named(consistency_kind::bounded, "staleness"),
                                      named(consistency_kind::half_synchronous, "first"),
                                      named(consistency_kind::lag, "lag")};
};

/// The factor on the step of a gradient that is late by tau updates.
enum class step_scaling : uint8_t {
  none,      ///< 1
  inverse,   ///< 1 / tau, 1 for tau < 2 (Zhang et al. 2016, "Staleness-aware async-SGD")
  polynomial ///< (1 + tau)^-a (Xie, Koyejo & Gupta 2019, "Asynchronous federated optimization")
};

template <>
struct name_table<step_scaling> {
  static constexpr std::array entries{named(step_scaling::none, "none"),
                                      named(step_scaling::inverse, "inverse"),
                                      named(step_scaling::polynomial, "polynomial")};
};

/// Above all lag ratios: with so many updates of others for each trainer nothing is ever late.
inline constexpr double lag_ratio_limit = 1e6;

struct staleness_options {
  consistency_kind mode = consistency_kind::asynchronous;
  size_t staleness_max = 0; ///< bounded: s clocks. Twice as much: half the waiting, older gradients
  size_t first_count = 1;   ///< half_synchronous: k in [1, n]; n shrinks when trainers are lost
  bool drop_late = false;   ///< half_synchronous: late gradients are dropped, not counted next
  double lag_ratio = 1.5;   ///< lag: r in (0, lag_ratio_limit)
  std::optional<size_t> discards_in_row_max = 1; ///< lag, drop_late: absent: no limit
  step_scaling scaling = step_scaling::none;
  double scaling_power = 0.5; ///< polynomial: a in [0, 10]

  friend bool operator==(const staleness_options&, const staleness_options&) = default;
};

enum class staleness_verdict : uint8_t { proceed, wait, refuse };

/// Why.
enum class staleness_reason : uint8_t {
  none,
  too_far_ahead,  ///< wait: another trainer is more than s clocks behind
  step_open,      ///< wait: it has its part in the step, which others have yet to fill
  held,           ///< wait: the gradient is kept until the step is full
  late,           ///< refuse: too many updates of others, or the step is over
  unknown_ticket, ///< refuse: its gradient was handed in already, or its trainer was lost
  not_a_trainer,  ///< refuse: no such trainer, or it is lost
  no_parameters   ///< refuse: there is no main model yet
};

template <>
struct name_table<staleness_reason> {
  static constexpr std::array entries{
    named(staleness_reason::none, "none"),
    named(staleness_reason::too_far_ahead, "another trainer is too far behind"),
    named(staleness_reason::step_open, "the step waits for other trainers"),
    named(staleness_reason::held, "the gradient is kept until its step is full"),
    named(staleness_reason::late, "the gradient is too late"),
    named(staleness_reason::unknown_ticket, "this gradient was handed in already"),
    named(staleness_reason::not_a_trainer, "no such trainer takes part"),
    named(staleness_reason::no_parameters, "no parameters are set yet")};
};

/// A gradient that moves the model.
struct applied_gradient {
  size_t trainer = 0;
  uint64_t staleness = 0;

  friend bool operator==(const applied_gradient&, const applied_gradient&) = default;
};

struct staleness_decision {
  staleness_verdict verdict = staleness_verdict::proceed;
  staleness_reason reason = staleness_reason::none;
  uint64_t ticket = 0;         ///< of a pull that proceeds; hand it back with the gradient
  uint64_t staleness = 0;      ///< of a gradient: updates of others since its pull
  double step_scale = 1;       ///< of a gradient that is applied or held
  bool completes_step = false; ///< half_synchronous: apply what is held, now
  /// That move the model by this, in the order they came: the gradient itself, or all of its step,
  /// once that is full.
  std::vector<applied_gradient> applied{};

  friend bool operator==(const staleness_decision&, const staleness_decision&) = default;
};

/// What became of a trainer's gradients. One that is held is neither applied nor discarded yet: if
/// training ends before its step is full, it never is.
struct trainer_account {
  uint64_t applied_count = 0;
  uint64_t discarded_count = 0;
  uint64_t discards_in_row = 0;
  uint64_t discards_in_row_max = 0; ///< ever
  uint64_t staleness_max = 0;       ///< of applied ones

  friend bool operator==(const trainer_account&, const trainer_account&) = default;
};

class staleness_rule {
public:
  /// Throws std::invalid_argument for no trainers or options out of range.
  staleness_rule(const staleness_options& options, size_t trainer_count);

  /// A trainer wants parameters. `proceed` with a ticket, the same one until its gradient came: a
  /// pull may come twice. `wait`: `released` will name it.
  staleness_decision on_pull(size_t trainer);

  /// A trainer's gradient is here: `proceed` applies it now, `wait` keeps it for its step.
  staleness_decision on_gradient(size_t trainer, uint64_t ticket);

  /// A trainer's gradient is here and of no use (not finite, another size): its ticket is closed,
  /// its clock goes on, nothing is counted as an update.
  staleness_decision on_useless(size_t trainer, uint64_t ticket);

  /// A trainer is gone, or has no rows left: no trainer waits for it. `completes_step` if the step
  /// was waiting for it alone.
  staleness_decision on_lost(size_t trainer);

  /// It is there again, or is new: the next index after the last. Its clock is that of the slowest,
  /// so that neither waits for what it missed. Throws std::out_of_range for any later index.
  void on_joined(size_t trainer);

  /// half_synchronous: so many gradients of the open step are held from an earlier life of the run.
  /// They count as places of it and on no trainer's account.
  void on_restored(size_t held_count);

  /// Trainers that waited and may pull now, ascending; each is named once.
  std::vector<size_t> released();

  const trainer_account& account(size_t trainer) const { return trainers_.at(trainer).account; }
  uint64_t update_count() const { return update_count_; } ///< gradients, or half_synchronous: steps
  size_t living_count() const;
  size_t held_count() const { return restored_count_ + held_.size(); }
  /// half_synchronous: gradients that make a step, with the trainers that are left.
  size_t first_count() const { return std::min(options_.first_count, living_count()); }
  /// Gradients this trainer has handed in.
  uint64_t clock(size_t trainer) const { return trainers_.at(trainer).finished_count; }
  /// The clock of the slowest living trainer; 0 when none lives.
  uint64_t slowest_clock() const;
  /// Updates of others that make a gradient too late, with that many trainers.
  uint64_t lag_limit(size_t trainer_count) const;

  friend bool operator==(const staleness_rule&, const staleness_rule&) = default;

private:
  struct trainer_state {
    bool lives = true;
    bool waits = false;
    std::optional<uint64_t> open_ticket{};
    uint64_t updates_at_pull = 0;
    std::optional<uint64_t> step_of_part{}; ///< half_synchronous: the last step it has a part in
    uint64_t finished_count = 0;
    trainer_account account{};

    friend bool operator==(const trainer_state&, const trainer_state&) = default;
  };

  staleness_reason reason_to_wait(const trainer_state& x) const;
  std::optional<staleness_reason> problem(size_t trainer, uint64_t ticket) const;
  bool too_late(const trainer_state& x, uint64_t staleness) const;
  void close_ticket(trainer_state& x);
  void take_in(size_t trainer, staleness_decision& decision);
  bool is_step_full() const;
  /// All that is held moves the model.
  std::vector<applied_gradient> apply_held();
  double scale_of(uint64_t staleness) const;

  staleness_options options_;
  std::vector<trainer_state> trainers_;
  uint64_t next_ticket_ = 1;
  uint64_t update_count_ = 0;
  std::vector<applied_gradient> held_; ///< of the open step
  size_t restored_count_ = 0;          ///< of those, from an earlier life: no trainer's
};

} // namespace troupe
