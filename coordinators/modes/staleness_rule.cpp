#include "coordinators/modes/staleness_rule.hpp"

#include "models/math/elementary.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace troupe {

namespace {

void require(bool holds, const char* what) {
  if (!holds)
    throw std::invalid_argument(std::string{"staleness rule: "} + what);
}

staleness_decision decision_of(staleness_verdict verdict, staleness_reason reason) {
  staleness_decision result;
  result.verdict = verdict;
  result.reason = reason;
  return result;
}

} // namespace

staleness_rule::staleness_rule(const staleness_options& options, size_t trainer_count)
  : options_(options), trainers_(trainer_count) {
  require(trainer_count >= 1, "there are no trainers");
  require(options.mode != consistency_kind::half_synchronous ||
            (options.first_count >= 1 && options.first_count <= trainer_count),
          "first_count must be between 1 and the number of trainers");
  require(options.lag_ratio > 0 && options.lag_ratio < lag_ratio_limit,
          "lag_ratio must be above 0 and below a million");
  require(options.scaling_power >= 0 && options.scaling_power <= 10,
          "scaling_power must be between 0 and 10");
}

size_t staleness_rule::living_count() const {
  return static_cast<size_t>(std::ranges::count_if(trainers_, &trainer_state::lives));
}

uint64_t staleness_rule::slowest_clock() const {
  auto slowest = std::numeric_limits<uint64_t>::max();
  for (const auto& x : trainers_)
    if (x.lives)
      slowest = std::min(slowest, x.finished_count);
  return slowest == std::numeric_limits<uint64_t>::max() ? 0 : slowest;
}

uint64_t staleness_rule::lag_limit(size_t trainer_count) const {
  const double limit = std::floor(static_cast<double>(trainer_count) * options_.lag_ratio);
  return limit < 1 ? 1 : static_cast<uint64_t>(limit);
}

staleness_reason staleness_rule::reason_to_wait(const trainer_state& x) const {
  using enum staleness_reason;
  if (options_.mode == consistency_kind::bounded &&
      x.finished_count > slowest_clock() + options_.staleness_max)
    return too_far_ahead;
  if (options_.mode == consistency_kind::half_synchronous && x.step_of_part == update_count_)
    return step_open;
  return none;
}

staleness_decision staleness_rule::on_pull(size_t trainer) {
  if (trainer >= trainers_.size() || !trainers_[trainer].lives)
    return decision_of(staleness_verdict::refuse, staleness_reason::not_a_trainer);
  auto& x = trainers_[trainer];
  if (!x.open_ticket) {
    const auto reason = reason_to_wait(x);
    x.waits = reason != staleness_reason::none;
    if (x.waits)
      return decision_of(staleness_verdict::wait, reason);
    x.open_ticket = next_ticket_++;
    x.updates_at_pull = update_count_;
  }
  staleness_decision result;
  result.ticket = *x.open_ticket;
  return result;
}

std::optional<staleness_reason> staleness_rule::problem(size_t trainer, uint64_t ticket) const {
  if (trainer >= trainers_.size() || !trainers_[trainer].lives)
    return staleness_reason::not_a_trainer;
  if (trainers_[trainer].open_ticket != ticket)
    return staleness_reason::unknown_ticket;
  return std::nullopt;
}

bool staleness_rule::too_late(const trainer_state& x, uint64_t staleness) const {
  const auto living = living_count();
  if (living == 1) // no other trainer moves the model
    return false;
  if (options_.discards_in_row_max && x.account.discards_in_row >= *options_.discards_in_row_max)
    return false;
  if (options_.mode == consistency_kind::lag)
    return staleness >= lag_limit(living);
  return options_.mode == consistency_kind::half_synchronous && options_.drop_late && staleness > 0;
}

void staleness_rule::close_ticket(trainer_state& x) {
  x.open_ticket.reset();
  ++x.finished_count;
}

