#include "troupe/actors/process.hpp"

#include "troupe/actors/job_data.hpp"
#include "troupe/actors/node.hpp"
#include "troupe/actors/replica.hpp"
#include "troupe/actors/shard.hpp"
#include "troupe/actors/version_buffers.hpp"
#include "troupe/coordinators/resolve.hpp"

#include <caf/actor_system.hpp>
#include <caf/send.hpp>

#include <algorithm>

namespace troupe {

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
  for (size_t i = 0; i < self_.replica_count; ++i)
    replicas_.push_back(system.spawn(replica, for_replicas));
  const std::shared_ptr<const optimizer> rule = make_optimizer(resolved.optimizer);
  const regularization changes{resolved.optimizer, penalized_ranges(network_->layout())};
  const shard_options for_shards{
    rule, nullptr, parameter_count, plan, options.hooks, changes, options.checkpoint_every};
  for (size_t k = 0; k < self_.shard_count; ++k)
    shards_.push_back(system.spawn(shard, for_shards));
  node_options for_node;
  for_node.self = self_;
  for_node.wired = options.wired;
  for_node.network = network_;
  for_node.parameters = parameters_;
  for_node.plan = plan;
  for_node.seed = resolved.seed;
  for_node.slot_count = rule->slot_count();
  for_node.uses_norms = changes.norm_max() > 0;
  for_node.piece_elements = options.piece_elements;
  node_ = options.detached
            ? system.spawn<caf::detached>(troupe::node, for_node, replicas_, shards_)
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
