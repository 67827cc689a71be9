#include "coordinators/run/slow_watch.hpp"

#include <algorithm>

namespace troupe {

namespace {

/// What happened to one trainer between two samples.
struct span_of_work {
  replica_name who;
  uint64_t results = 0;
  uint64_t last = 0;
  double last_by = 0; ///< seconds
  double computed = 0;

  double computed_each() const { return computed / static_cast<double>(results); }
};

double seconds_of(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

std::vector<span_of_work> between(const std::vector<named_statistics>& before,
                                  const std::vector<named_statistics>& after) {
  std::vector<span_of_work> result;
  for (const auto& x : after) {
    const auto old = std::ranges::find(before, x.who, &named_statistics::who);
    if (old == before.end() || x.figures.result_count <= old->figures.result_count)
      continue;
    const auto& a = old->figures;
    const auto& b = x.figures;
    result.push_back({x.who, b.result_count - a.result_count, b.last_count - a.last_count,
                      seconds_of(b.last_by - a.last_by), seconds_of(b.computed - a.computed)});
  }
  return result;
}

/// The share of its lateness that its longer computing has to explain.
constexpr double explained_min = 0.5;

/// 0 when there are no others, they did not compute, or its computing is not why it is late.
double computing_ratio(const std::vector<span_of_work>& all, const span_of_work& one) {
  std::vector<double> others;
  for (const auto& x : all)
    if (x.who != one.who)
      others.push_back(x.computed_each());
  if (others.empty())
    return 0;
  const auto middle = others.begin() + static_cast<std::ptrdiff_t>(others.size() / 2);
  std::ranges::nth_element(others, middle);
  const auto longer = (one.computed_each() - *middle) * static_cast<double>(one.results);
  return *middle > 0 && longer >= explained_min * one.last_by ? one.computed_each() / *middle : 0;
}

} // namespace

// Counts that go back belong to another life.
void slow_watch::on_figures(const std::vector<named_statistics>& all, moment now) {
  if (!is_due(now))
    return;
  const auto went_back = [&](const named_statistics& x) {
    const auto old = std::ranges::find(samples_.back().all, x.who, &named_statistics::who);
    return old != samples_.back().all.end() && x.figures.result_count < old->figures.result_count;
  };
  if (!samples_.empty() && std::ranges::any_of(all, went_back))
    samples_.clear();
  samples_.push_back({now, all});
  while (samples_.size() > 2 && now - samples_[1].at >= window)
    samples_.pop_front();
}

std::optional<slow_trainer> slow_watch::slow() const {
  if (samples_.empty() || samples_.back().at - samples_.front().at < window)
    return std::nullopt;
  const auto all = between(samples_.front().all, samples_.back().all);
  if (all.size() < 2)
    return std::nullopt;
  const auto time = seconds_of(samples_.back().at - samples_.front().at);
  const auto steps = std::ranges::max_element(all, {}, &span_of_work::results)->results;
  const auto& worst = *std::ranges::max_element(all, {}, &span_of_work::last_by);
  double late_of_all = 0;
  for (const auto& x : all)
    late_of_all += x.last_by;
  if (steps < steps_min || worst.last_by < late_share_min * late_of_all ||
      worst.last_by < waited_share_min * time)
    return std::nullopt;
  return slow_trainer{worst.who,
                      steps,
                      worst.last,
                      worst.last_by / time,
                      1e3 * worst.last_by / static_cast<double>(worst.last),
                      computing_ratio(all, worst)};
}

} // namespace troupe
