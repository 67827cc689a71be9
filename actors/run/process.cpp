#include "actors/run/process.hpp"

#include "actors/base/version_buffers.hpp"
#include "actors/net/clients/client_port.hpp"
#include "actors/node/node.hpp"
#include "actors/run/federated_run.hpp"
#include "actors/run/job_data.hpp"
#include "actors/run/private_run.hpp"
#include "actors/spans/span_owner.hpp"
#include "actors/step/replica.hpp"
#include "actors/step/shard.hpp"
#include "actors/step/solver.hpp"
#include "actors/tasks/distant_trainer.hpp"
#include "actors/tasks/federated_policy.hpp"
#include "actors/tasks/gradients_policy.hpp"
#include "actors/tasks/parameter_server.hpp"
#include "actors/tasks/replay_policy.hpp"
#include "actors/tasks/rounds_policy.hpp"
#include "actors/tasks/trainer.hpp"
#include "coordinators/job/federated_job.hpp"
#include "coordinators/job/private_job.hpp"
#include "coordinators/job/resolve.hpp"
#include "coordinators/job/training_modes.hpp"
#include "data/identity/arithmetic_check.hpp"
#include "data/text/checksum.hpp"
#include "data/text/failure.hpp"
#include "models/math/products.hpp"
#include "models/optimizers/optimizer.hpp"
#include "models/whole_model/whole_model_rule.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/send.hpp>

#include <algorithm>

