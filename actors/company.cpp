#include "troupe/actors/company.hpp"

#include "troupe/actors/director.hpp"
#include "troupe/actors/job_data.hpp"
#include "troupe/actors/replica.hpp"
#include "troupe/actors/shard.hpp"
#include "troupe/actors/version_buffers.hpp"
#include "troupe/coordinators/placement.hpp"
#include "troupe/data/failure.hpp"
#include "troupe/models/numerics.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>
#include <caf/send.hpp>

#include <algorithm>

namespace troupe {

namespace {

void require_message_types(caf::actor_system& system) {
  const auto& types = system.types();
  if (&types.portable_name(0, &typeid(contribution)) == &types.default_type_name())
    throw failure(failure_code::internal, "the actor system lacks Troupe's message types", {},
                  "call troupe::configure(config) before making the actor system");
}

size_t default_shard_count(caf::actor_system& system, size_t parameter_count) {
  return std::clamp<size_t>(system.scheduler().num_workers(), 1, block_count(parameter_count));
}

director_options director_options_of(const job& resolved, const prepared_data& data,
                                     const model& network) {
  const auto shape = shape_of(data);
  director_options options;
  options.rule.plan = timeline_of(resolved, shape);
  options.rule.stop = stop_rule_of(resolved);
  options.rule.replica_count = std::min(*resolved.training.replicas, *resolved.training.slices);
  options.rule.rows = {shape.test_row_count, shape.validation_row_count};
  options.rule.keep_best = *resolved.training.keep_best;
  options.optimizer = resolved.optimizer;
  options.classification = shape.classification;
  options.test_total_squares = total_squares(data.test);
  options.validation_total_squares = total_squares(data.validation);
  options.parameter_count = network.layout().size();
  return options;
}

} // namespace

company::company(caf::actor_system& system, const job& resolved,
                 std::shared_ptr<const prepared_data> data, const company_options& options) {
  require_message_types(system);
  const default_rounding rounding;
  const auto shape = shape_of(*data);
  network_ = make_model(resolved, shape);
  const auto plan = timeline_of(resolved, shape);
  const auto parameter_count = network_->layout().size();
  gradients_ = std::make_shared<buffer_pool>(parameter_count);
  versions_ = std::make_shared<version_buffers>(parameter_count);
  network_->initialize(resolved.seed, versions_->of(0).values());

  view everybody;
  const auto slices = assign_slices(*resolved.training.slices, *resolved.training.replicas);
  const bool shuffled = plan.batch_size < plan.row_count;
  const replica_options for_replicas{
    network_,     data, std::make_shared<epoch_order>(resolved.seed, plan.row_count, shuffled),
    gradients_,   plan, options.hooks,
    resolved.seed};
  for (size_t i = 0; i < slices.size(); ++i) {
    replicas_.push_back(system.spawn(replica, i, for_replicas));
    everybody.replicas.push_back({replicas_.back(), slices[i]});
  }
  const auto blocks = assign_blocks(
    parameter_count, options.shard_count.value_or(default_shard_count(system, parameter_count)));
  const shard_options for_shards{
    make_optimizer(resolved.optimizer),
    versions_,
    parameter_count,
    plan,
    options.hooks,
    regularization{resolved.optimizer, penalized_ranges(network_->layout())}};
  for (size_t k = 0; k < blocks.size(); ++k) {
    shards_.push_back(system.spawn(shard, k, for_shards));
    everybody.shards.push_back({shards_.back(), blocks[k]});
  }
  const auto for_director = director_options_of(resolved, *data, *network_);
  director_ = options.director_detached
                ? system.spawn<caf::detached>(troupe::director, for_director, everybody)
                : system.spawn(troupe::director, for_director, everybody);
}

company::~company() {
  const auto end = [](const auto& handle) {
    caf::anon_send_exit(handle, caf::exit_reason::user_shutdown);
  };
  end(director_);
  std::ranges::for_each(shards_, end);
  std::ranges::for_each(replicas_, end);
}

size_t company::buffers_made() const {
  return gradients_->made_count() + versions_->made_count();
}

} // namespace troupe
