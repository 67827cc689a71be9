// A replica that adds what other replicas of its process computed.

#include "troupe/actors/protocol/seam_messages.hpp"
#include "troupe/actors/step/replica.hpp"
#include "troupe/tests/support/training.hpp"

#include <gtest/gtest.h>

namespace troupe::replica_sums_test {

namespace {

using namespace std::chrono_literals;

relay_actor::behavior_type contribution_listener(relay_actor::pointer,
                                                 std::vector<contribution>* heard) {
  return {
    [=](const contribution& news) { heard->push_back(news); },
    [](const seam&) {},
    [](const segment_request&) {},
    [](const parameter_span&) {},
    [](const block_sums&) {},
    [](atom::held, uint64_t, uint64_t, uint64_t) {},
    [](const shard_copy&) {},
  };
}

} // namespace

TEST(replica_sums, what_others_computed_takes_no_time_but_that_of_adding) {
  caf::actor_system_config config;
  configure(config);
  config.set("scheduler.policy", caf::atom("testing"));
  caf::actor_system system{config};
  auto& scheduler = dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  const auto run = [&] {
    while (scheduler.try_run_once()) {
    }
  };
  std::vector<contribution> heard;
  replica_options options;
  options.gradients = std::make_shared<buffer_pool>(2);
  options.plan = {8, 4, 2, 2, std::nullopt, 1};
  const auto adder = system.spawn(replica, options);
  view news;
  news.term = 1;
  news.relay = system.spawn(contribution_listener, &heard);
  news.replicas = {{adder, {}}};
  caf::anon_send(adder, news);
  run();
  scheduler.advance_time(1h); // since the machine began, say
  buffer part{2};
  part.values()[0] = 3;
  part.values()[1] = 4;
  const contribution one{5, {0, 1}, 0, payload{part, 0, 2}, {1.5, 2, 0, 0}, 0, 1};
  caf::anon_send(adder, summation{1, 5, {0, 1}, {{0}}, {one}});
  run();
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].gradient_sum.values()[1], 4);
  EXPECT_EQ(heard[0].computed, 0ns) << "the test's clock stands still meanwhile";
  caf::anon_send_exit(adder, caf::exit_reason::kill);
  caf::anon_send_exit(news.relay, caf::exit_reason::kill);
  run();
}

} // namespace troupe::replica_sums_test
