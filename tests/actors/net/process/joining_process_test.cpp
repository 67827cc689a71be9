// Whole clusters that nodes join whose names no file lists.

#include "actors/net/process/process_gate.hpp"
#include "actors/net/socket/channel.hpp"
#include "tests/support/gates.hpp"
#include "tests/support/networked.hpp"

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <thread>

namespace troupe::joining_process_test {
namespace {

using namespace test;

cluster_plan open_plan(std::vector<cluster_node> nodes, size_t max_nodes) {
  auto plan = plan_of(std::move(nodes));
  plan.join = cluster_join{"join", "127.0.0.1:0", 1, 1};
  plan.max_nodes = max_nodes;
  return plan;
}

/// A process that is not in the plan, started.
std::unique_ptr<test_node> joined(const test_cluster& cluster, const std::string& name) {
  auto result = std::make_unique<test_node>(cluster.options_of_joiner(name));
  result->begin();
  return result;
}

TEST(joining_process, others_join_and_take_over_slices_and_then_spans) {
  auto cluster = started(endless_job(), open_plan({bringing(1, 1), bringing(1, 1)}, 4));
  wait_for_version(cluster[0], 20);
  const auto one = joined(cluster, "y");
  const auto two = joined(cluster, "x"); // y dials it
  EXPECT_TRUE(says(*one, "linked with x") && says(*one, "computes"));
  EXPECT_TRUE(says(*two, "linked with b") && says(*two, "computes"));
  cluster[1].leave();
  EXPECT_TRUE(says(*one, "keeps parameters") || says(*two, "keeps parameters"));
  const auto end = stopped_as_alone(cluster);
  EXPECT_EQ(end.training->summary.joins, 2u);
  EXPECT_EQ(end.training->summary.nodes, 4u);
  EXPECT_EQ(one->end().reason, "finished");
  EXPECT_EQ(two->end().reason, "finished");
}

/// Whether somebody comes to this port within the time.
bool is_dialled(uint16_t port, milliseconds patience) {
  const owned_socket door{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const int yes = 1;
  ::setsockopt(door.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  where.sin_port = htons(port);
  EXPECT_EQ(::bind(door.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where), 0);
  EXPECT_EQ(::listen(door.get(), 5), 0);
  pollfd waiting{door.get(), POLLIN, 0};
  return ::poll(&waiting, 1, static_cast<int>(patience.count())) > 0;
}

// The director says so: nobody would come back to an address that is another's by then.
TEST(joining_process, who_joined_and_is_gone_is_dialled_no_more) {
  auto plan = open_plan({bringing(1, 1)}, 3);
  plan.timeouts.lost_after = milliseconds{1'000}; // dials are half of it apart
  auto cluster = started(endless_job(), plan);
  const auto x = joined(cluster, "x");
  EXPECT_TRUE(says(*x, "linked with a"));
  const auto y = joined(cluster, "y");
  EXPECT_TRUE(says(*y, "linked with x"));
  const auto port = x->port();
  x->leave();
  EXPECT_TRUE(says(*y, "the link with x is lost"));
  EXPECT_TRUE(says(cluster[0], "the link with x is lost"));
  std::this_thread::sleep_for(milliseconds{1'000}); // until all have heard it
  EXPECT_FALSE(is_dialled(port, milliseconds{1'500}));
  stopped_as_alone(cluster);
  EXPECT_EQ(y->end().reason, "finished");
}

TEST(joining_process, no_more_of_them_take_part_than_may) {
  auto plan = open_plan({bringing(1, 1)}, 2);
  plan.timeouts.lost_after = milliseconds{1'500}; // a place is kept for so long
  auto cluster = started(endless_job(), plan);
  wait_for_version(cluster[0], 20);
  const auto one = joined(cluster, "x");
  EXPECT_TRUE(says(*one, "computes"));
  const auto two = joined(cluster, "y");
  EXPECT_TRUE(says(*two, "a cannot be reached: as many nodes are here as may be (max_nodes = 2)"));
  EXPECT_TRUE(says(cluster[0], "y may not join yet: as many nodes are here"));
  one->leave();
  EXPECT_TRUE(says(*two, "computes") || says(*two, "computes")) << "there is room";
  stopped_as_alone(cluster);
  EXPECT_EQ(two->end().reason, "finished");
}

// A group of two: who joins makes up a second one.
TEST(joining_process, others_make_up_further_groups_of_a_split_model) {
  auto x = endless_job();
  x.parallel.tensor = 2;
  x.model.cuts = 2;
  x.training.slices = 2;
  auto plan = open_plan({bringing(1, 1), bringing(1, 0)}, 4);
  plan.join->shard_count = 0;
  x.training.replicas = 1;
  auto cluster = started(x, plan);
  wait_for_version(cluster[0], 20);
  const auto one = joined(cluster, "x");
  const auto two = joined(cluster, "y");
  EXPECT_TRUE(says(*one, "computes") && says(*two, "computes"));
  cluster[0].stop();
  const auto end = cluster[0].end();
  auto shorter = x;
  shorter.training.steps = end.training->summary.steps;
  EXPECT_EQ(parameters_of(end), alone(shorter));
}

TEST(joining_process, of_a_run_that_is_over_those_that_are_not_listed_hear_too) {
  auto plan = open_plan({bringing(1, 1)}, 3);
  test_cluster cluster{small_job(), plan};
  auto options = cluster.options_of(0);
  options.cluster.nodes[0].address = "127.0.0.1:" + std::to_string(free_port());
  auto later = cluster.options_of_joiner("x");
  later.cluster.nodes[0].address = options.cluster.nodes[0].address;
  test_node x{later};
  x.begin();
  tell_that_it_is_over(options, "the run is finished (step 7)", milliseconds{3'000});
  EXPECT_EQ(x.end().reason, "the run is finished (step 7)");
}

TEST(joining_process, a_plan_that_cannot_let_others_join_is_refused) {
  auto plan = open_plan({bringing(1, 1), bringing(1, 1)}, 1);
  EXPECT_THROW(test_cluster(small_job(), plan).start(0), failure);
  plan.max_nodes.reset();
  EXPECT_THROW(test_cluster(small_job(), plan).start(0), failure);
}

} // namespace
} // namespace troupe::joining_process_test
