// The stop rule: ends training by results.
//
// Fed with the watched loss of each evaluated version, in order. It stops
//   - at a loss at or below the target, or
//   - after `patience` evaluations in a row that did not beat the best loss by more than the
//     tolerance, or
//   - when a rule of the application says so.
// It reads reduced sums only, so every run of a job stops at the same version.

#pragma once

#include "models/base/names.hpp"
#include "models/training/schedule.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace troupe {

enum class stop_reason : uint8_t {
  none,
  epochs,
  steps,
  target_loss,
  patience,
  interrupt,
  diverged,
  rule,    ///< of the application
  epsilon, ///< of a private run: another round would exceed it
  record   ///< of a run that repeats another: its record ends
};

template <>
struct name_table<stop_reason> {
  static constexpr std::array entries{
    named(stop_reason::none, "none"),         named(stop_reason::epochs, "epochs"),
    named(stop_reason::steps, "steps"),       named(stop_reason::target_loss, "target-loss"),
    named(stop_reason::patience, "patience"), named(stop_reason::interrupt, "interrupt"),
    named(stop_reason::diverged, "diverged"), named(stop_reason::rule, "rule"),
    named(stop_reason::epsilon, "epsilon"),   named(stop_reason::record, "record")};
};

struct stop_rule_options {
  std::optional<double> target_loss; ///< stop once the watched loss is at or below
  std::optional<size_t> patience;    ///< stop after so many evaluations without improvement, >= 1
  double tolerance = 0;              ///< an improvement must exceed this, >= 0
  result_rule rule = result_rule::none; ///< stop when it says so (models/training/result_rule.hpp)

  bool reads_results() const {
    return target_loss.has_value() || patience.has_value() || is_added(rule);
  }
  friend bool operator==(const stop_rule_options&, const stop_rule_options&) = default;
};

class stop_rule {
public:
  explicit stop_rule(const stop_rule_options& options) : options_(options) {}
  /// Goes on with what another rule had seen.
  stop_rule(const stop_rule_options& options, const stop_rule& other)
    : stop_rule(options, other.best_loss_, other.best_version_, other.waited_) {
    seen_ = other.seen_;
  }
  stop_rule(const stop_rule_options& options, double best_loss, uint64_t best_version,
            size_t waited)
    : options_(options), best_loss_(best_loss), best_version_(best_version), waited_(waited) {}

  /// Goes on behind these, of which the other numbers tell already.
  void recall(std::vector<seen_result> seen) { seen_ = std::move(seen); }
  /// The verdict on an evaluated version: none, target_loss, patience or rule.
  stop_reason observe(uint64_t version, double loss);
  /// The verdict as it stands, when `last_loss` was the last one.
  stop_reason verdict(double last_loss) const;

  double best_loss() const { return best_loss_; }
  uint64_t best_version() const { return best_version_; }
  size_t evaluations_without_improvement() const { return waited_; }

  friend bool operator==(const stop_rule&, const stop_rule&) = default;

private:
  stop_rule_options options_;
  double best_loss_ = std::numeric_limits<double>::infinity();
  uint64_t best_version_ = 0;
  size_t waited_ = 0;
  std::vector<seen_result> seen_; ///< for a rule of the application
};

// The plateau rule: from which steps on the learning rate is lower, by results (models/training/schedule.hpp).
//
// Fed with the watched loss of each evaluated version, in order. After `patience` of them in a row without an
// improvement, or when a rule of the application says so, the rate is lower from that version's step on, and the wait begins anew; the best loss stays what
// it was. It reads reduced sums only, so every run of a job decides alike.

class plateau_rule {
public:
  explicit plateau_rule(const plateau_options& options = {})
    : options_(options), watch_(watching(options)) {}
  /// Goes on with what another rule had seen.
  plateau_rule(const plateau_options& options, const stop_rule& watch,
               std::vector<uint64_t> reductions)
    : options_(options),
      watch_(watching(options), watch),
      reductions_(options.is_on() ? std::move(reductions) : std::vector<uint64_t>{}) {}

  bool reads_results() const { return options_.is_on(); }

  void observe(uint64_t version, double loss);

  /// First steps of which the rate is lower once more, rising.
  const std::vector<uint64_t>& reductions() const { return reductions_; }
  const stop_rule& watch() const { return watch_; }

  friend bool operator==(const plateau_rule&, const plateau_rule&) = default;

private:
  static stop_rule_options watching(const plateau_options& x) {
    return {std::nullopt, x.patience, x.tolerance, x.rule};
  }

  plateau_options options_;
  stop_rule watch_;
  std::vector<uint64_t> reductions_;
};

} // namespace troupe
