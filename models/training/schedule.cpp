#include "models/training/schedule.hpp"

#include "models/base/require.hpp"
#include "models/math/elementary.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <utility>

namespace troupe {

namespace {

constexpr requirement require{"schedule"};

bool is_share(double value) {
  return value >= 0 && value <= 1;
}

bool uses_factor(schedule_kind kind) {
  return kind == schedule_kind::step || kind == schedule_kind::multi_step ||
         kind == schedule_kind::exponential;
}

void require_parts(const schedule_options& x) {
  if (x.kind == schedule_kind::warmup)
    require(x.then.size() <= 1, "at most one schedule may follow a warm-up");
  if (x.kind == schedule_kind::chained || x.kind == schedule_kind::sequential)
    require(!x.parts.empty(), "needs at least one part");
  if (x.kind == schedule_kind::sequential)
    require(x.milestones.size() + 1 == x.parts.size(), "needs a milestone between two parts");
  require(x.milestones.empty() || x.milestones.front() >= 1, "milestones must be at least 1");
  require(std::ranges::adjacent_find(x.milestones, std::greater_equal{}) == x.milestones.end(),
          "milestones must rise");
}

void require_ranges(const schedule_options& x) {
  require(x.steps || !counts_steps(x.kind), "steps are missing");
  require(!x.steps || *x.steps >= 1, "steps must be at least 1");
  if (uses_factor(x.kind))
    require(x.factor > 0 && x.factor <= 1, "factor must be in (0, 1]");
  if (x.kind == schedule_kind::cosine || x.kind == schedule_kind::polynomial)
    require(is_share(x.minimum), "minimum must be in [0, 1]");
  if (x.kind == schedule_kind::warmup || x.kind == schedule_kind::linear)
    require(is_share(x.start), "start must be in [0, 1]");
  if (x.kind == schedule_kind::linear)
    require(is_share(x.end), "end must be in [0, 1]");
  if (x.kind == schedule_kind::polynomial)
    require(x.power > 0 && std::isfinite(x.power), "power must be above 0");
  require_parts(x);
  for (const auto* inner : {&x.then, &x.parts})
    std::ranges::for_each(*inner, require_ranges);
}

double ratio(uint64_t a, uint64_t b) {
  return static_cast<double>(a) / static_cast<double>(b);
}

// From 0 up to 1 at `steps`, where it stays.
double progress(const schedule_options& x, uint64_t t) {
  return ratio(std::min(t, *x.steps), *x.steps);
}

// Milestones at or below t.
size_t passed_count(const schedule_options& x, uint64_t t) {
  return static_cast<size_t>(std::ranges::upper_bound(x.milestones, t) - x.milestones.begin());
}

double factor_at(const schedule_options& x, uint64_t t);

double warmup_factor(const schedule_options& x, uint64_t t) {
  if (t < *x.steps)
    return x.start + (1 - x.start) * ratio(t, *x.steps);
  return x.then.empty() ? 1 : factor_at(x.then.front(), t - *x.steps);
}

// Whole powers are exact rules; only what is left goes through logarithms.
double exponential_factor(const schedule_options& x, uint64_t t) {
  return elementary::power(x.factor, t / *x.steps) *
         elementary::pow(x.factor, ratio(t % *x.steps, *x.steps));
}

double chained_factor(const schedule_options& x, uint64_t t) {
  double result = 1;
  for (const auto& part : x.parts)
    result *= factor_at(part, t);
  return result;
}

double sequential_factor(const schedule_options& x, uint64_t t) {
  const auto i = passed_count(x, t);
  return factor_at(x.parts[i], i == 0 ? t : t - x.milestones[i - 1]);
}

double added_factor(const schedule_options& x, uint64_t t) {
  const double result = added_schedule(x.kind).factor(t, *x.steps);
  if (!std::isfinite(result) || result < 0)
    require(false, std::string{name_of(x.kind)} + " gives the factor " + std::to_string(result) +
                     " at step " + std::to_string(t) + "; expected a finite number of at least 0");
  return result;
}

double factor_at(const schedule_options& x, uint64_t t) {
  if (is_added(x.kind))
    return added_factor(x, t);
  switch (x.kind) {
  case schedule_kind::constant:
    return 1;
  case schedule_kind::step:
    return elementary::power(x.factor, t / *x.steps);
  case schedule_kind::multi_step:
    return elementary::power(x.factor, passed_count(x, t));
  case schedule_kind::linear:
    return x.start + (x.end - x.start) * progress(x, t);
  case schedule_kind::exponential:
    return exponential_factor(x, t);
  case schedule_kind::inverse_time:
    return 1 / (1 + ratio(t, *x.steps));
  case schedule_kind::inverse_square_root:
    return 1 / std::sqrt(1 + ratio(t, *x.steps));
  case schedule_kind::polynomial:
    return x.minimum + (1 - x.minimum) * elementary::pow(1 - progress(x, t), x.power);
  case schedule_kind::cosine:
    return x.minimum + (1 - x.minimum) * (1 + elementary::cos_pi(progress(x, t))) / 2;
  case schedule_kind::warmup:
    return warmup_factor(x, t);
  case schedule_kind::chained:
    return chained_factor(x, t);
  case schedule_kind::sequential:
    return sequential_factor(x, t);
  }
  throw std::invalid_argument("schedule: unknown kind");
}

// Steps that are left after `passed` ones: a schedule that never comes into force has one.
uint64_t rest_of(uint64_t run_steps, uint64_t passed) {
  return run_steps > passed ? run_steps - passed : 1;
}

void fill_parts_in_turn(schedule_options& x, uint64_t run_steps) {
  uint64_t begin = 0;
  for (size_t i = 0; i < x.parts.size(); ++i) {
    const auto end = i < x.milestones.size() ? x.milestones[i] : run_steps;
    x.parts[i] = with_steps(std::move(x.parts[i]), rest_of(end, begin));
    begin = end;
  }
}

} // namespace

schedule_options with_steps(schedule_options x, uint64_t run_steps) {
  x.kind = with_options(x.kind, x.own);
  if (!x.steps && counts_steps(x.kind) && !must_name_steps(x.kind))
    x.steps = run_steps;
  for (auto& next : x.then)
    next = with_steps(std::move(next), rest_of(run_steps, x.steps.value_or(0)));
  if (x.kind == schedule_kind::sequential)
    fill_parts_in_turn(x, run_steps);
  else
    for (auto& part : x.parts)
      part = with_steps(std::move(part), run_steps);
  return x;
}

double schedule_factor(const schedule_options& options, uint64_t t) {
  require_ranges(options);
  return factor_at(options, t);
}

double plateau_factor(const plateau_options& options, std::span<const uint64_t> reductions,
                      uint64_t t) {
  const auto passed = std::ranges::upper_bound(reductions, t) - reductions.begin();
  return elementary::power(options.factor, static_cast<uint64_t>(passed));
}

} // namespace troupe
