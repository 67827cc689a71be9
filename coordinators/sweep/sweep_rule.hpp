// Sweep rule: which trial of a search runs next, and which are given up.
//
// A trial is a job of its own. All are judged at rungs: numbers of epochs, the last one the full length. A
// rung decides when all its trials stand there, so what comes of a search depends on no order and no speed:
//
//   rung 0: all trials --all there--> the best third goes on to rung 1 --all there--> .. --> the last rung
//   (successive halving; Jamieson & Talwalkar 2016, with a factor of `keep_one_of`)
//
// Without halving there is one rung. Equal losses go by the trial's number, and a trial without a loss (it
// failed or diverged) comes after all that have one, and never goes on.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace troupe {

struct sweep_shape {
  size_t trial_count = 0;
  std::vector<uint64_t> rungs; ///< epochs, rising; at least one
  size_t keep_one_of = 3;      ///< trials that go on: a rung's number divided by this, rounded up

  friend bool operator==(const sweep_shape&, const sweep_shape&) = default;
};

/// Epochs for a full length of E: .., E/9, E/3, E, each rounded up; as many as leave one trial at the last, none
/// below one epoch. Throws std::invalid_argument for a factor below two.
std::vector<uint64_t> halving_rungs(size_t trial_count, uint64_t epochs, size_t keep_one_of);

enum class trial_state : uint8_t { waiting, running, standing, dropped, done, failed };

class sweep_rule {
public:
  /// Throws std::invalid_argument for a shape without trials or rungs.
  explicit sweep_rule(sweep_shape shape);

  /// The waiting trial of the lowest number, to be trained up to `rung()`; nothing: none may start now.
  std::optional<size_t> next() const;
  void on_started(size_t trial) { at(trial).state = trial_state::running; }
  /// It was stopped on its way: it waits again.
  void on_stopped(size_t trial) { at(trial).state = trial_state::waiting; }
  /// It stands at the rung. Nothing, or what is not finite: it has no loss.
  void on_reached(size_t trial, std::optional<double> loss);
  void on_failed(size_t trial);

  /// The rung under way, and its epochs.
  size_t rung() const { return rung_; }
  uint64_t epochs() const { return shape_.rungs[rung_]; }
  bool is_finished() const;

  trial_state state(size_t trial) const { return trials_.at(trial).state; }
  /// At the rung where it stands, or was left.
  std::optional<double> loss(size_t trial) const { return trials_.at(trial).loss; }
  /// The best first: by the rung reached, then by loss.
  std::vector<size_t> ranking() const;

  friend bool operator==(const sweep_rule&, const sweep_rule&) = default;

private:
  struct entry {
    trial_state state = trial_state::waiting;
    std::optional<double> loss;
    size_t rung = 0; ///< the highest it was to reach

    friend bool operator==(const entry&, const entry&) = default;
  };
  entry& at(size_t index) { return trials_.at(index); }
  /// When nobody of the rung waits or runs any more.
  void decide();

  sweep_shape shape_;
  std::vector<entry> trials_;
  size_t rung_ = 0;
};

} // namespace troupe
