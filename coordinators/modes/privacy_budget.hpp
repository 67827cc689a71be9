// The privacy budget: how much the releases of a run have spent, and whether there may be another.
//
// Every release that ever left the run counts, in any of its lives: also those that a roll-back made
// useless, and attempts at a round that was made again.

#pragma once

#include "models/privacy/accountant.hpp"

#include <cstdint>
#include <optional>

namespace troupe {

struct privacy_budget_options {
  double delta = 1e-5;
  std::optional<double> epsilon; ///< that all releases together may reach; absent: any
  release_kind kind;             ///< of those to come

  friend bool operator==(const privacy_budget_options&, const privacy_budget_options&) = default;
};

class privacy_budget {
public:
  explicit privacy_budget(const privacy_budget_options& options)
    : options_(options), accountant_(options.delta) {}

  /// A release that was made.
  void add(const release_kind& kind) {
    accountant_.add(kind);
    ++count_;
  }

  uint64_t count() const { return count_; }
  double epsilon() const { return accountant_.epsilon(); }
  /// With one more of those to come.
  double next_epsilon() const {
    auto next = accountant_;
    next.add(options_.kind);
    return next.epsilon();
  }
  /// One more would be too much.
  bool is_spent() const { return options_.epsilon && next_epsilon() > *options_.epsilon; }
  const privacy_budget_options& options() const { return options_; }

private:
  privacy_budget_options options_;
  privacy_accountant accountant_;
  uint64_t count_ = 0;
};

} // namespace troupe
