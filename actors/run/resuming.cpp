#include "actors/run/resuming.hpp"

#include "actors/run/job_data.hpp"
#include "actors/run/process.hpp"
#include "coordinators/job/resolve.hpp"
#include "coordinators/job/training_modes.hpp"
#include "coordinators/step/checkpoint_rule.hpp"
#include "data/text/failure.hpp"
#include "models/whole_model/whole_model_rule.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace troupe {

uint64_t checkpoint_every_of(const job& resolved) {
  if (scope_of(resolved.optimizer.kind) == optimizer_scope::solver)
    return 0;
  const auto every = resolved.checkpoint.every_steps;
  return every > 0 ? every : checkpoint_at_stop;
}

std::optional<std::string> misfit_of(const checkpoint& x, const job& resolved,
                                     const prepared_data& data) {
  const auto shape = shape_of(data);
  const auto plan = timeline_of(resolved, shape);
  const auto network = make_model(resolved, shape);
  const auto& layout = network->layout();
  checkpoint_expectation expected{layout.size(), slot_count_of(resolved, layout), 0,
                                  plan.steps_in_epoch(), plan.batch_size};
  if (has_server(resolved.training)) {
    expected.number_count = server_state_of(resolved).number_count;
    if (auto found = misfit(x, expected))
      return found;
    if (x.version < plan.last_version() && !is_version_of_longer_runs(resolved, plan, x.version))
      return "it is where a shorter run ended, in the middle of a round of this one";
    const auto is_sound = [](double number) { return std::isfinite(number) && number >= 0; };
    if (!std::ranges::all_of(x.optimizer_numbers, is_sound))
      return "its numbers are none of a parameter server's";
    return std::nullopt;
  }
  if (scope_of(resolved.optimizer.kind) != optimizer_scope::whole_model)
    return misfit(x, expected);
  const auto rule = make_whole_model_rule(resolved.optimizer, layout);
  const std::vector<float> zeros(layout.size());
  expected.number_count = rule->start(zeros).numbers().size();
  if (auto found = misfit(x, expected))
    return found;
  if (!rule->accepts(x.optimizer_numbers))
    return "its optimizer numbers are none of " + std::string{name_of(resolved.optimizer.kind)};
  return std::nullopt;
}

void require_fit(const std::optional<checkpoint>& x, const job& resolved,
                 const prepared_data& data) {
  if (!x)
    return;
  if (const auto found = misfit_of(*x, resolved, data))
    throw failure(failure_code::bad_data, "the checkpoint is of another shape: " + *found,
                  "version " + std::to_string(x->version), "go on from another one");
}

} // namespace troupe
