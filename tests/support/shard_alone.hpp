// A shard on its own, between a director that writes down what it hears and replicas that we play.

#pragma once

#include "actors/protocol/boundary_messages.hpp"
#include "actors/run/configure.hpp"
#include "actors/step/shard.hpp"
#include "models/optimizers/optimizer.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

namespace troupe::test {

struct heard_of_shard {
  std::vector<training_report> reports;
  std::vector<not_finite_report> not_finite;
  std::vector<shard_copy> copies;
  std::vector<span_hash> hashes;
  std::vector<parameter_span> announced; ///< to the relay
};

inline reports_actor::behavior_type listening_director(reports_actor::pointer,
                                                       heard_of_shard* notes) {
  return {
    [=](const training_report& news) { notes->reports.push_back(news); },
    [](const evaluation&) {},
    [=](const span_hash& news) { notes->hashes.push_back(news); },
    [=](const not_finite_report& news) { notes->not_finite.push_back(news); },
  };
}

inline relay_actor::behavior_type listening_relay(relay_actor::pointer, heard_of_shard* notes) {
  return {
    [](const contribution&) {},
    [](const boundary&) {},
    [](const segment_request&) {},
    [=](const parameter_span& news) { notes->announced.push_back(news); },
    [](const block_sums&) {},
    [](atom::held, uint64_t, uint64_t, uint64_t) {},
    [=](const shard_copy& news) { notes->copies.push_back(news); },
  };
}

inline replica_actor::behavior_type listening_replica(replica_actor::pointer,
                                                      std::vector<parameter_span>* notes) {
  return {
    [](const view&) {},
    [=](const parameter_span& news) { notes->push_back(news); },
    [](const horizon&) {},
    [](atom::hold, uint64_t) {},
    [](const summation&) {},
    [](const boundary&) {},
    [](const segment_parameters&) {},
    [](atom::tick) {},
    [](atom::status) { return replica_status{}; },
  };
}

inline constexpr size_t parameter_count = 3;

/// Two slices a step, plain descent with rate 1: v + 1 = v - (a + b) / samples.
class shard_alone : public ::testing::Test {
protected:
  shard_alone() {
    configure(config_);
    config_.set("scheduler.policy", caf::atom("testing"));
    system_.emplace(config_);
    scheduler_ = &dynamic_cast<caf::scheduler::test_coordinator&>(system_->scheduler());
    optimizer_options descent;
    descent.learning_rate = 1;
    options_.rule = make_optimizer(descent);
    options_.versions = std::make_shared<version_buffers>(parameter_count);
    options_.parameter_count = parameter_count;
    options_.plan = {8, 4, 2, 2, std::nullopt, 1}; // two steps an epoch
    std::ranges::fill(options_.versions->of(0).values(), 0.0f);
    options_.versions->of(0).values()[0] = 10;
    options_.checkpoint_every = 3;
    everybody_.term = 1;
    everybody_.number = 1;
    everybody_.director = system_->spawn(listening_director, &notes_);
    everybody_.relay = system_->spawn(listening_relay, &notes_);
    everybody_.replicas = {{system_->spawn(listening_replica, &announced_), {0, 2}}};
    everybody_.shards = {{system_->spawn(troupe::shard, options_), {0, 1}}};
    send(everybody_);
  }

  /// A shard with another plan, instead of the one there is.
  void begin_again(const timeline& plan) {
    options_.plan = plan;
    caf::anon_send_exit(everybody_.shards[0].actor, caf::exit_reason::kill);
    run();
    everybody_.shards[0].actor = system_->spawn(troupe::shard, options_);
    send(everybody_);
  }

  ~shard_alone() override {
    caf::anon_send_exit(everybody_.director, caf::exit_reason::kill);
    caf::anon_send_exit(everybody_.relay, caf::exit_reason::kill);
    caf::anon_send_exit(everybody_.replicas[0].actor, caf::exit_reason::kill);
    caf::anon_send_exit(everybody_.shards[0].actor, caf::exit_reason::kill);
    run();
  }

  void run() {
    while (scheduler_->try_run_once()) {
    }
  }

  template <class T>
  void send(const T& message) {
    caf::anon_send(everybody_.shards[0].actor, message);
    run();
  }

  contribution work(uint64_t step, tree_node node, float first, uint64_t replica = 0) {
    buffer values{parameter_count};
    values.values()[0] = first;
    return {step,    node,           0, payload{values, 0, parameter_count}, {1.5, 2, 0, 0},
            replica, everybody_.term};
  }

  void pass(std::chrono::milliseconds time) { scheduler_->advance_time(time); }

  trainer_figures ask_for_figures() {
    caf::scoped_actor self{*system_};
    auto handle =
      self->request(everybody_.shards[0].actor, std::chrono::seconds{5}, atom::figures_v);
    run();
    trainer_figures result;
    handle.receive([&](const trainer_figures& news) { result = news; },
                   [](const caf::error&) { FAIL(); });
    return result;
  }

  /// The first parameter of a version, or nothing with the error's code.
  std::optional<float> pull(uint64_t version) {
    caf::scoped_actor self{*system_};
    auto handle =
      self->request(everybody_.shards[0].actor, std::chrono::seconds{5}, atom::pull_v, version);
    run();
    std::optional<float> result;
    handle.receive(
      [&](const parameter_span& span) { result = span.values.values()[0]; },
      [&](const caf::error& problem) { EXPECT_EQ(problem, protocol_error::version_not_held); });
    return result;
  }

  heard_of_shard notes_;
  std::vector<parameter_span> announced_;
  view everybody_;

private:
  caf::actor_system_config config_;
  std::optional<caf::actor_system> system_;
  caf::scheduler::test_coordinator* scheduler_ = nullptr;
  shard_options options_;
};

} // namespace troupe::test
