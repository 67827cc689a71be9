#include "troupe/coordinators/run/seam_waits.hpp"

#include <algorithm>

namespace troupe {

void seam_waits::add(const replica_name& whom, std::chrono::nanoseconds time) {
  auto found = std::ranges::find(waits, whom, &seam_wait::whom);
  if (found == waits.end())
    found = waits.insert(found, {whom, 0, {}, {}});
  ++found->count;
  found->time += time;
  found->longest = std::max(found->longest, time);
}

void count_waits(std::vector<named_statistics>& figures, const std::vector<told_waits>& told) {
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
      if (std::ranges::find(told, wait.whom, &told_waits::who) == told.end())
        continue;
      auto& x = figures_of(wait.whom);
      x.last_count += wait.count;
      x.last_by += wait.time;
      x.last_by_max = std::max(x.last_by_max, wait.longest);
    }
}

} // namespace troupe
