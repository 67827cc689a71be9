// An application is a node of a cluster: replicas and a shard of the run live in the application's
// actor system, beside an actor of its own that goes on working. The other node is `troupe node`,
// the director; both read one cluster file, and examples/cluster/embedded_node.toml says how to start them.
//
//   example_embedded_node [CLUSTER.toml]
//
// It prints:
//
//   linked with main
//   finished
//   the application's own actor was at work all the time
//
// Run it from the folder that holds examples/.

#include <troupe/job_files.hpp>
#include <troupe/node.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <stdexcept>
#include <string>

namespace {

using namespace std::chrono_literals;

// A tick to itself; and a question, answered with the longest time it was kept from its work.
using worker_actor =
  caf::typed_actor<caf::reacts_to<caf::tick_atom>, caf::replies_to<caf::get_atom>::with<double>>;

struct work {
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
  double pause_max = 0; // seconds
};

worker_actor::behavior_type worker(worker_actor::stateful_pointer<work> self) {
  self->send(self, caf::tick_atom_v);
  return {[self](caf::tick_atom) {
            const auto now = std::chrono::steady_clock::now();
            const std::chrono::duration<double> pause = now - self->state.last;
            self->state.last = now;
            self->state.pause_max = std::max(self->state.pause_max, pause.count());
            self->delayed_send(self, 10ms, caf::tick_atom_v);
          },
          [self](caf::get_atom) { return self->state.pause_max; }};
}

void take_part(const std::string& file) {
  const auto cluster = troupe::load_cluster(file);
  caf::actor_system_config config;
  troupe::configure_node(config, cluster.plan.timeouts);
  caf::actor_system system{config};
  const auto mine = system.spawn(worker);
  troupe::take_part_options options;
  options.on_news = [](const std::string& line) {
    if (line.starts_with("linked"))
      std::cout << line << '\n';
  };
  const auto end = troupe::take_part(system, cluster.job.value, cluster.plan, "app", options);
  std::cout << end.reason << '\n';
  caf::scoped_actor self{system};
  self->request(mine, 10s, caf::get_atom_v)
    .receive(
      [](double pause_max) {
        std::cout << "the application's own actor was "
                  << (pause_max < 1 ? "at work all the time\n" : "kept from its work\n");
      },
      [&](const caf::error& problem) { throw std::runtime_error(system.render(problem)); });
  caf::anon_send_exit(mine, caf::exit_reason::user_shutdown);
}

} // namespace

int main(int argc, char** argv) {
  try {
    take_part(argc == 2 ? argv[1] : "examples/cluster/embedded_node.toml");
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
