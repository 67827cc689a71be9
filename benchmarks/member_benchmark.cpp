// How many samples two replicas with rows of their own train on in a second, as members of a coordinator in one of their two
// processes, each gradient as it comes.
//
//   member_benchmark BATCH UPDATES
//
// A network 784-512-512-10, over loopback by plain connections whose records have checksums. Prints {"value": samples a
// second}; `benchmarks/compare --only members` runs it beside `troupe launch`. docs/benchmarks.md.

#include "actors/embed/coordinator.hpp"
#include "actors/embed/member_replica.hpp"
#include "actors/net/names/coordinator_link.hpp"
#include "actors/net/process/networked_process.hpp"
#include "models/network/neural_network.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

using namespace troupe;

namespace {

std::shared_ptr<const dataset> some_rows() {
  auto rows = std::make_shared<dataset>();
  rows->row_count = 6'400;
  rows->feature_count = 784;
  for (size_t i = 0; i < rows->row_count * rows->feature_count; ++i)
    rows->features.push_back(static_cast<float>(i * 7919 % 1'000) / 1'000);
  for (size_t i = 0; i < rows->row_count; ++i)
    rows->labels.push_back(static_cast<int32_t>(i % 10));
  rows->classes = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
  return rows;
}

std::shared_ptr<const model> network() {
  neural_network_options shape;
  shape.features = 784;
  shape.outputs = 10;
  shape.hidden = {512, 512};
  return std::make_shared<neural_network>(shape);
}

/// Samples a second between two versions.
double measure(caf::actor_system& system, const coordinator_actor& main, size_t batch,
               uint64_t updates) {
  caf::scoped_actor self{system};
  self->send(main, atom::watch_v, caf::actor_cast<model_listener_actor>(self));
  uint64_t version = 0, first = 0;
  std::chrono::steady_clock::time_point begin;
  while (version < first + updates || first == 0) {
    self->receive([&](const parameter_span& news) { version = news.version; });
    if (first == 0 && version >= 50) {
      first = version;
      begin = std::chrono::steady_clock::now();
    }
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  self->request(main, caf::infinite, atom::stop_v)
    .receive([](uint64_t) {}, [](const caf::error&) {});
  return static_cast<double>((version - first) * batch) / time.count();
}

/// `port`: where the process with the coordinator listens; 0 for that one itself, which tells it.
double in_one_of_two(uint16_t port, int port_pipe, size_t batch, uint64_t updates) {
  const bool is_home = port == 0;
  cluster_plan plan;
  plan.nodes = {{"home", "127.0.0.1:" + std::to_string(port), "", false},
                {"far", "127.0.0.1:0", "", false}};
  caf::actor_system_config config;
  configure_node(config, plan.timeouts);
  config.set("scheduler.max-threads", size_t{is_home ? 2u : 1u});
  caf::actor_system system{config};
  networked_names here{system, {plan, is_home ? "home" : "far"}};
  const auto listens_on = here.port();
  if (is_home && ::write(port_pipe, &listens_on, sizeof listens_on) != sizeof listens_on)
    std::abort();
  const auto shape = network();
  coordinator_actor main;
  if (is_home) {
    coordinator_options options;
    asynchronous_options rule;
    rule.gradients.optimizer.learning_rate = 0.001;
    options.members.rule = rule;
    options.members.members_min = 2;
    options.publish_every = 10;
    const buffer initial{shape->layout().size()};
    shape->initialize(0, initial.values());
    options.initial = initial;
    main = system.spawn(coordinate, options);
    here.publish("main", caf::actor_cast<caf::actor>(main));
  } else {
    main = find_coordinator(system, here, "main");
  }
  replica_of_rows options{.coordinator = main, .name = is_home ? "home" : "far", .network = shape};
  options.rows = std::make_shared<rows_in_memory>(some_rows());
  options.batch_size = batch;
  const auto replica = system.spawn(replicate, options);
  const auto result = is_home ? measure(system, main, batch, updates) : 0;
  caf::scoped_actor self{system};
  self->wait_for(replica);
  caf::anon_send_exit(main, caf::exit_reason::user_shutdown);
  return result;
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 3)
    return 2;
  const auto batch = std::strtoull(argv[1], nullptr, 10);
  const auto updates = std::strtoull(argv[2], nullptr, 10);
  int ends[2];
  if (::pipe(ends) != 0)
    std::abort();
  const auto child = ::fork(); // before there is any thread
  if (child == 0) {
    uint16_t port = 0;
    if (::read(ends[0], &port, sizeof port) != sizeof port)
      std::abort();
    in_one_of_two(port, -1, batch, updates);
    ::_exit(0);
  }
  std::printf("{\"value\": %.1f}\n", in_one_of_two(0, ends[1], batch, updates));
  int status = 0;
  if (::waitpid(child, &status, 0) != child || status != 0)
    std::abort();
}
