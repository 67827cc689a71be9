// Whole runs over real sockets: the bits are those of one process, whoever joins, leaves, or is
// refused.

#include "actors/net/process/networked_process.hpp"

#include "actors/net/gate/gate.hpp"
#include "actors/net/process/process_gate.hpp"
#include "actors/net/socket/channel.hpp"
#include "actors/protocol/status_messages.hpp"
#include "actors/run/model_writer.hpp"
#include "data/checkpoint/checkpoint_store.hpp"
#include "data/model_file/safetensors.hpp"
#include "data/text/failure.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/gates.hpp"
#include "tests/support/networked.hpp"
#include "tests/support/temporary_folder.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <gtest/gtest.h>

#include <netinet/in.h>

#include <sys/socket.h>

#include <fcntl.h>

#include <arpa/inet.h>
#include <poll.h>
#include <unistd.h>

#include <set>
#include <string>
#include <thread>

namespace troupe::networked_process_test {
namespace {

using namespace test;

/// Two blocks of parameters, so that two shards have a span each.
job small_job() {
  auto x = test::small_job();
  x.model.hidden = {512};
  return x;
}

/// Trains for seconds: what is to happen in mid-run has its time.
job long_job() {
  auto x = small_job();
  x.training.epochs = 1'600;
  x.training.evaluate_every = 100;
  return x;
}

failure_code code_of_end(test::test_node& node) {
  return test::failure_of([&] { node.end(); }, "").code();
}

TEST(networked_process, two_processes_train_the_bits_of_one) {
  const auto x = small_job();
  auto cluster = started(x, plan_of({bringing(1, 1), bringing(1, 1)}));
  const auto end = cluster[0].end();
  EXPECT_EQ(parameters_of(end), alone(x));
  EXPECT_EQ(end.training->summary.nodes, 2u);
  EXPECT_EQ(end.training->summary.replicas, 2u);
  EXPECT_GT(end.training->summary.bytes_sent(), 0u);
  const auto other = cluster[1].end();
  EXPECT_FALSE(other.training);
  EXPECT_EQ(other.reason, "finished");
}

TEST(networked_process, dedicated_servers_train_the_bits_of_one) {
  const auto x = small_job();
  auto cluster = started(x, plan_of({bringing(0, 2), bringing(1, 0), bringing(2, 0)}));
  EXPECT_EQ(parameters_of(cluster[0].end()), alone(x));
  EXPECT_EQ(cluster[1].end().reason, "finished");
  EXPECT_EQ(cluster[2].end().reason, "finished");
}

TEST(networked_process, a_director_that_stands_last_trains_the_bits_of_one) {
  auto x = small_job();
  x.optimizer.clip_norm = 0.5;
  auto cluster = started(x, plan_of({bringing(1, 1), bringing(0, 1), bringing(1, 0)}, 2));
  EXPECT_EQ(parameters_of(cluster[2].end()), alone(x));
  EXPECT_EQ(cluster[0].end().reason, "finished");
  EXPECT_EQ(cluster[1].end().reason, "finished");
}

/// Which way pieces go changes no bit, whoever is lost.
class carried_runs : public testing::TestWithParam<carrier_choice> {};

TEST_P(carried_runs, train_the_bits_of_one_whoever_is_lost) {
  auto x = long_job();
  x.training.epochs *= 3; // reports, which say the way, come once a second
  auto plan = plan_of({bringing(1, 1), bringing(1, 1), bringing(1, 0)});
  plan.carrier = GetParam();
  test_cluster cluster{x, plan};
  std::set<carrier_choice> seen; // by the director's thread that waits, until it ends
  auto options = cluster.options_of(0);
  options.on_status = [&](const training_status& status) {
    for (const auto& link : status.links)
      seen.insert(link.carrier);
  };
  cluster.start(0, options);
  cluster.start(1);
  cluster.start(2);
  wait_for_version(cluster[0], 50);
  cluster[2].leave();
  const auto end = cluster[0].end();
  EXPECT_EQ(parameters_of(end), alone(x));
  EXPECT_EQ(end.training->summary.replicas_lost, 1u);
  EXPECT_EQ(cluster[1].end().reason, "finished");
  const auto wanted = GetParam() == carrier_choice::automatic ? carrier_choice::memory : GetParam();
  EXPECT_TRUE(seen.contains(wanted));
}

INSTANTIATE_TEST_SUITE_P(each_way, carried_runs,
                         testing::Values(carrier_choice::automatic, carrier_choice::messages,
                                         carrier_choice::socket, carrier_choice::memory));

// A service manager stops all processes at once: the director needs the others for its result.
TEST(networked_process, worker_that_is_stopped_with_the_director_stays_for_the_result) {
  const auto x = long_job();
  auto cluster = started(x, plan_of({bringing(1, 1), bringing(1, 1)}));
  wait_for_version(cluster[0], 50);
  cluster[1].stop();
  cluster[0].stop();
  const auto end = cluster[0].end();
  ASSERT_TRUE(end.training);
  EXPECT_GE(end.training->summary.steps, 50u);
  EXPECT_EQ(end.training->summary.stopped_by, "interrupt");
  EXPECT_EQ(end.training->summary.replicas_lost, 0u);
  EXPECT_EQ(cluster[1].end().reason, "finished");
}

TEST(networked_process, nobody_is_told_of_an_end_before_the_result_is_kept) {
  test_cluster cluster{small_job(), plan_of({bringing(1, 1), bringing(1, 1)})};
  auto options = cluster.options_of(0);
  options.keep = [](training_result& result) {
    EXPECT_FALSE(result.parameters.values().empty());
    throw failure(failure_code::io_error, "the disk is full");
  };
  cluster.start(0, options);
  cluster.start(1);
  EXPECT_EQ(code_of_end(cluster[0]), failure_code::io_error);
  EXPECT_EQ(code_of_end(cluster[1]), failure_code::io_error);
}

TEST(networked_process, a_lost_span_goes_back_and_changes_no_bit) {
  const auto x = long_job();
  auto cluster = started(x, plan_of({bringing(1, 1), bringing(1, 1)}));
  wait_for_version(cluster[0], 50);
  cluster[1].leave();
  const auto end = cluster[0].end();
  EXPECT_EQ(parameters_of(end), alone(x));
  EXPECT_EQ(end.training->summary.rollbacks, 1u);
}

TEST(networked_process, a_process_that_starts_again_joins_at_once) {
  const auto x = long_job();
  auto cluster = started(x, plan_of({bringing(1, 1), bringing(1, 0)}));
  wait_for_version(cluster[0], 50);
  cluster[1].leave();
  cluster.start(1);
  const auto end = cluster[0].end();
  EXPECT_EQ(parameters_of(end), alone(x));
  EXPECT_GE(end.training->summary.views, 3u);
  EXPECT_EQ(cluster[1].end().reason, "finished");
}

// Whoever has the other file, job or data. Where the files have different orders nobody would dial: b thinks
// that the director does, and the director that b does.
TEST(networked_process, who_differs_is_refused_by_what_differs) {
  using change = std::function<void(networked_options&)>;
  const change other_job = [](auto& x) { x.resolved.seed = 99; };
  const change other_data = [](auto& x) {
    auto other = small_job();
    other.data.rows = 100;
    x.data = load_data(other);
  };
  const change other_file = [](auto& x) { x.cluster.nodes[0].replica_count = 12; };
  const change other_order = [](auto& x) { std::swap(x.cluster.nodes[0], x.cluster.nodes[1]); };
  const struct {
    size_t director;
    size_t shards; ///< of the second process
    const change& make_other;
    const char* said;
  } rows[] = {{0, 0, other_job, "a and b differ in their job: seed = 5 and 99;"},
              {0, 0, other_data, "a and b differ in their data: rows = 200 and 100;"},
              {0, 1, other_file, "replicas of node a = "},
              {1, 1, other_file, "replicas of node a = "},
              {0, 1, other_order, "differ in their cluster file: node 1 = "}};
  for (const auto& [director, shards, make_other, said] : rows) {
    SCOPED_TRACE(said);
    test_cluster cluster{small_job(), plan_of({bringing(1, 1), bringing(1, shards)}, director)};
    for (const auto i : {director, 1 - director}) {
      auto options = cluster.options_of(i);
      if (i == 1)
        make_other(options);
      cluster.start(i, options);
    }
    EXPECT_EQ(code_of_end(cluster[1 - director]), failure_code::mismatch);
    EXPECT_FALSE(cluster[director].has_ended(milliseconds{300})) << "it waits for the right one";
    EXPECT_TRUE(says(cluster[director], said)) << cluster[director].news();
  }
}

TEST(networked_process, a_name_in_use_is_refused) {
  test_cluster cluster{long_job(), plan_of({bringing(1, 1), bringing(1, 0), bringing(0, 0)})};
  cluster.start(0);
  cluster.start(1);
  wait_for_version(cluster[0], 10);
  auto options = cluster.options_of(1);
  options.cluster.nodes[1].address = "127.0.0.1:0";
  test::test_node twin{options};
  twin.begin();
  EXPECT_EQ(code_of_end(twin), failure_code::no_permission);
  EXPECT_FALSE(cluster[1].has_ended(milliseconds{0}));
}

TEST(networked_process, a_director_that_never_comes_is_given_up) {
  auto plan = plan_of({bringing(1, 1), bringing(1, 0)});
  plan.timeouts.join = milliseconds{1'000};
  plan.nodes[0].address = "127.0.0.1:1";
  test_cluster cluster{small_job(), plan};
  EXPECT_EQ(code_of_end(cluster.start(1)), failure_code::unavailable);
}

TEST(networked_process, a_director_lost_for_too_long_is_given_up) {
  auto plan = plan_of({bringing(1, 1), bringing(1, 0)});
  plan.timeouts.join = milliseconds{1'000};
  test_cluster cluster{long_job(), plan};
  cluster.start_all();
  wait_for_version(cluster[0], 10);
  cluster[0].leave();
  EXPECT_EQ(code_of_end(cluster[1]), failure_code::unavailable);
}

TEST(networked_process, a_stop_on_the_director_ends_all_at_a_version) {
  const auto x = long_job();
  auto cluster = started(x, plan_of({bringing(1, 1), bringing(1, 0)}));
  wait_for_version(cluster[0], 20);
  cluster[0].stop();
  const auto end = cluster[0].end();
  ASSERT_TRUE(end.training);
  EXPECT_EQ(end.training->summary.stopped_by, "interrupt");
  auto shorter = x;
  shorter.training.steps = end.training->summary.steps;
  EXPECT_EQ(parameters_of(end), alone(shorter));
  EXPECT_EQ(cluster[1].end().reason, "finished");
}

TEST(networked_process, of_a_run_that_is_over_all_hear_at_once) {
  auto plan = plan_of({bringing(1, 1), bringing(1, 0), bringing(1, 0)}, 1);
  plan.timeouts.join = milliseconds{20'000};
  test_cluster cluster{small_job(), plan};
  auto options = cluster.options_of(1);
  options.cluster.nodes[1].address = "127.0.0.1:" + std::to_string(free_port());
  for (const size_t i : {0, 2}) {
    auto others = cluster.options_of(i);
    others.cluster.nodes[1].address = options.cluster.nodes[1].address;
    cluster.start(i, others);
  }
  tell_that_it_is_over(options, "the run is finished (step 7)", milliseconds{10'000});
  EXPECT_EQ(cluster[0].end().reason, "the run is finished (step 7)");
  EXPECT_EQ(cluster[2].end().reason, "the run is finished (step 7)");
}

TEST(networked_process, of_a_run_that_is_over_nobody_is_waited_for_in_vain) {
  test_cluster cluster{small_job(), plan_of({bringing(1, 1), bringing(1, 0)})};
  const auto begin = moment::clock::now();
  tell_that_it_is_over(cluster.options_of(0), "the run is finished", milliseconds{200});
  EXPECT_LT(moment::clock::now() - begin, milliseconds{5'000});
}

TEST(networked_process, a_port_in_use_is_named) {
  test_cluster cluster{small_job(), plan_of({bringing(1, 1), bringing(1, 0)})};
  cluster.start(0);
  auto options = cluster.options_of(1);
  options.cluster.nodes[1].address = cluster.plan().nodes[0].address;
  const auto error = test::failure_of([&] { test::test_node second{options}; });
  EXPECT_EQ(error.code(), failure_code::cannot_create);
}

TEST(networked_process, a_plan_without_one_director_is_refused) {
  auto plan = plan_of({bringing(1, 1), bringing(1, 0)}, 7);
  test_cluster cluster{small_job(), plan};
  EXPECT_THROW(cluster.start(0), failure);
}

/// But for the last byte, in which CAF counts the systems of a process.
std::string identity() {
  caf::actor_system_config config;
  configure_node(config, {});
  const caf::actor_system system{config};
  return to_string(system.node()).substr(0, 38);
}

// By process number and network card they are one.
TEST(node_identity, is_another_each_time) {
  const auto first = identity();
  EXPECT_EQ(first.size(), 38u);
  EXPECT_NE(first, identity());
}

// A listening socket that whoever started this process has bound: the gate takes it as it is.

// Bound to any port of the address, as `troupe launch` leaves it.
int bound_socket(uint32_t address) {
  const int result = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(address);
  EXPECT_EQ(bind(result, reinterpret_cast<const sockaddr*>(&where), sizeof where), 0);
  return result;
}

gate_options options_with(int descriptor) {
  gate_options result;
  result.listen = parse_endpoint("127.0.0.1:1"); // not permitted: it must not be asked for
  result.inherited_listen_fd = descriptor;
  return result;
}

TEST(inherited_listener, gate_listens_on_it_and_says_its_port) {
  const int descriptor = bound_socket(INADDR_LOOPBACK);
  sockaddr_in where{};
  socklen_t size = sizeof where;
  getsockname(descriptor, reinterpret_cast<sockaddr*>(&where), &size);
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_NE(connect(client, reinterpret_cast<const sockaddr*>(&where), size), 0)
    << "nobody listens before the gate does";
  close(client);
  const gate here{options_with(descriptor)};
  EXPECT_EQ(here.port(), ntohs(where.sin_port));
  const int second = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(connect(second, reinterpret_cast<const sockaddr*>(&where), size), 0);
  close(second);
  EXPECT_NE(fcntl(descriptor, F_GETFD) & FD_CLOEXEC, 0) << "no further process is to have it";
  EXPECT_NE(fcntl(descriptor, F_GETFL) & O_NONBLOCK, 0);
}

TEST(inherited_listener, gate_closes_it) {
  const int descriptor = bound_socket(INADDR_LOOPBACK);
  { const gate here{options_with(descriptor)}; }
  EXPECT_LT(fcntl(descriptor, F_GETFD), 0);
}

TEST(inherited_listener, address_that_others_reach_needs_consent_too) {
  EXPECT_THROW(gate{options_with(bound_socket(INADDR_ANY))}, failure);
  auto options = options_with(bound_socket(INADDR_ANY));
  options.plan.insecure = true;
  EXPECT_NO_THROW(gate{options});
}

TEST(inherited_listener, descriptor_that_is_no_socket_is_refused) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const auto error = test::failure_of([&] { const gate here{options_with(ends[0])}; });
  EXPECT_EQ(error.code(), failure_code::io_error);
  EXPECT_NE(error.reason().find("inherited descriptor " + std::to_string(ends[0])),
            std::string::npos);
  close(ends[1]);
}

// A director that has a folder holds no whole model: the best version, the result and the model file are
// what they would be in memory, and nothing is left in the folder.

/// Three blocks of parameters in working order; it gets worse again after its best version.
job cut_job() {
  auto x = test::small_job();
  x.model.hidden = {600, 8};
  x.model.cuts = 2;
  x.data.validation_fraction = 0.2;
  x.optimizer.learning_rate = 0.5;
  x.training.epochs = 6;
  x.training.keep_best = true;
  return x;
}

struct outcome {
  training_result result;
  std::vector<float> parameters;
  std::string file;
};

/// Two processes with a span each; the director's has these options.
outcome train_in_two(const job& x, const std::function<void(networked_options&)>& change,
                     const std::string& model_file) {
  test::test_cluster cluster{x, plan_of({bringing(1, 1), bringing(1, 1)})};
  auto options = cluster.options_of(0);
  change(options);
  outcome found;
  options.keep = [&](training_result& result) { found.file = write_model(model_file, result); };
  cluster.start(0, options);
  cluster.start(1);
  found.result = *cluster[0].end().training;
  EXPECT_EQ(cluster[1].end().reason, "finished");
  return found;
}

TEST(model_in_files, result_and_model_file_are_those_of_memory_and_nothing_is_left) {
  const temporary_folder folder, scratch;
  for (const bool keeps_best : {true, false}) {
    auto x = cut_job();
    x.training.keep_best = keeps_best;
    const auto alone = test::train_on(2, x);
    write_model(folder.path("alone"), alone);
    const auto in_memory = train_in_two(
      x, [](networked_options&) {}, folder.path("memory"));
    EXPECT_TRUE(in_memory.result.parameters.is_in_memory());
    const auto in_files = train_in_two(
      x, [&](networked_options& options) { options.scratch_folder = scratch.path(); },
      folder.path("files"));
    EXPECT_FALSE(in_files.result.parameters.is_in_memory());
    EXPECT_EQ(in_files.result.summary.best_version, alone.summary.best_version);
    for (const auto* one : {&in_memory, &in_files}) {
      EXPECT_EQ(one->file, alone.summary.parameters_sha256);
      EXPECT_EQ(one->result.summary.parameters_sha256, alone.summary.parameters_sha256);
      EXPECT_EQ(values_of(one->result.parameters), values_of(alone.parameters));
    }
    EXPECT_EQ(read_safetensors(folder.path("files")).values,
              read_safetensors(folder.path("alone")).values);
    EXPECT_TRUE(posix_disk()->list(scratch.path()).empty());
  }
}

TEST(model_in_files, what_goes_on_from_a_checkpoint_takes_its_best_version_from_it) {
  const temporary_folder folder, models;
  auto x = cut_job();
  const auto alone = test::train_on(2, x);
  ASSERT_TRUE(alone.summary.best_version);
  ASSERT_LT(*alone.summary.best_version, 20u) << "else nothing of it comes from the checkpoint";
  x.checkpoint.every_steps = 4;
  const auto store = std::make_shared<checkpoint_store>(posix_disk(), folder.path(), 100);
  const auto whole = train_in_two(
    x, [&](networked_options& options) { options.checkpoints = store; }, models.path("whole"));
  EXPECT_EQ(whole.file, alone.summary.parameters_sha256);
  const auto versions = store->versions();
  ASSERT_GE(versions.size(), 5u);
  const auto resumed = train_in_two(
    x,
    [&](networked_options& options) {
      options.resume_from = store->open(20).contents();
      EXPECT_FALSE(options.resume_from->parameters.is_in_memory());
    },
    models.path("resumed"));
  EXPECT_EQ(resumed.file, alone.summary.parameters_sha256);
  EXPECT_EQ(store->versions(), versions);
}

} // namespace
} // namespace troupe::networked_process_test
