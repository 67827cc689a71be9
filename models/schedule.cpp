#include "troupe/models/schedule.hpp"

#include "troupe/models/elementary.hpp"

#include <algorithm>
#include <stdexcept>

namespace troupe {

namespace {

void require(bool holds, const char* what) {
  if (!holds)
    throw std::invalid_argument(std::string{"schedule: "} + what);
}

double step_factor(const schedule_options& options, uint64_t t) {
  require(options.factor > 0 && options.factor <= 1, "factor must be in (0, 1]");
  return elementary::power(options.factor, t / options.steps);
}

double cosine_factor(const schedule_options& options, uint64_t t) {
  require(options.minimum >= 0 && options.minimum <= 1, "minimum must be in [0, 1]");
  const double progress =
    static_cast<double>(std::min(t, options.steps)) / static_cast<double>(options.steps);
  return options.minimum + (1 - options.minimum) * (1 + elementary::cos_pi(progress)) / 2;
}

double warmup_factor(const schedule_options& options, uint64_t t) {
  require(options.start >= 0 && options.start <= 1, "start must be in [0, 1]");
  require(options.then.size() <= 1, "at most one schedule may follow a warm-up");
  if (t < options.steps)
    return options.start +
           (1 - options.start) * static_cast<double>(t) / static_cast<double>(options.steps);
  return options.then.empty() ? 1 : schedule_factor(options.then.front(), t - options.steps);
}

} // namespace

double schedule_factor(const schedule_options& options, uint64_t t) {
  require(options.steps >= 1, "steps must be at least 1");
  switch (options.kind) {
  case schedule_kind::constant:
    return 1;
  case schedule_kind::step:
    return step_factor(options, t);
  case schedule_kind::cosine:
    return cosine_factor(options, t);
  case schedule_kind::warmup:
    return warmup_factor(options, t);
  }
  throw std::invalid_argument("schedule: unknown kind");
}

} // namespace troupe
