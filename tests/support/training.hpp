// Small training runs for tests: jobs on synthetic rows, run on real threads or on one thread in an
// order drawn from a seed.

#pragma once

#include "actors/base/test_hooks.hpp"
#include "actors/protocol/status_messages.hpp"
#include "actors/protocol/write_messages.hpp"
#include "actors/run/company.hpp"
#include "actors/run/job_data.hpp"
#include "actors/run/train.hpp"
#include "tests/support/testing_system.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

namespace troupe::test {

/// 200 rows in 3 classes, 50 of them for testing; 8 -> 6 -> 3 network; 3 epochs of 5 steps.
inline job small_job() {
  job x;
  x.name = "small";
  x.seed = 5;
  x.data.synthetic = synthetic_kind::classification;
  x.data.rows = 200;
  x.data.features = 8;
  x.data.classes = 3;
  x.data.noise = 0.8;
  x.data.test_fraction = 0.25;
  x.model.hidden = {6};
  x.optimizer.kind = optimizer_kind::adam;
  x.training.batch_size = 32;
  x.training.slices = 8;
  x.training.replicas = 2;
  x.training.epochs = 3;
  return x;
}

/// On 150 training rows of that job: 20 clients, six of which are expected in a round.
inline job job_of_clients() {
  auto x = small_job();
  x.optimizer = {};
  x.optimizer.learning_rate = 0.1;
  x.training.strategy = strategy_kind::federated;
  x.training.slices.reset();
  x.training.epochs = training_options{}.epochs;
  x.training.batch_size = 4;
  x.federated.clients = 20;
  x.federated.cohort = 6;
  return x;
}

struct real_system {
  explicit real_system(size_t threads) {
    configure(config);
    config.set("scheduler.policy", caf::atom("sharing"));
    config.set("scheduler.max-threads", threads);
    system.emplace(config);
  }

  caf::actor_system_config config;
  std::optional<caf::actor_system> system;
};

inline std::vector<float> values_of(const stored_tensor& parameters) {
  const auto values = parameters.values();
  return {values.begin(), values.end()};
}

/// Trains on real threads.
inline training_result train_on(size_t threads, const job& x) {
  real_system host{threads};
  return train(*host.system, x);
}

inline training_result train_on(size_t threads, const job& x,
                                std::shared_ptr<const prepared_data> data) {
  real_system host{threads};
  return train(*host.system, x, std::move(data));
}

/// What a run on a company with options of the test's own came to.
struct company_outcome {
  training_finished finished;
  std::vector<float> parameters; ///< empty when training failed
  size_t buffers_made = 0;
};

/// Trains on real threads with hooks or a number of shards of the test's choosing.
inline company_outcome train_company(size_t threads, const job& x, const company_options& options) {
  real_system host{threads};
  const auto data = load_data(x);
  const auto resolved = resolve(x, shape_of(*data), threads);
  const company everybody{*host.system, resolved, data, options};
  company_outcome outcome;
  caf::scoped_actor self{*host.system};
  self->send(everybody.director(), atom::watch_v, caf::actor_cast<observer_actor>(self));
  self->send(everybody.director(), atom::begin_v);
  bool finished = false;
  while (!finished)
    self->receive([](const training_progress&) {},
                  [&](const training_finished& news) {
                    outcome.finished = news;
                    finished = true;
                  },
                  caf::after(std::chrono::seconds{60}) >>
                    [] { throw std::runtime_error("training does not end"); });
  if (!outcome.finished.failed)
    self->request(everybody.director(), std::chrono::seconds{10}, atom::pull_v)
      .receive(
        [&](const trained_model& whole) { outcome.parameters = values_of(whole.parameters); },
        [](const caf::error&) { throw std::runtime_error("no result"); });
  outcome.buffers_made = everybody.buffers_made();
  return outcome;
}

/// Whole runs on one thread: the next message is drawn from a seed, order between two given actors
/// is kept, and time stands still.
class ordered_company : testing_system {
public:
  explicit ordered_company(const job& x, company_options options = {}) {
    options.director_detached = false;
    options.shard_count = options.shard_count.value_or(2);
    const auto data = load_data(x);
    company_ = std::make_unique<company>(*system_, resolve(x, shape_of(*data), 2), data, options);
    self_ = std::make_unique<caf::scoped_actor>(*system_);
  }

  ~ordered_company() {
    company_.reset();
    testing_system::run();
  }

  const company& actors() const { return *company_; }
  caf::scoped_actor& self() { return *self_; }

  void begin() {
    (*self_)->send(company_->director(), atom::watch_v, caf::actor_cast<observer_actor>(*self_));
    (*self_)->send(company_->director(), atom::begin_v);
  }

  /// Delivers one message, drawn by `random`. False when nothing is ready.
  bool step(std::mt19937_64& random) {
    if (!scheduler_->has_job())
      return false;
    const auto first = scheduler_->jobs.begin();
    const auto pick = first + static_cast<std::ptrdiff_t>(random() % scheduler_->jobs.size());
    std::rotate(first, pick, pick + 1);
    scheduler_->run_once();
    return true;
  }

  /// Delivers until nothing is ready.
  void run(std::mt19937_64& random) {
    while (step(random)) {
    }
  }

  /// The end of the run, which must have been reached.
  company_outcome outcome() {
    company_outcome result;
    bool finished = false;
    while (!finished)
      (*self_)->receive([&](const training_progress& news) { progress.push_back(news); },
                        [&](const training_finished& news) {
                          result.finished = news;
                          finished = true;
                        },
                        caf::after(std::chrono::seconds{0}) >>
                          [] { throw std::runtime_error("training does not end"); });
    auto handle = (*self_)->request(company_->director(), std::chrono::minutes{60}, atom::pull_v);
    std::mt19937_64 any{0};
    run(any);
    handle.receive(
      [&](const trained_model& whole) { result.parameters = values_of(whole.parameters); },
      [](const caf::error&) {});
    result.buffers_made = company_->buffers_made();
    return result;
  }

  /// Runs to the end, while so many replicas die, the first ones first, when `random` says.
  void run_with_losses(std::mt19937_64& random, size_t loss_count) {
    begin();
    for (size_t i = 0; i < loss_count; ++i) {
      for (auto k = random() % 40; k > 0; --k)
        step(random);
      caf::anon_send_exit(company_->replicas().at(i), caf::exit_reason::kill);
    }
    run(random);
  }

  std::vector<training_progress> progress;

private:
  std::unique_ptr<company> company_;
  std::unique_ptr<caf::scoped_actor> self_;
};

/// A whole run in the order of `seed`, in which so many replicas die, the first ones first.
inline company_outcome train_with_losses(const job& x, uint64_t seed, size_t loss_count,
                                         const company_options& options = {},
                                         std::vector<training_progress>* progress = nullptr) {
  ordered_company run{x, options};
  std::mt19937_64 random{seed};
  run.run_with_losses(random, loss_count);
  const auto outcome = run.outcome();
  if (progress)
    *progress = run.progress;
  return outcome;
}

/// A whole run in the order of `seed`.
inline company_outcome train_in_order(const job& x, uint64_t seed,
                                      const company_options& options = {}) {
  ordered_company run{x, options};
  std::mt19937_64 random{seed};
  run.begin();
  run.run(random);
  return run.outcome();
}

} // namespace troupe::test
