#include "app/cluster/node_choice.hpp"

#include "app/cluster/child_processes.hpp"
#include "app/cluster/cluster_address.hpp"
#include "app/cluster/cluster_schema.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/failure_of.hpp"
#include <gtest/gtest.h>

#include <csignal>

#include <sys/socket.h>
#include <unistd.h>

namespace troupe::node_choice_test {
namespace {

cluster_plan plan_of(const std::vector<std::string>& addresses) {
  cluster_plan result;
  for (const auto& address : addresses)
    result.nodes.push_back(
      {"w" + std::to_string(result.nodes.size()), address, address, result.nodes.empty(), 1, 1});
  return result;
}

uint16_t port_of(const std::string& address) {
  endpoint x;
  EXPECT_FALSE(read_address(address, x)) << address;
  return x.port;
}

TEST(node_choice, node_is_the_one_that_was_named) {
  const auto plan = plan_of({"127.0.0.1:1", "127.0.0.1:2"});
  EXPECT_EQ(choose_name(plan, "w1", "w0"), "w1");
}

TEST(node_choice, without_a_name_it_is_the_one_called_as_the_machine) {
  const auto plan = plan_of({"127.0.0.1:1", "127.0.0.1:2"});
  EXPECT_EQ(choose_name(plan, "", "w1"), "w1");
  EXPECT_EQ(choose_name(plan, "", "w1.example.com"), "w1");
  const auto error = test::failure_of([&] { choose_name(plan, "", "other"); });
  EXPECT_EQ(error.code(), failure_code::usage);
  EXPECT_EQ(error.hint(), "add --name and one of: w0, w1");
}

TEST(node_choice, without_a_name_the_rank_counts_more_than_the_machine) {
  const auto plan = plan_of({"127.0.0.1:1", "127.0.0.1:2"});
  EXPECT_EQ(choose_name(plan, "", "w0", node_rank{1, "PMI_RANK"}), "w1");
  EXPECT_EQ(choose_name(plan, "w0", "w1", node_rank{1, "PMI_RANK"}), "w0") << "a name counts most";
  const auto error = test::failure_of([&] {
    choose_name(plan, "", "w0", node_rank{2, "PMI_RANK"});
  });
  EXPECT_EQ(error.code(), failure_code::usage);
  EXPECT_EQ(error.where(), "PMI_RANK");
  EXPECT_EQ(error.hint(), "start as many processes as there are nodes: w0, w1");
}

TEST(node_choice, where_others_may_join_a_name_need_not_be_listed) {
  auto plan = plan_of({"127.0.0.1:1", "127.0.0.1:2"});
  plan.join.emplace();
  EXPECT_EQ(choose_name(plan, "x", "w0"), "x");
  EXPECT_EQ(choose_name(plan, "", "w0.example.com"), "w0");
  EXPECT_EQ(choose_name(plan, "", "pod-7f.example.com"), "pod-7f");
  EXPECT_EQ(choose_name(plan, "", "w0", node_rank{1, "PMI_RANK"}), "w1");
  EXPECT_EQ(choose_name(plan, "", "w0", node_rank{5, "PMI_RANK"}), "join-5");
  const auto drawn = choose_name(plan, "", "NO NAME");
  EXPECT_EQ(drawn.substr(0, 5), "join-");
  EXPECT_TRUE(is_node_name(drawn)) << drawn;
  const auto error = test::failure_of([&] { choose_name(plan, "No Name", "w0"); });
  EXPECT_EQ(error.code(), failure_code::usage);
  EXPECT_EQ(error.reason(), "'No Name' is no name for a node");
}

TEST(node_choice, who_is_not_listed_brings_what_the_file_says_of_joiners) {
  loaded_cluster cluster;
  cluster.plan = plan_of({"127.0.0.1:1", "127.0.0.1:2"});
  cluster.plan.join = cluster_join{"guest", "127.0.0.1:0", 3, 2};
  cluster.tls =
    cluster_tls{"ca.pem", {{"w0.pem", "w0.key"}, {"w1.pem", "w1.key"}}, {"g.pem", "g.key"}};
  EXPECT_EQ(take_node(cluster, "w1"), 1u);
  EXPECT_EQ(take_node(cluster, "x"), 2u);
  const auto& node = cluster.plan.nodes[2];
  EXPECT_EQ(node.name, "x");
  EXPECT_EQ(node.listen, "127.0.0.1:0");
  EXPECT_EQ(node.replica_count, 3u);
  EXPECT_EQ(node.shard_count, 2u);
  EXPECT_FALSE(node.is_listed || node.is_director);
  EXPECT_EQ(tls_of(cluster, 2)->certificate, "g.pem");
  EXPECT_EQ(cluster.plan.proof_name("x"), "guest");
  EXPECT_EQ(cluster.plan.proof_name("w1"), "w1");
}

TEST(node_choice, who_is_not_listed_needs_no_address_but_one_that_can_be_dialled) {
  loaded_cluster cluster;
  cluster.plan = plan_of({"127.0.0.1:1"});
  cluster.plan.join.emplace();
  cluster.places = {"here"};
  const auto index = take_node(cluster, "x");
  EXPECT_NO_THROW(expect_ports(cluster));
  for (const auto* address : {"10.0.0.7:0", "0.0.0.0:7400", "[::]:7400"}) {
    cluster.plan.nodes[index].address = address;
    EXPECT_THROW(expect_ports(cluster), job_errors) << address;
  }
  cluster.plan.nodes[index].address = "10.0.0.7:7400";
  EXPECT_NO_THROW(expect_ports(cluster));
}

TEST(node_rank, launchers_say_it_in_variables_of_their_own) {
  EXPECT_FALSE(find_rank({{"HOME", "/root"}, {"HOSTNAME", "pod-3"}}, "pod-3"));
  for (const auto* name : {"TROUPE_NODE_INDEX", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"})
    EXPECT_EQ(find_rank({{name, "2"}}, "pod-3"), (node_rank{2, name}));
}

TEST(node_rank, mpirun_within_a_batch_script_counts_more_than_the_script) {
  EXPECT_EQ(find_rank({{"SLURM_PROCID", "0"}, {"OMPI_COMM_WORLD_RANK", "4"}}, "a")->index, 4u);
  EXPECT_EQ(find_rank({{"SLURM_PROCID", "0"}, {"PMI_RANK", "5"}}, "a")->index, 5u);
  EXPECT_EQ(find_rank({{"PMI_RANK", "0"}, {"TROUPE_NODE_INDEX", "6"}}, "a")->index, 6u);
}

TEST(node_rank, ordinal_of_a_pod_counts_when_asked_for) {
  const environment asked{{"TROUPE_NODE_FROM_HOSTNAME", "1"}, {"SLURM_PROCID", "7"}};
  EXPECT_EQ(find_rank(asked, "troupe-12"), (node_rank{12, "TROUPE_NODE_FROM_HOSTNAME"}));
  EXPECT_EQ(find_rank(asked, "a-troupe-3.svc-4.cluster.local")->index, 3u);
  for (const auto* host : {"troupe", "troupe-", "troupe-x", "12"})
    EXPECT_EQ(test::failure_of([&] { find_rank(asked, host); }).code(), failure_code::usage)
      << host;
  EXPECT_FALSE(find_rank({{"TROUPE_NODE_FROM_HOSTNAME", "0"}}, "troupe-12"));
}

TEST(node_rank, what_is_no_number_is_refused_by_the_variables_name) {
  for (const auto* text : {"", "-1", "1x", "99999999999999999999"}) {
    const auto error = test::failure_of([&] { find_rank({{"PMI_RANK", text}}, "a"); });
    EXPECT_EQ(error.code(), failure_code::usage) << text;
    EXPECT_EQ(error.where(), "PMI_RANK");
  }
}

TEST(node_choice, unknown_names_are_refused_with_a_suggestion) {
  auto plan = plan_of({"127.0.0.1:1", "127.0.0.1:2"});
  plan.nodes[1].name = "worker";
  const auto near = test::failure_of([&] { choose_name(plan, "wroker", "w0"); });
  EXPECT_EQ(near.code(), failure_code::usage);
  EXPECT_EQ(near.hint(), "did you mean 'worker'?");
  EXPECT_EQ(test::failure_of([&] { choose_name(plan, "elephant", "w0"); }).hint(),
            "use one of: w0, worker");
}

TEST(node_choice, every_address_needs_a_port) {
  loaded_cluster x;
  x.plan = plan_of({"127.0.0.1:1", "127.0.0.1:0", "[::1]:0"});
  x.places = {"f:1:1", "f:2:1", "f:3:1"};
  try {
    expect_ports(x);
    FAIL();
  } catch (const job_errors& error) {
    ASSERT_EQ(error.errors().size(), 2u);
    EXPECT_EQ(error.errors()[0].where, "f:2:1");
    EXPECT_EQ(error.errors()[1].where, "f:3:1");
  }
  x.plan = plan_of({"127.0.0.1:1"});
  EXPECT_NO_THROW(expect_ports(x));
}

TEST(cluster_address, picked_ports_are_written_into_the_plan) {
  auto plan = plan_of({"127.0.0.1:0", "localhost:0"});
  plan.nodes[1].listen = "127.0.0.1:0";
  const bound_sockets sockets{plan, {"a", "b"}};
  for (size_t i = 0; i < 2; ++i) {
    const auto port = port_of(plan.nodes[i].address);
    EXPECT_GT(port, 0);
    EXPECT_EQ(port_of(plan.nodes[i].listen), port);
    ASSERT_EQ(listen(sockets.descriptor(i), 1), 0) << "bound, not listening yet";
  }
  EXPECT_TRUE(plan.nodes[1].address.starts_with("localhost:"));
  EXPECT_NE(plan.nodes[0].address, plan.nodes[1].address);
}

TEST(cluster_address, address_in_use_is_told_with_its_place) {
  auto first = plan_of({"127.0.0.1:0"});
  const bound_sockets holder{first, {"a"}};
  auto second = plan_of({first.nodes[0].address});
  listen(holder.descriptor(0), 1);
  const auto error = test::failure_of([&] { bound_sockets{second, {"file:3:1"}}; });
  EXPECT_EQ(error.code(), failure_code::cannot_create);
  EXPECT_EQ(error.where(), "file:3:1");
  EXPECT_TRUE(test::contains(error.hint(), "port 0"));
}

TEST(cluster_address, address_of_another_machine_is_refused) {
  auto plan = plan_of({"192.0.2.1:7400"}); // for documentation: nobody's
  const auto error = test::failure_of([&] { bound_sockets{plan, {"file:3:1"}}; });
  EXPECT_EQ(error.code(), failure_code::missing_input);
  EXPECT_TRUE(test::contains(error.hint(), "troupe node"));
}

TEST(cluster_address, fixed_port_is_free_again_once_the_sockets_are_closed) {
  auto plan = plan_of({"127.0.0.1:0"});
  bound_sockets sockets{plan, {"a"}};
  listen(sockets.descriptor(0), 1);
  sockets.close_all();
  EXPECT_NO_THROW((bound_sockets{plan, {"a"}}));
}

TEST(cluster_address, options_carry_addresses_from_process_to_process) {
  auto told = plan_of({"127.0.0.1:0", "[::1]:0"});
  told.nodes[1].listen = "[::]:0";
  auto picked = told;
  picked.nodes[0].address = "127.0.0.1:5";
  picked.nodes[1].address = "[::1]:6";
  apply_addresses(told, {address_option(picked.nodes[0]), address_option(picked.nodes[1])});
  EXPECT_EQ(told.nodes[0].address, "127.0.0.1:5");
  EXPECT_EQ(told.nodes[0].listen, "127.0.0.1:5");
  EXPECT_EQ(told.nodes[1].address, "[::1]:6");
  EXPECT_EQ(told.nodes[1].listen, "[::]:6");
}

TEST(cluster_address, wrong_options_are_refused) {
  for (const auto* text : {"w0", "w0=", "=127.0.0.1:5", "w9=127.0.0.1:5", "w0=127.0.0.1"}) {
    auto plan = plan_of({"127.0.0.1:0"});
    const auto error = test::failure_of([&] { apply_addresses(plan, {text}); });
    EXPECT_EQ(error.code(), failure_code::usage) << text;
    EXPECT_EQ(plan, plan_of({"127.0.0.1:0"}));
  }
}

TEST(launch_report, says_who_failed_how_and_with_which_words) {
  EXPECT_EQ(failed_node_text({"w1", {76, 0}, {"one", "two"}}, false),
            "troupe: error: node 'w1' failed first: exit code 76 (mismatch)\n  its last lines:\n"
            "    one\n    two\n");
  EXPECT_EQ(failed_node_text({"w1", {0, SIGKILL}, {}}, true),
            "troupe: warning: node 'w1' was lost, the others did its work: killed by signal 9 "
            "(Killed)\n");
  EXPECT_EQ(end_text({3, 0}), "exit code 3");
}

TEST(launch_report, a_stop_signal_is_told_by_its_name) {
  EXPECT_EQ(killed_director({0, SIGKILL}, 130).code(), failure_code::interrupted);
  EXPECT_EQ(killed_director({0, SIGKILL}, 143).code(), failure_code::terminated);
  EXPECT_EQ(killed_director({0, SIGKILL}, 137).code(), failure_code::internal);
  EXPECT_EQ(killed_director({0, SIGTERM}, 78).code(), failure_code::bad_job);
  EXPECT_EQ(killed_director({0, SIGTERM}, 78).reason(),
            "another node failed first, so the director was stopped: exit code 78 (bad-job)");
  EXPECT_EQ(killed_director({0, SIGKILL}, 137).reason(),
            "the director was killed by signal 9 (Killed)");
}

} // namespace
} // namespace troupe::node_choice_test
