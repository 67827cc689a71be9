#include "coordinators/run/replica_statistics.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace troupe {

size_t replica_statistics::index_of(const replica_name& who) {
  const auto found = std::ranges::find(names_, who);
  if (found != names_.end())
    return static_cast<size_t>(found - names_.begin());
  statistics_.on_joined(names_.size());
  names_.push_back(who);
  return names_.size() - 1;
}

void replica_statistics::on_places(const std::vector<place>& places, moment now) {
  take_arrivals();
  const auto is_named = [&](size_t index) {
    return std::ranges::any_of(places, [&](const place& x) { return x.who == names_[index]; });
  };
  for (const auto& before : places_)
    if (!is_named(before.index))
      statistics_.on_lost(before.index, now);
  places_.clear();
  for (const auto& x : places)
    places_.push_back({index_of(x.who), x.computes, x.group});
}

void replica_statistics::on_step_begins(moment now) {
  for (const auto& x : places_)
    if (x.computes)
      statistics_.on_sent(x.index, now);
}

void replica_statistics::on_part(size_t position, moment now, std::chrono::nanoseconds computed) {
  if (position >= places_.size())
    return;
  const auto& who = places_[position];
  std::erase_if(arrivals_, [&](const arrival& x) { return x.group == who.group; });
  arrivals_.push_back({now, computed, who.index, who.group});
}

void replica_statistics::take_arrivals() {
  for (const auto& x : arrivals_)
    statistics_.on_result(x.index, x.when, x.computed);
  arrivals_.clear();
}

void replica_statistics::on_step_complete(moment now) {
  take_arrivals();
  statistics_.on_barrier(now);
}

std::vector<named_statistics> replica_statistics::figures() const {
  std::vector<named_statistics> result;
  for (size_t i = 0; i < names_.size(); ++i)
    result.push_back({names_[i], statistics_.of(i)});
  return result;
}

void boundary_waits::add(const replica_name& whom, std::chrono::nanoseconds time) {
  auto found = std::ranges::find(waits, whom, &boundary_wait::whom);
  if (found == waits.end())
    found = waits.insert(found, {whom, 0, {}, {}});
  ++found->count;
  found->time += time;
  found->longest = std::max(found->longest, time);
}

void count_waits(std::vector<named_statistics>& figures, const std::vector<reported_waits>& told) {
  const auto figures_of = [&](const replica_name& who) -> trainer_statistics& {
    const auto found = std::ranges::find(figures, who, &named_statistics::who);
    return (found != figures.end() ? *found : figures.emplace_back(named_statistics{who, {}}))
      .figures;
  };
  for (const auto& one : told) {
    auto& x = figures_of(one.who);
    x.result_count = one.steps;
    x.computed = one.waits.computed;
    x.network = {}; // from outside it looks like waits for pieces
    for (const auto& wait : one.waits.waits)
      x.waited += wait.time;
  }
  for (const auto& one : told)
    for (const auto& wait : one.waits.waits) {
      if (std::ranges::find(told, wait.whom, &reported_waits::who) == told.end())
        continue;
      auto& x = figures_of(wait.whom);
      x.last_count += wait.count;
      x.last_by += wait.time;
      x.last_by_max = std::max(x.last_by_max, wait.longest);
    }
}

using std::chrono::nanoseconds;

size_t lag_class(uint64_t lag) {
  return std::min<size_t>(static_cast<size_t>(std::bit_width(lag)), lag_class_count - 1);
}

void training_statistics::on_waits(size_t trainer, moment now) {
  auto& x = trainers_.at(trainer);
  x.waits_since = x.waits_since.value_or(now);
}

void training_statistics::on_sent(size_t trainer, moment now) {
  auto& x = trainers_.at(trainer);
  x.sent = now;
  if (x.waits_since)
    x.figures.waited += std::max(nanoseconds{0}, nanoseconds{now - *x.waits_since});
  x.waits_since.reset();
}

void training_statistics::on_result(size_t trainer, moment now, nanoseconds computed) {
  auto& x = trainers_.at(trainer);
  ++x.figures.result_count;
  x.figures.computed += computed;
  if (x.sent)
    x.figures.network += std::max(nanoseconds{0}, now - *x.sent - computed);
  x.sent.reset();
  std::erase_if(arrivals_, [&](const arrival& a) { return a.trainer == trainer; });
  arrivals_.push_back({trainer, now});
}

void training_statistics::on_barrier(moment now) {
  ++barrier_count_;
  for (const auto& a : arrivals_)
    trainers_[a.trainer].figures.waited += std::max(nanoseconds{0}, nanoseconds{now - a.when});
  if (arrivals_.size() >= 2) {
    const auto& last = arrivals_.back();
    auto& figures = trainers_[last.trainer].figures;
    ++figures.last_count;
    charge(figures, std::max(arrivals_.end()[-2].when, stalled_until_), last.when);
  }
  arrivals_.clear();
}

void training_statistics::charge(trainer_statistics& figures, moment begin, moment end) {
  const auto by = std::max(nanoseconds{0}, nanoseconds{end - begin});
  figures.last_by += by;
  figures.last_by_max = std::max(figures.last_by_max, by);
}

void training_statistics::on_applied(size_t trainer, uint64_t lag) {
  auto& figures = trainers_.at(trainer).figures;
  ++figures.applied_count;
  ++figures.lags[lag_class(lag)];
}

void training_statistics::on_discarded(size_t trainer, uint64_t lag) {
  auto& figures = trainers_.at(trainer).figures;
  ++figures.discarded_count;
  ++figures.lags[lag_class(lag)];
}

void training_statistics::on_refused(size_t trainer) {
  ++trainers_.at(trainer).figures.refused_count;
}

// The trainer that does the lost work again is not to blame for the time before it got it.
void training_statistics::on_lost(size_t trainer, moment now) {
  auto& x = trainers_.at(trainer);
  ++x.figures.lost_count;
  const bool had_work = x.sent.has_value();
  x.sent.reset();
  x.waits_since.reset();
  std::erase_if(arrivals_, [&](const arrival& a) { return a.trainer == trainer; });
  const bool others_work =
    std::ranges::any_of(trainers_, [](const record& one) { return one.sent.has_value(); });
  if (!had_work || others_work || arrivals_.empty())
    return;
  charge(x.figures, std::max(arrivals_.back().when, stalled_until_), now);
  stalled_until_ = now;
}

void training_statistics::on_joined(size_t trainer) {
  if (trainer > trainers_.size())
    throw std::out_of_range("training statistics: trainer " + std::to_string(trainer) +
                            " came before the one before it");
  trainers_.resize(std::max(trainers_.size(), trainer + 1));
}

} // namespace troupe
