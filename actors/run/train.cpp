#include "actors/run/train.hpp"

#include "actors/base/guard.hpp"
#include "actors/base/work_sharing.hpp"
#include "actors/protocol/messages.hpp"
#include "actors/run/company.hpp"
#include "actors/run/job_data.hpp"
#include "actors/run/private_run.hpp"
#include "actors/run/training_end.hpp"
#include "data/records/run_recorder.hpp"
#include "data/text/failure.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <new>
#include <thread>
#include <utility>

namespace troupe {

namespace {

/// How often a waiting `train` calls `stop_requested`.
constexpr std::chrono::milliseconds stop_poll_interval{100};

job resolve_or_throw(const job& x, const prepared_data& data) {
  auto resolved = resolve(with_key(x), shape_of(data), std::thread::hardware_concurrency());
  require_trainable(resolved, data);
  return resolved;
}

void require_own_thread(const caf::actor_system& system) {
  if (job_begin_of(system))
    throw failure(failure_code::internal,
                  "train or fit was called in a handler, and waits on a thread that the run needs",
                  {},
                  "call it on a thread of your own or in a detached actor, or use troupe::company");
}

/// Waits for the end of the run, passing progress on.
training_finished wait_for_end(caf::scoped_actor& self, const director_actor& director,
                               const train_options& options) {
  std::optional<training_finished> result;
  bool stop_sent = false;
  status_watch watch{self, director, options.on_status};
  self->monitor(director);
  self->send(director, atom::watch_v, caf::actor_cast<observer_actor>(self));
  self->send(director, atom::begin_v);
  while (!result) {
    self->receive(
      [&](const training_progress& news) {
        if (options.on_progress)
          options.on_progress(news);
      },
      [&](const training_finished& news) { result = news; },
      [&](const caf::down_msg& down) {
        throw loss_failure(self->system(), down.reason, "the director was lost: ");
      },
      caf::after(stop_poll_interval) >> [] {});
    watch.tick();
    if (options.trace)
      options.trace->tick();
    if (!stop_sent && options.stop_requested && options.stop_requested()) {
      self->send(director, atom::stop_v);
      stop_sent = true;
    }
  }
  watch.ask();
  throw_if_failed(*result);
  return std::move(*result);
}

training_result train_resolved(caf::actor_system& system, const job& resolved,
                               std::shared_ptr<const prepared_data> data,
                               const train_options& options) {
  company_options for_company;
  for_company.checkpoints = options.checkpoints;
  for_company.resume_from = options.resume_from;
  for_company.trace = options.trace;
  for_company.decisions = options.decisions;
  const company everybody{system, resolved, data, for_company};
  caf::scoped_actor self{system};
  auto finished = [&] {
    try {
      return wait_for_end(self, everybody.director(), options);
    } catch (const failure& error) {
      everybody.end_clients(static_cast<int>(error.code()), error.reason());
      throw;
    }
  }();
  if (finished.reason !=
      static_cast<uint8_t>(stop_reason::interrupt)) // clients of a stopped run dial again
    everybody.end_clients(0, "training has ended");
  const auto parameters = pull_parameters(self, everybody.director());
  return result_of(resolved, std::move(data), everybody.network(), parameters, std::move(finished));
}

} // namespace

training_result train(caf::actor_system& system, const job& x, const train_options& options) {
  require_own_thread(system);
  return train(system, x, load_data(x, options.stop_requested), options);
}

training_result train(caf::actor_system& system, const job& x,
                      std::shared_ptr<const prepared_data> data, const train_options& options) {
  require_own_thread(system);
  const auto resolved = resolve_or_throw(x, *data);
  const auto shape = shape_of(*data);
  try {
    return train_resolved(system, resolved, std::move(data), options);
  } catch (const failure& error) {
    throw with_plan(error, resolved, shape);
  } catch (const std::bad_alloc&) {
    throw with_plan(failure(failure_code::bad_job, std::string{memory_shortage}), resolved, shape);
  }
}

training_result train(const job& x, std::shared_ptr<const prepared_data> data,
                      const train_options& options) {
  caf::actor_system_config config;
  configure(config);
  config.set("scheduler.max-threads", threads_of(x, shape_of(*data)));
  caf::actor_system system{config};
  return train(system, x, std::move(data), options);
}

} // namespace troupe