staleness_decision staleness_rule::on_gradient(size_t trainer, uint64_t ticket) {
  if (const auto reason = problem(trainer, ticket))
    return decision_of(staleness_verdict::refuse, *reason);
  auto& x = trainers_[trainer];
  close_ticket(x);
  staleness_decision result;
  // Between a trainer's pull and its gradient none of its own is applied: all updates are others'.
  result.staleness = update_count_ - x.updates_at_pull;
  if (too_late(x, result.staleness)) {
    auto& account = x.account;
    ++account.discarded_count;
    account.discards_in_row_max = std::max(account.discards_in_row_max, ++account.discards_in_row);
    result.verdict = staleness_verdict::refuse;
    result.reason = staleness_reason::late;
    return result;
  }
  take_in(trainer, result);
  return result;
}

void staleness_rule::take_in(size_t trainer, staleness_decision& decision) {
  auto& x = trainers_[trainer];
  x.account.discards_in_row = 0;
  decision.step_scale = scale_of(decision.staleness);
  held_.push_back({trainer, decision.staleness});
  if (options_.mode == consistency_kind::half_synchronous) {
    // A late one fills a place of this step, but its trainer may still bring a fresh one.
    if (decision.staleness == 0)
      x.step_of_part = update_count_;
    decision.completes_step = is_step_full();
    if (!decision.completes_step) {
      decision.verdict = staleness_verdict::wait;
      decision.reason = staleness_reason::held;
      return;
    }
  }
  decision.applied = apply_held();
}

bool staleness_rule::is_step_full() const {
  return held_count() > 0 && held_count() >= first_count();
}

std::vector<applied_gradient> staleness_rule::apply_held() {
  ++update_count_;
  restored_count_ = 0;
  for (const auto& [trainer, staleness] : held_) {
    auto& account = trainers_[trainer].account;
    ++account.applied_count;
    account.staleness_max = std::max(account.staleness_max, staleness);
  }
  return std::exchange(held_, {});
}

double staleness_rule::scale_of(uint64_t staleness) const {
  const auto tau = static_cast<double>(staleness);
  switch (options_.scaling) {
  case step_scaling::inverse:
    return staleness < 2 ? 1 : 1 / tau;
  case step_scaling::polynomial:
    return elementary::pow(1 + tau, -options_.scaling_power);
  case step_scaling::none:
    break;
  }
  return 1;
}

staleness_decision staleness_rule::on_useless(size_t trainer, uint64_t ticket) {
  if (const auto reason = problem(trainer, ticket))
    return decision_of(staleness_verdict::refuse, *reason);
  close_ticket(trainers_[trainer]);
  return {};
}

staleness_decision staleness_rule::on_lost(size_t trainer) {
  if (trainer >= trainers_.size() || !trainers_[trainer].lives)
    return decision_of(staleness_verdict::refuse, staleness_reason::not_a_trainer);
  auto& x = trainers_[trainer];
  x.lives = false;
  x.waits = false;
  x.open_ticket.reset();
  staleness_decision result;
  result.completes_step = options_.mode == consistency_kind::half_synchronous && is_step_full();
  if (result.completes_step)
    result.applied = apply_held();
  return result;
}

void staleness_rule::on_joined(size_t trainer) {
  if (trainer == trainers_.size())
    trainers_.emplace_back().lives = false;
  auto& x = trainers_.at(trainer);
  if (x.lives)
    return;
  x.finished_count = std::max(x.finished_count, slowest_clock());
  x.lives = true;
}

void staleness_rule::on_restored(size_t held_count) {
  restored_count_ = held_count;
}

std::vector<size_t> staleness_rule::released() {
  std::vector<size_t> result;
  for (size_t i = 0; i < trainers_.size(); ++i)
    if (trainers_[i].waits && reason_to_wait(trainers_[i]) == staleness_reason::none) {
      trainers_[i].waits = false;
      result.push_back(i);
    }
  return result;
}

} // namespace troupe