namespace troupe {

size_t slot_count_of(const job& resolved, const parameter_layout& layout) {
  if (has_server(resolved.training))
    return server_state_of(resolved).vector_count;
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

/// Nothing for a job that is not private.
std::optional<release_options> releases_of(const job& resolved) {
  if (!is_private(resolved))
    return std::nullopt;
  return release_options{ledger_of(resolved), budget_of(resolved), *resolved.privacy.clip_norm};
}

/// What owners of spans of a job follow decisions with.
span_maker span_maker_of(const job& resolved, const trainer_options& trainers) {
  if (trainers.clients)
    return [clients = trainers.clients](const const_buffer& initial, const index_range&) {
      return span_of(*clients, initial);
    };
  if (resolved.training.strategy == strategy_kind::parameters)
    return [options = member_span_of(resolved)](const const_buffer& initial, const index_range&) {
      return std::make_unique<merged_span>(options, initial);
    };
  return [options = span_options_of(asynchronous_of(resolved)),
          changes = changes_of(resolved, *trainers.training.network)](const const_buffer& initial,
                                                                      const index_range& elements) {
    auto own = options;
    own.first_element = elements.begin;
    auto span = std::make_unique<gradient_span>(own);
    span->begin(initial, changes);
    return span;
  };
}

/// The parameter server's policy.
std::shared_ptr<server_policy> policy_of(const job& resolved, const trainer_options& trainers,
                                         const sequence_options& decisions) {
  if (trainers.clients)
    return std::make_shared<federated_policy>(federated_policy_options{
      trainers.clients, trainers.hooks.clients_of_task, releases_of(resolved),
      trainers.clients->gathers() && !is_private(resolved) ? decisions.file : std::string{}});
  if (resolved.training.strategy == strategy_kind::parameters)
    return std::make_shared<rounds_policy>(
      rounds_policy_options{trainers.plan, local_rounds_of(resolved)});
  if (decisions.replay)
    return std::make_shared<replay_policy>(*decisions.replay);
  return std::make_shared<gradients_policy>(asynchronous_of(resolved));
}

} // namespace

void process::spawn_trainers(caf::actor_system& system, const job& resolved,
                             trainer_options options, const process_options& given,
                             const row_holders& holders, const std::vector<holding_size>& sizes) {
  const auto& training = resolved.training;
  options.pool = gradients_;
  options.training = {options.training.network, make_optimizer(resolved.optimizer),
                      changes_of(resolved, *network_), resolved.federated.proximal};
  options.hooks = with_environment(given.hooks);
  options.names = rows_;
  if (training.strategy == strategy_kind::parameters) {
    options.first_flipped_member = *training.members - resolved.merge.flipped_members;
    options.flip_factor = resolved.merge.flip_factor;
  }
  // A timeline would reveal how long each client of a private run worked.
  const auto trace = is_private(resolved) ? nullptr : given.trace;
  const auto size = network_->layout().size();
  if (self_.shard_count > 0 && !given.has_server) {
    span_owner_options owner{options.plan, size, span_maker_of(resolved, options),
                             server_state_of(resolved), numbers_before_span(resolved.training)};
    owner.trace = ring_of(trace, "span owner", "update", "model");
    local_.add(system.spawn(span_owner, owner));
  } else if (self_.shard_count > 0) {
    server_options server;
    server.plan = options.plan;
    server.parameter_count = size;
    server.policy = policy_of(resolved, options, given.decisions);
    server.make_span = span_maker_of(resolved, options);
    if (resolved.training.strategy == strategy_kind::gradients)
      server.record = given.decisions.file;
    server.rows = options.rows->evaluated();
    server.hooks = options.hooks;
    server.saved = server_state_of(resolved);
    server.checkpoint_every = given.checkpoint_every;
    server.roster = {
      {resolved.runtime.attempts, given.lost_patience},
      // Clients that dial in have a deadline of their own.
      std::chrono::seconds{resolved.federated.has_port() ? 0 : resolved.runtime.lease},
      homes_of(holders, options.plan, !is_reproducible(training), server.rows, sizes)};
    server.rows_of = rows_;
    server.trace = ring_of(trace, "server", "result", "task");
    local_.add(system.spawn(parameter_server, server));
  }
  for (size_t i = 0; i < self_.replica_count; ++i) {
    options.gauge = new_gauge(given);
    options.trace = ring_of(trace, "trainer " + std::to_string(i), "a task", "result");
    local_.add(system.spawn(trainer, options));
  }
}

std::shared_ptr<work_gauge> process::new_gauge(const process_options& options) {
  return options.wired ? gauges_.emplace_back(std::make_shared<work_gauge>()) : nullptr;
}

namespace {

std::shared_ptr<const model> model_on_devices(std::shared_ptr<const model> network,
                                              const std::string& choice, const device_load& load) {
  try {
    return on_devices(std::move(network), choice, load);
  } catch (const device_error& problem) {
    throw failure(
      failure_code::mismatch, problem.what(), "runtime.device",
      "'troupe doctor' lists the devices of this machine; without the key the processor "
      "computes, with the same bits");
  }
}

} // namespace

process::process(caf::actor_system& system, const job& resolved,
                 std::shared_ptr<const prepared_data> data, const process_options& options)
  : self_(options.self) {
  const auto shape = shape_of(*data);
  if (options.trace) {
    const auto identity = identity_of(resolved, *data);
    options.trace->begin(self_.name, sha256_hex(std::as_bytes(std::span{identity})));
  }
  network_ = make_model(resolved, shape);
  const auto plan = timeline_of(resolved, shape);
  // What is asked of the model at the end, and by solvers, is the processor's.
  const auto computing =
    self_.replica_count > 0 && scope_of(resolved.optimizer.kind) != optimizer_scope::solver
      ? model_on_devices(network_, options.device, options.on_devices)
      : network_;
  const auto parameter_count = network_->layout().size();
  gradients_ = std::make_shared<buffer_pool>(parameter_count);
  parameters_ = std::make_shared<buffer_pool>(parameter_count);
  const auto rows =
    std::make_shared<const job_rows>(rows_of(data), plan, resolved.seed, window_chunks_of(resolved),
                                     metrics_of(resolved, shape), shape.held.sizes);
  rows_ = {rows,
           resolved.seed,
           resolved.data.file.empty() ? resolved.federated.clients_from : resolved.data.file,
           resolved.data,
           data->chunk_rows,
           data->source_rows,
           data->holdings};
  replica_options for_replicas{computing, rows, gradients_, plan, with_environment(options.hooks)};
  for_replicas.names = rows_;
  for_replicas.schedule = resolved.parallel.schedule;
  for_replicas.by_segment = resolved.parallel.sharded;
  for_replicas.exchange = resolved.training.exchange;
  const auto scope = scope_of(resolved.optimizer.kind);
  const bool splits_whole =
    scope == optimizer_scope::whole_model && resolved.parallel.group_size() > 1;
  if (options.wired && (scope == optimizer_scope::solver || splits_whole))
    throw failure(failure_code::bad_job,
                  std::string{name_of(resolved.optimizer.kind)} +
                    (splits_whole ? " trains a model that is split in one process only"
                                  : " runs in one process only"),
                  "optimizer.kind", "use lbfgs, or an optimizer that works element by element");
  const auto changes = changes_of(resolved, *network_);
  shard_options for_shards;
  for_shards.parameter_count = parameter_count;
  for_shards.plan = plan;
  if (options.hooks)
    for_shards.hooks = *options.hooks;
  for_shards.exchange = resolved.training.exchange;
  for_shards.changes = changes;
  for_shards.checkpoint_every = options.checkpoint_every;
  if (resolved.parallel.splits())
    network_->chain().for_each_tile(
      [&](size_t, size_t, const index_range& tile) { for_shards.tiles.push_back(tile); });
  std::ranges::sort(for_shards.tiles);
  if (scope == optimizer_scope::whole_model)
    for_shards.whole_rule = make_whole_model_rule(resolved.optimizer, network_->layout());
  else if (scope == optimizer_scope::element_wise)
    for_shards.rule = make_optimizer(resolved.optimizer);
  for_shards.follows_results = resolved.optimizer.plateau.is_on();
  if (has_server(resolved.training)) {
    trainer_options for_trainers;
    for_trainers.training.network = computing;
    for_trainers.rows = rows;
    for_trainers.plan = plan;
    if (resolved.federated.has_port() && options.wired)
      throw failure(failure_code::bad_job, "clients dial in to a server, which is no cluster",
                    "federated.listen", "train it in one process: troupe train");
    port_ = client_port_of(resolved, *data, parameter_count);
    for_trainers.clients = federation_of(resolved, *data, options.decisions, port_);
    spawn_trainers(system, resolved, for_trainers, options, holders_of(shape, plan),
                   shape.held.sizes);
  } else if (scope == optimizer_scope::solver) {
    const solver_actor both =
      system.spawn(solver, solver_options{network_, rows_of(data), plan, resolved.optimizer,
                                          data->train.feature_names, metrics_of(resolved, shape)});
    local_.add_worker(both);
    local_.owners.emplace_back(both);
  } else {
    for (size_t i = 0; i < self_.replica_count; ++i) {
      for_replicas.gauge = new_gauge(options);
      for_replicas.trace =
        ring_of(options.trace, "replica " + std::to_string(i), "parameters", "gradient");
      local_.add(system.spawn(replica, for_replicas));
    }
    for (size_t k = 0; k < self_.shard_count; ++k) {
      for_shards.trace =
        ring_of(options.trace, "shard " + std::to_string(k), "gradient", "parameters");
      local_.add(system.spawn(shard, for_shards));
    }
  }
  node_options for_node;
  for_node.self = self_;
  for_node.wired = options.wired;
  for_node.kept = has_server(resolved.training);
  for_node.network = network_;
  for_node.parameters = parameters_;
  for_node.has_point = for_shards.whole_rule && for_shards.whole_rule->point_slot();
  for_node.plan = plan;
  for_node.tiles = for_shards.tiles;
  for_node.sharded = resolved.parallel.sharded;
  for_node.rows = rows->evaluated();
  for_node.holders = holders_of(shape, plan);
  for_node.first.seed = resolved.seed;
  if (const auto& start = resolved.model.start)
    for_node.first.values = start->parameters;
  if (is_federated(resolved.training))
    for_node.tasks.cohort_max =
      federated_options_of(resolved).counted_max(resolved.federated.clients);
  for_node.slot_count = slot_count_of(resolved, network_->layout());
  if (for_node.kept)
    for_node.tasks.slot_count = make_optimizer(resolved.optimizer)->slot_count();
  for_node.tasks.own_start = resolved.merge.elastic_alpha.has_value();
  if (is_federated(resolved.training)) // halves of words
    for_node.tasks.result_vectors = 2;
  else if (resolved.training.strategy == strategy_kind::parameters)
    for_node.tasks.result_vectors = 1 + for_node.tasks.slot_count;
  if (for_shards.whole_rule && for_shards.whole_rule->sum_count())
    for_node.block_numbers = block_number_count(*for_shards.whole_rule);
  else if (changes.norm_max() > 0 && !has_server(resolved.training))
    for_node.block_numbers = 1;
  for_node.exchange = options.exchange;
  for_node.exchange.gradients = resolved.training.exchange;
  for_node.stand_in = [](local_node_actor::pointer node, const trainer_life& who) {
    return node->spawn(distant_trainer, who, caf::actor_cast<local_node_actor>(node));
  };
  for_node.listeners = options.listeners;
  for_node.records = {gauges_, is_private(resolved) ? nullptr : options.trace};
  node_ = options.spawn_node ? options.spawn_node(for_node, local_)
                             : system.spawn(troupe::node, for_node, local_);
}

std::function<client_presence()> process::presence_of_clients() const {
  if (!port_)
    return {};
  return [port = std::weak_ptr<const client_port>{port_}] {
    const auto there = port.lock();
    return there ? there->presence() : client_presence{};
  };
}

void process::end_clients(int code, const std::string& why) {
  if (port_)
    port_->end(code, why);
}

process::~process() {
  port_.reset(); // it goes with the last actor that knows it, before what it calls back
  const auto end = [](const auto& handle) {
    caf::anon_send_exit(handle, caf::exit_reason::user_shutdown);
  };
  end(node_);
  std::ranges::for_each(local_.owners, end);
  std::ranges::for_each(local_.workers, end);
}

void begin_arithmetic(const runtime_options& wanted) {
  if (const auto set = wanted.instructions) {
    if (!products::has(*set))
      throw failure(failure_code::mismatch,
                    "this machine's processor has no " + std::string{name_of(*set)},
                    "runtime.instructions", "leave it out: the bits are the same with any");
    products::use(*set);
  }
  require_arithmetic();
}

} // namespace troupe
