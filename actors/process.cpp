#include "troupe/actors/process.hpp"

#include "troupe/actors/job_data.hpp"
#include "troupe/actors/node.hpp"
#include "troupe/actors/replica.hpp"
#include "troupe/actors/shard.hpp"
#include "troupe/actors/solver.hpp"
#include "troupe/actors/version_buffers.hpp"
#include "troupe/coordinators/resolve.hpp"
#include "troupe/data/failure.hpp"

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
  const replica_options for_replicas{
    network_,     data, std::make_shared<epoch_order>(resolved.seed, plan.row_count, shuffled),
    gradients_,   plan, options.hooks,
    resolved.seed};
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
  if (scope == optimizer_scope::whole_model)
    for_shards.whole_rule = make_whole_model_rule(resolved.optimizer, network_->layout());
  else if (scope == optimizer_scope::element_wise)
    for_shards.rule = make_optimizer(resolved.optimizer);
  if (scope == optimizer_scope::solver) {
    const solver_actor both =
      system.spawn(solver, solver_options{network_, data, plan, resolved.optimizer});
    replicas_.emplace_back(both);
    shards_.emplace_back(both);
  } else {
    for (size_t i = 0; i < self_.replica_count; ++i)
      replicas_.push_back(system.spawn(replica, for_replicas));
    for (size_t k = 0; k < self_.shard_count; ++k)
      shards_.push_back(system.spawn(shard, for_shards));
  }
  node_options for_node;
  for_node.self = self_;
  for_node.wired = options.wired;
  for_node.network = network_;
  for_node.parameters = parameters_;
  for_node.plan = plan;
  for_node.seed = resolved.seed;
  for_node.slot_count = slot_count_of(resolved, network_->layout());
  for_node.uses_norms = changes.norm_max() > 0;
  for_node.piece_elements = options.piece_elements;
  for_node.credit_bytes = options.credit_bytes;
  for_node.on_standing = options.on_standing;
  node_ = options.detached ? system.spawn<caf::detached>(troupe::node, for_node, replicas_, shards_)
                           : system.spawn(troupe::node, for_node, replicas_, shards_);
}

process::~process() {
  const auto end = [](const auto& handle) {
    caf::anon_send_exit(handle, caf::exit_reason::user_shutdown);
  };
  end(node_);
  std::ranges::for_each(shards_, end);
  std::ranges::for_each(replicas_, end);
}

} // namespace troupe
