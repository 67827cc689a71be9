// The plateau rule: from which steps on the learning rate is lower, by results (models/training/schedule.hpp).
//
// Fed with the watched loss of each evaluated version, in order. After `patience` of them in a row without an
// improvement the rate is lower from that version's step on, and the wait begins anew; the best loss stays what
// it was. It reads reduced sums only, so every run of a job decides alike.

#pragma once

#include "coordinators/job/stop_rule.hpp"
#include "models/training/schedule.hpp"

#include <cstdint>
#include <vector>

namespace troupe {

class plateau_rule {
public:
  explicit plateau_rule(const plateau_options& options = {})
    : options_(options), watch_(watching(options)) {}
  /// Goes on with what another rule had seen.
  plateau_rule(const plateau_options& options, const stop_rule& watch,
               std::vector<uint64_t> reductions)
    : options_(options),
      watch_(watching(options), watch),
      reductions_(options.patience ? std::move(reductions) : std::vector<uint64_t>{}) {}

  bool reads_results() const { return options_.patience.has_value(); }

  void observe(uint64_t version, double loss);

  /// First steps of which the rate is lower once more, rising.
  const std::vector<uint64_t>& reductions() const { return reductions_; }
  const stop_rule& watch() const { return watch_; }

  friend bool operator==(const plateau_rule&, const plateau_rule&) = default;

private:
  static stop_rule_options watching(const plateau_options& x) {
    return {std::nullopt, x.patience, x.tolerance};
  }

  plateau_options options_;
  stop_rule watch_;
  std::vector<uint64_t> reductions_;
};

} // namespace troupe
