// How long an all-reduce takes among two actors: of one process on two threads, or of two processes.
//
//   collective_benchmark BYTES ROUNDS [processes]
//
// Two actors of an application call their members, round after round, each as soon as the last one
// is answered. Processes meet over loopback, by plain connections whose records have checksums. Prints {"value": microseconds a round}; `benchmarks/compare --only all-reduce` runs
// it beside PyTorch's Gloo. docs/benchmarks.md.

#include "actors/collective/collective_member.hpp"
#include "actors/net/collective/networked_collective.hpp"
#include "actors/net/process/networked_process.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/stateful_actor.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

using namespace troupe;

namespace {

struct caller_state {
  uint64_t round = 0;
  caf::response_promise done;
};

using caller_actor = caf::stateful_actor<caller_state>;

void call(caller_actor* self, const collective_member_actor& member, const payload& values,
          uint64_t left) {
  if (left == 0)
    return self->state.done.deliver(caf::ok_atom_v);
  self->request(member, caf::infinite, atom::all_reduce_v, self->state.round++, values)
    .then([=](const payload&) { call(self, member, values, left - 1); });
}

/// Calls as many rounds as it is told to, and says when it has.
caf::behavior caller(caller_actor* self, const collective_member_actor& member,
                     const payload& values) {
  return {[=](uint64_t rounds) {
    self->state.done = self->make_response_promise();
    call(self, member, values, rounds);
    return self->state.done;
  }};
}

double seconds_of(caf::scoped_actor& self, const std::vector<caf::actor>& callers,
                  uint64_t rounds) {
  const auto begin = std::chrono::steady_clock::now();
  for (const auto& one : callers)
    self->send(one, rounds);
  for (size_t k = 0; k < callers.size(); ++k)
    self->receive([](caf::ok_atom) {}, [](caf::error&) { std::abort(); });
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Microseconds a round; each of these members has a caller of its own.
double time_of(caf::actor_system& system, const std::vector<collective_member_actor>& members,
               size_t size, uint64_t rounds) {
  caf::scoped_actor self{system};
  std::vector<caf::actor> callers;
  for (const auto& member : members) {
    const buffer own{size};
    std::ranges::fill(own.values(), 0.5f);
    callers.push_back(system.spawn(caller, member, payload{own, 0, size}));
  }
  seconds_of(self, callers, 3);
  return 1e6 * seconds_of(self, callers, rounds) / static_cast<double>(rounds);
}

double in_one_process(size_t size, uint64_t rounds) {
  caf::actor_system_config config;
  configure(config);
  config.set("scheduler.max-threads", size_t{2});
  caf::actor_system system{config};
  return time_of(system, spawn_collective(system, {2}), size, rounds);
}

/// `port`: where the first process listens; 0 for that one itself, which tells it.
double in_one_of_two(uint16_t port, int port_pipe, size_t size, uint64_t rounds) {
  cluster_plan plan;
  plan.nodes.push_back({"a", "127.0.0.1:" + std::to_string(port), "", false, 1, 0});
  plan.nodes.push_back({"b", "127.0.0.1:0", "", false, 1, 0});
  caf::actor_system_config config;
  configure_node(config, plan.timeouts);
  config.set("scheduler.max-threads", size_t{1});
  caf::actor_system system{config};
  networked_collective here{system, {plan, port == 0 ? "a" : "b"}};
  const auto listens_on = here.port();
  if (port == 0 && ::write(port_pipe, &listens_on, sizeof listens_on) != sizeof listens_on)
    std::abort();
  return time_of(system, here.join(), size, rounds);
}

/// The first process is the child: it listens at once.
double in_two_processes(size_t size, uint64_t rounds) {
  int ends[2];
  if (::pipe(ends) != 0)
    std::abort();
  const auto child = ::fork(); // before there is any thread
  if (child == 0) {
    in_one_of_two(0, ends[1], size, rounds);
    ::_exit(0);
  }
  uint16_t port = 0;
  if (::read(ends[0], &port, sizeof port) != sizeof port)
    std::abort();
  const auto result = in_one_of_two(port, -1, size, rounds);
  int status = 0;
  if (::waitpid(child, &status, 0) != child || status != 0)
    std::abort();
  return result;
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4)
    return 2;
  const auto size = std::strtoull(argv[1], nullptr, 10) / sizeof(float);
  const auto rounds = std::strtoull(argv[2], nullptr, 10);
  std::printf("{\"value\": %.3f}\n",
              argc == 4 ? in_two_processes(size, rounds) : in_one_process(size, rounds));
}
