#include "coordinators/job/stop_rule.hpp"

#include "models/kinds/added_tables.hpp"

#include <algorithm>

namespace troupe {

stop_reason stop_rule::observe(uint64_t version, double loss) {
  // Written so that a NaN is no improvement.
  if (loss < best_loss_ - options_.tolerance) {
    best_loss_ = loss;
    best_version_ = version;
    waited_ = 0;
  } else {
    ++waited_;
  }
  if (is_added(options_.rule))
    seen_.push_back({version, loss});
  return verdict(loss);
}

stop_reason stop_rule::verdict(double last_loss) const {
  if (options_.target_loss && last_loss <= *options_.target_loss)
    return stop_reason::target_loss;
  if (options_.patience && waited_ >= *options_.patience)
    return stop_reason::patience;
  if (is_added(options_.rule) && !seen_.empty() && result_rules().made(options_.rule).fires(seen_))
    return stop_reason::rule;
  return stop_reason::none;
}

namespace {

/// A rate that much lower moves no parameter: the steps are remembered and sent, and come to an end.
constexpr double least_factor = 1e-30;

} // namespace

void plateau_rule::observe(uint64_t version, double loss) {
  if (!options_.is_on() || watch_.observe(version, loss) == stop_reason::none)
    return;
  watch_ = stop_rule{watching(options_), watch_.best_loss(), watch_.best_version(), 0};
  reductions_.push_back(version);
  if (plateau_factor(options_, reductions_, version) < std::max(options_.minimum, least_factor))
    reductions_.pop_back();
}

} // namespace troupe
