#include "coordinators/run/replica_statistics.hpp"

#include <algorithm>

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
    x.network = {}; // from outside it cannot be told from waits for pieces
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

} // namespace troupe
