#include "actors/run/company.hpp"

#include "actors/run/training_result.hpp"

#include "actors/director/checkpoint_writer.hpp"
#include "actors/director/director.hpp"
#include "actors/protocol/cluster_messages.hpp"
#include "actors/protocol/write_messages.hpp"
#include "actors/run/job_data.hpp"
#include "actors/run/process.hpp"
#include "actors/run/resuming.hpp"
#include "coordinators/job/resolve.hpp"
#include "coordinators/job/training_modes.hpp"
#include "coordinators/parallel/parallel_plan.hpp"
#include "coordinators/step/placement.hpp"
#include "data/checkpoint/checkpoint_store.hpp"
#include "data/text/failure.hpp"
#include "models/base/rounding.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>
#include <caf/scoped_actor.hpp>
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

} // namespace

company::company(caf::actor_system& system, const job& resolved,
                 std::shared_ptr<const prepared_data> data, const company_options& options) {
  require_message_types(system);
  require_fit(options.resume_from, resolved, *data);
  begin_arithmetic(resolved.runtime);
  const default_rounding rounding;
  const auto parameter_count = make_model(resolved, shape_of(*data))->layout().size();
  process_options here;
  const auto scope = scope_of(resolved.optimizer.kind);
  const bool kept = has_server(resolved.training);
  const auto shard_count =
    scope != optimizer_scope::solver && !kept
      ? options.shard_count.value_or(default_shard_count(system, parameter_count))
      : 1;
  here.self = {std::string{only_process_name}, 1,
               *resolved.training.replicas * resolved.parallel.group_size(), shard_count};
  here.wired = false;
  here.checkpoint_every = options.checkpoints ? checkpoint_every_of(resolved) : 0;
  here.hooks = options.hooks;
  here.trace = options.trace;
  here.decisions = options.decisions;
  here.device = resolved.runtime.device;
  here.on_devices = device_load_of(resolved, shape_of(*data), {});
  process_ = std::make_unique<process>(system, resolved, data, here);
  auto for_director = director_options_of(resolved, *data, process_->network());
  for_director.trace = for_director.hides_work ? nullptr : options.trace;
  for_director.membership.expected = {
    {here.self.name, here.self.replica_count, here.self.shard_count}};
  if (kept) // no spares: the parameter server decides which replica works
    for_director.membership.slice_count = here.self.replica_count;
  for_director.membership.home = here.self.name;
  for_director.here.clients = process_->presence_of_clients();
  for_director.rule.checkpoint_every = here.checkpoint_every;
  const auto spawn = [&](auto actor, const auto& what) {
    return options.director_detached ? system.spawn<caf::detached>(actor, what)
                                     : system.spawn(actor, what);
  };
  if (options.checkpoints) {
    for_director.membership.persisted_term = options.checkpoints->read_term();
    for_director.writer = spawn(
      checkpoint_writer, checkpoint_writer_options{
                           options.checkpoints, ring_of(for_director.trace, "writer", "an order")});
  }
  for_director.resume_from = options.resume_from;
  director_ = spawn(troupe::director, for_director);
  if (options.director_detached)
    writer_ = caf::actor_cast<caf::actor>(for_director.writer);
  caf::anon_send(process_->node(), here.self.incarnation,
                 caf::actor_cast<director_link_actor>(director_));
  caf::anon_send(director_, here.self, caf::actor_cast<node_actor>(process_->node()));
}

// Waits until the writer has finished its current write: then the caller may use the folder for
// something else.
company::~company() {
  caf::anon_send_exit(director_, caf::exit_reason::user_shutdown);
  if (writer_)
    caf::scoped_actor {
      writer_->home_system()
      } -> wait_for(writer_);
}

const std::vector<worker_actor>& company::replicas() const {
  return process_->actors().workers;
}

const model& company::network() const {
  return process_->network();
}

const server_actor& company::server() const {
  return process_->actors().server;
}

const local_node_actor& company::node() const {
  return process_->node();
}

void company::end_clients(int code, const std::string& why) const {
  process_->end_clients(code, why);
}

size_t company::buffers_made() const {
  return process_->buffers_made();
}

} // namespace troupe
