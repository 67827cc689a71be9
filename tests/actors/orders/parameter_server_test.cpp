// What a parameter server tells its trainers, whatever its mode. Trainers, director and node are played; the
// policy is that of local rounds.

#include "actors/orders/parameter_server.hpp"
#include "actors/orders/rounds_policy.hpp"
#include "actors/run/train.hpp"
#include "tests/support/played_node.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace troupe::server_test {

namespace {

using test::note;

constexpr size_t parameter_count = 3;

struct heard_by_trainer {
  std::vector<trainer_order> orders;
  std::vector<evaluation_order> evaluations;
};

order_taker_actor::behavior_type played_trainer(order_taker_actor::pointer,
                                                heard_by_trainer* notes) {
  return {note(notes->orders), note(notes->evaluations)};
}

/// One member, whose rounds are epochs of one step, and three trainers: the last two have no work.
class one_member {
public:
  one_member() {
    configure(config_);
    config_.set("scheduler.policy", caf::atom("testing"));
    system_.emplace(config_);
    scheduler_ = &dynamic_cast<caf::scheduler::test_coordinator&>(system_->scheduler());
    server_options options;
    options.plan = {
      .row_count = 4, .batch_size = 4, .slice_count = 1, .epoch_count = 9, .step_limit = {}};
    options.rows = {3 * 256, 0}; // a chunk for each
    rounds_policy_options mode{options.plan, {}};
    mode.rounds.member_count = 1;
    mode.rounds.local_steps = 1;
    options.policy = std::make_shared<rounds_policy>(mode);
    server_ = system_->spawn(parameter_server, options);
    view everybody;
    everybody.term = everybody.number = 1;
    for (auto& notes : trainers) {
      actors_.push_back(system_->spawn(played_trainer, &notes));
      everybody.trainers.push_back({actors_.back()});
    }
    const auto versions =
      std::make_shared<version_buffers>(std::make_shared<buffer_pool>(parameter_count));
    std::ranges::fill(versions->of(0).values(), 1.0f); // a pool's buffers come as they are
    tell(shard_start{1, versions, {}, {}});
    tell(everybody);
    tell(horizon{{9, true}, 0});
  }

  ~one_member() {
    for (const auto& actor : actors_)
      caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(server_, caf::exit_reason::user_shutdown);
    run();
  }
  one_member(const one_member&) = delete;
  one_member& operator=(const one_member&) = delete;

  template <class T>
  void tell(const T& news) {
    caf::anon_send(server_, news);
    run();
  }

  /// The trainer with the member trains it for a round.
  void train() {
    const auto& order = trainers[0].orders.at(round_++);
    trainer_result result;
    result.ticket = order.ticket;
    result.first_step = order.first_step;
    result.values = order.parameters;
    result.sums = {1, 4, 4, 1};
    tell(result);
  }

  void lose(size_t trainer) {
    caf::anon_send_exit(actors_[trainer], caf::exit_reason::kill);
    run();
  }

  /// The versions that a trainer was to evaluate.
  std::vector<uint64_t> evaluated_by(size_t trainer) const {
    std::vector<uint64_t> result;
    for (const auto& order : trainers[trainer].evaluations)
      result.push_back(order.version);
    return result;
  }

  heard_by_trainer trainers[3];

private:
  size_t round_ = 0;

  void run() {
    while (scheduler_->try_run_once()) {
    }
  }

  caf::actor_system_config config_;
  std::optional<caf::actor_system> system_;
  caf::scheduler::test_coordinator* scheduler_ = nullptr;
  server_actor server_;
  std::vector<order_taker_actor> actors_;
};

} // namespace

TEST(server, a_lost_trainers_evaluations_go_to_another) {
  one_member run;
  run.train();
  run.train();
  ASSERT_EQ(run.evaluated_by(2), (std::vector<uint64_t>{1, 2}));
  run.lose(2);
  EXPECT_EQ(run.evaluated_by(0), (std::vector<uint64_t>{1, 2, 1, 2}));
}

TEST(server, an_answer_covers_what_was_asked_before_it_though_rows_are_complete) {
  one_member run;
  run.train();                     // version 1: to be evaluated, then the next order
  run.train();                     // the order's answer covers it; version 2, and an order
  run.tell(horizon{{9, true}, 3}); // version 2 need not be evaluated any more
  run.train();                     // version 3: to be evaluated after that answer
  run.lose(0);
  EXPECT_EQ(run.evaluated_by(1), (std::vector<uint64_t>{1, 2, 3, 3}));
}

} // namespace troupe::server_test
