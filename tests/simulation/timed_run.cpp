#include "troupe/tests/simulation/timed_run.hpp"

#include "troupe/coordinators/job/training_modes.hpp"

#include <stdexcept>

namespace troupe::simulation {

namespace {

/// Rows that a replica computes before others hear of it.
size_t rows_at_a_time(const job& resolved) {
  const auto& training = resolved.training;
  if (!has_keeper(training))
    return training.batch_size / *training.replicas;
  if (training.strategy == strategy_kind::parameters)
    return training.batch_size / *training.members * *training.local_steps;
  return training.batch_size;
}

kept_options options_of(const job& resolved, const std::vector<duration>& row_times) {
  std::vector<duration> times;
  for (const auto each : row_times)
    times.push_back(each * rows_at_a_time(resolved));
  kept_options options;
  if (has_keeper(resolved.training))
    options.takes = [times](uint64_t seat, uint64_t) { return times.at(seat); };
  else
    options.step_times = times;
  return options;
}

} // namespace

timed_run train_timed(caf::actor_system& system, const job& x,
                      const std::vector<duration>& row_times) {
  const auto prepared = prepare(x);
  world here{system, 1};
  kept_company run{here, prepared, options_of(prepared.resolved, row_times)};
  here.run([&] { return run.finished().has_value(); }, here.now() + std::chrono::hours{1});
  if (!run.finished() || run.finished()->failed)
    throw std::runtime_error("training does not end well");
  return {*run.finished(),
          has_keeper(prepared.resolved.training) ? run.figures() : trainer_figures{}};
}

} // namespace troupe::simulation
