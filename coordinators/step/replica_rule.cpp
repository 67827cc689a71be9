#include "coordinators/step/replica_rule.hpp"

namespace troupe {

replica_rule::replica_rule(const timeline& plan, size_t shard_count, uint64_t start_version)
  : plan_(plan),
    announced_(shard_count, 0),
    version_(start_version),
    next_step_(start_version),
    horizon_{start_version, false} {}

bool replica_rule::announce(uint64_t version, size_t shard) {
  if (shard >= announced_.size() || announced_[shard] > version)
    return false;
  announced_[shard] = version + 1;
  return true;
}

void replica_rule::set_horizon(const horizon_rule& horizon) {
  horizon_ = horizon;
  held_ = false;
}

uint64_t replica_rule::hold() {
  held_ = true;
  return next_step_;
}

bool replica_rule::owns(uint64_t version) const {
  return std::ranges::all_of(announced_, [=](uint64_t count) { return count > version; });
}

bool replica_rule::evaluation_due() const {
  return plan_.evaluates(version_) || (horizon_.final && version_ == horizon_.version);
}

replica_rule::action replica_rule::next() {
  if (!owns(version_))
    return action::wait;
  if (next_step_ > version_ && owns(version_ + 1)) {
    ++version_;
    evaluated_ = false;
  }
  if (has_to_evaluate()) {
    evaluated_ = true;
    return action::evaluate;
  }
  if (held_ || version_ >= horizon_.version || next_step_ > version_)
    return action::wait;
  ++next_step_;
  return action::compute;
}

} // namespace troupe
