#include "troupe/actors/run/process.hpp"

#include "troupe/actors/base/version_buffers.hpp"
#include "troupe/actors/node/node.hpp"
#include "troupe/actors/orders/distant_trainer.hpp"
#include "troupe/actors/orders/gradients_policy.hpp"
#include "troupe/actors/orders/keeper.hpp"
#include "troupe/actors/orders/rounds_policy.hpp"
#include "troupe/actors/orders/trainer.hpp"
#include "troupe/actors/run/job_data.hpp"
#include "troupe/actors/step/replica.hpp"
#include "troupe/actors/step/shard.hpp"
#include "troupe/actors/step/solver.hpp"
#include "troupe/coordinators/job/resolve.hpp"
#include "troupe/coordinators/job/training_modes.hpp"
#include "troupe/data/text/failure.hpp"
#include "troupe/models/optimizers/make_optimizer.hpp"
#include "troupe/models/whole_model/make_whole_model_rule.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/send.hpp>

#include <algorithm>

namespace troupe {

size_t slot_count_of(const job& resolved, const parameter_layout& layout) {
  switch (scope_of(resolved.optimizer.kind)) {
  case optimizer_scope::element_wise:
    return make_optimizer(resolved.optimizer)->slot_count();
  case optimizer_scope::whole_model: {
    const std::vector<float> zeros(layout.size());
    return make_whole_model_rule(resolved.optimizer, layout)->start(zeros).slot_count();
  }
  case optimizer_scope::solver:
    break;
  }
  return 0;
}

namespace {

std::shared_ptr<keeper_policy> policy_of(const job& resolved, const timeline& plan,
                                         const parameter_layout& layout, size_t slot_count) {
  const auto& training = resolved.training;
  if (training.strategy == strategy_kind::parameters)
    return std::make_shared<rounds_policy>(
      rounds_policy_options{plan, local_rounds_of(resolved), slot_count});
  asynchronous_options options;
  options.gradients.optimizer = resolved.optimizer;
  options.gradients.layout = layout;
  options.consistency = staleness_of(training);
  if (const auto lambda = training.delay_compensation; lambda > 0)
    options.compensation = delay_compensation_options{.lambda = lambda};
  return std::make_shared<gradients_policy>(options);
}

} // namespace

void process::spawn_trainers(caf::actor_system& system, const job& resolved,
                             std::shared_ptr<const prepared_data> data, const timeline& plan,
                             const process_options& given) {
  const auto& hooks = given.hooks;
  const auto& training = resolved.training;
  const evaluation_rows rows{data->test.row_count, data->validation.row_count};
  const std::shared_ptr<const optimizer> rule = make_optimizer(resolved.optimizer);
  trainer_options options;
  options.network = network_;
  options.data = std::move(data);
  options.order =
    std::make_shared<epoch_order>(resolved.seed, plan.row_count, plan.batch_size < plan.row_count);
  options.pool = gradients_;
  options.plan = plan;
  options.rule = rule;
  options.changes = {resolved.optimizer, penalized_ranges(network_->layout())};
  options.hooks = hooks;
  options.seed = resolved.seed;
  if (training.strategy == strategy_kind::parameters) {
    options.first_flipped_member = *training.members - resolved.merge.flipped_members;
    options.flip_factor = resolved.merge.flip_factor;
  }
  if (self_.shard_count > 0) {
    const auto policy = policy_of(resolved, plan, network_->layout(), rule->slot_count());
    local_.add(system.spawn(keeper, keeper_options{plan, rows, policy, hooks}));
  }
  for (size_t i = 0; i < self_.replica_count; ++i) {
    options.gauge = new_gauge(given);
    local_.add(system.spawn(trainer, options));
  }
}

std::shared_ptr<work_gauge> process::new_gauge(const process_options& options) {
  return options.wired ? gauges_.emplace_back(std::make_shared<work_gauge>()) : nullptr;
}

process::process(caf::actor_system& system, const job& resolved,
                 std::shared_ptr<const prepared_data> data, const process_options& options)
  : self_(options.self) {
  const auto shape = shape_of(*data);
  network_ = make_model(resolved, shape);
  const auto plan = timeline_of(resolved, shape);
  const auto parameter_count = network_->layout().size();
  gradients_ = std::make_shared<buffer_pool>(parameter_count);
  parameters_ = std::make_shared<buffer_pool>(parameter_count);
  const bool shuffled = plan.batch_size < plan.row_count;
  replica_options for_replicas{
    network_,     data, std::make_shared<epoch_order>(resolved.seed, plan.row_count, shuffled),
    gradients_,   plan, options.hooks,
    resolved.seed};
  for_replicas.schedule = resolved.parallel.schedule;
  const auto scope = scope_of(resolved.optimizer.kind);
  if (options.wired && scope != optimizer_scope::element_wise)
    throw failure(failure_code::bad_job,
                  std::string{name_of(resolved.optimizer.kind)} + " runs in one process only",
                  "optimizer.kind", "use an optimizer that works element by element");
  const regularization changes{resolved.optimizer, penalized_ranges(network_->layout())};
  shard_options for_shards;
  for_shards.parameter_count = parameter_count;
  for_shards.plan = plan;
  for_shards.hooks = options.hooks;
  for_shards.changes = changes;
  for_shards.checkpoint_every = options.checkpoint_every;
  if (resolved.parallel.group_size() > 1)
    network_->chain().for_each_tile(
      [&](size_t, size_t, const index_range& tile) { for_shards.tiles.push_back(tile); });
  std::ranges::sort(for_shards.tiles);
  if (scope == optimizer_scope::whole_model)
    for_shards.whole_rule = make_whole_model_rule(resolved.optimizer, network_->layout());
  else if (scope == optimizer_scope::element_wise)
    for_shards.rule = make_optimizer(resolved.optimizer);
  if (has_keeper(resolved.training)) {
    spawn_trainers(system, resolved, data, plan, options);
  } else if (scope == optimizer_scope::solver) {
    const solver_actor both =
      system.spawn(solver, solver_options{network_, data, plan, resolved.optimizer});
    local_.add_worker(both);
    local_.owners.emplace_back(both);
  } else {
    for (size_t i = 0; i < self_.replica_count; ++i) {
      for_replicas.gauge = new_gauge(options);
      local_.add(system.spawn(replica, for_replicas));
    }
    for (size_t k = 0; k < self_.shard_count; ++k)
      local_.add(system.spawn(shard, for_shards));
  }
  node_options for_node;
  for_node.self = self_;
  for_node.wired = options.wired;
  for_node.kept = has_keeper(resolved.training);
  for_node.network = network_;
  for_node.parameters = parameters_;
  for_node.plan = plan;
  for_node.tiles = for_shards.tiles;
  for_node.rows = {data->test.row_count, data->validation.row_count};
  for_node.seed = resolved.seed;
  for_node.slot_count = slot_count_of(resolved, network_->layout());
  for_node.uses_norms = changes.norm_max() > 0 && !has_keeper(resolved.training);
  for_node.exchange = options.exchange;
  for_node.stand_in = [](local_node_actor::pointer node, const trainer_life& who) {
    return node->spawn(distant_trainer, who, caf::actor_cast<local_node_actor>(node));
  };
  for_node.on_standing = options.on_standing;
  for_node.on_misfit = options.on_misfit;
  for_node.gauges = gauges_;
  for_node.on_hold = options.on_hold;
  node_ = options.detached ? system.spawn<caf::detached>(troupe::node, for_node, local_)
                           : system.spawn(troupe::node, for_node, local_);
}

process::~process() {
  const auto end = [](const auto& handle) {
    caf::anon_send_exit(handle, caf::exit_reason::user_shutdown);
  };
  end(node_);
  std::ranges::for_each(local_.owners, end);
  std::ranges::for_each(local_.workers, end);
}

} // namespace troupe
