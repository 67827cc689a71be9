#include "actors/run/trainer_records.hpp"

#include <chrono>

namespace troupe {

namespace {

trainer_record record_of(const named_statistics& one) {
  const auto& x = one.figures;
  const auto ms = [](std::chrono::nanoseconds time) {
    return std::chrono::duration<double, std::milli>(time).count();
  };
  trainer_record result{one.who.process,   one.who.index,
                        x.result_count,    x.applied_count,
                        x.discarded_count, x.refused_count,
                        x.lost_count,      x.last_count,
                        ms(x.last_by),     ms(x.last_by_max),
                        ms(x.waited),      ms(x.computed),
                        ms(x.network),     {},
                        one.partition};
  result.lags.assign(x.lags.begin(), x.lags.end());
  return result;
}

} // namespace

std::vector<trainer_record> records_of(const trainer_figures& figures) {
  std::vector<trainer_record> result;
  for (const auto& one : figures.replicas)
    result.push_back(record_of(one));
  return result;
}

} // namespace troupe
