#include "actors/net/process/take_part.hpp"

#include "actors/run/job_data.hpp"
#include "actors/run/private_run.hpp"
#include "coordinators/job/job_check.hpp"
#include "coordinators/job/resolve.hpp"
#include "data/text/failure.hpp"

#include <thread>
#include <utility>

namespace troupe {

namespace {

job resolve_for(const cluster_plan& plan, const std::string& own_name, job x,
                const prepared_data& data) {
  const auto replicas = plan.replica_count();
  if (const auto problem = groups_problem(x.parallel, replicas))
    throw failure(failure_code::bad_job, problem->why, problem->key, problem->hint);
  x.training.replicas = groups_of(x.parallel, replicas);
  auto resolved =
    resolve(with_key(std::move(x)), shape_of(data), std::thread::hardware_concurrency());
  require_trainable(resolved, data, place_in(plan, own_name));
  return resolved;
}

} // namespace

networked_end take_part(caf::actor_system& system, const job& x, const cluster_plan& plan,
                        const std::string& own_name, const take_part_options& options) {
  networked_options here;
  here.cluster = plan;
  here.own_name = own_name;
  here.tls = options.tls;
  here.data = options.data ? options.data : load_data(x, options.stop_requested);
  here.resolved = resolve_for(plan, own_name, x, *here.data);
  here.checkpoints = options.checkpoints;
  here.resume_from = options.resume_from;
  here.keep = options.keep;
  here.on_progress = options.on_progress;
  here.on_status = options.on_status;
  here.on_news = options.on_news;
  here.stop_requested = options.stop_requested;
  networked_process process{system, std::move(here)};
  return process.wait();
}

} // namespace troupe
