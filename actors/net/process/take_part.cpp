#include "actors/net/process/take_part.hpp"

#include "actors/net/table/home_rows.hpp"
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
  const auto replicas = plan.listed_replica_count();
  if (const auto problem = groups_problem(x.parallel, replicas))
    throw failure(failure_code::bad_job, problem->why, problem->key, problem->hint);
  x.training.replicas = groups_of(x.parallel, replicas);
  auto resolved =
    resolve(with_key(std::move(x)), shape_of(data), std::thread::hardware_concurrency());
  require_trainable(resolved, data, place_in(plan, own_name));
  return resolved;
}

networked_end take_part_once(caf::actor_system& system, const job& given, const cluster_plan& plan,
                             const std::string& own_name, const take_part_options& options) {
  auto x = given;
  x.data.at_nodes = plan.has_holders();
  networked_options here;
  here.cluster = plan;
  here.own_name = own_name;
  here.tls = options.tls;
  const bool has_rows = options.rows || options.supply;
  const auto refuse = [](bool is_so, const char* what, const char* hint) {
    if (is_so)
      throw failure(failure_code::bad_job, what, "take_part_options", hint);
  };
  refuse(options.supply && options.supply->is_endless(), "the rows of a node have an end",
         "hand over rows without an end to all nodes alike: data");
  refuse(options.rows && options.supply, "both rows and a supply are this node's own",
         "keep one of the two");
  refuse(has_rows && !plan.has_holders(), "no node of the plan has rows of its own",
         "set holds_rows of the nodes that have some, or hand over data");
  if (x.data.at_nodes)
    here.data = prepare_own_rows(
      x, options.supply ? read_rows(supplied_rows{options.supply, {}}) : options.rows,
      [&](const own_rows& own) {
        return agree_on_rows(
          own, {plan, own_name, options.tls, -1, options.stop_requested, options.on_news},
          here.table);
      });
  else
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

} // namespace

networked_end take_part(caf::actor_system& system, const job& given, const cluster_plan& plan,
                        const std::string& own_name, const take_part_options& options) {
  auto end = take_part_once(system, given, plan, own_name, options);
  for (; end.agrees_anew; end = take_part_once(system, given, plan, own_name, options))
    if (options.on_news)
      options.on_news(end.reason + ": agrees again");
  return end;
}

} // namespace troupe
