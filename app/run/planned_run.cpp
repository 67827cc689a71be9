#include "app/run/planned_run.hpp"

#include "coordinators/job/training_modes.hpp"

#include <algorithm>
#include <thread>

namespace troupe {

namespace {

planned_run plan_of(const job& x, const cluster_plan& cluster) {
  const auto data = load_data(x);
  const auto shape = shape_of(*data);
  const auto cores = std::max<size_t>(std::thread::hardware_concurrency(), 1);
  const auto resolved = resolve(x, shape, cores);
  const auto own = cluster.nodes.empty() ? std::optional<size_t>{0} : std::nullopt;
  require_trainable(resolved, *data, {cluster, own});
  const plan_options options{cores, cluster.nodes};
  if (has_server(x.training) || scope_of(x.optimizer.kind) == optimizer_scope::solver)
    return {memory_plan_of(resolved, shape, options)};
  const auto plan = plan_of(resolved, shape, *make_model(resolved, shape), options);
  return {plan.processes, plan};
}

} // namespace

planned_run plan_run(const loaded_job& loaded, const cluster_plan& cluster) {
  try {
    return plan_of(loaded.value, cluster);
  } catch (const failure& error) {
    throw_with_place(error, loaded);
  }
}

} // namespace troupe
