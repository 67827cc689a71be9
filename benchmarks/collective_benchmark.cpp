// How long an all-reduce takes among two actors of one process on two threads.
//
//   collective_benchmark BYTES ROUNDS
//
// Two actors of an application call their members, round after round, each as soon as the last one
// is answered. Prints {"value": microseconds a round}; `benchmarks/compare --only all-reduce` runs
// it beside PyTorch's Gloo. docs/benchmarks.md.

#include "troupe/actors/base/work_sharing.hpp"
#include "troupe/actors/collective/collective_member.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/stateful_actor.hpp>

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

} // namespace

int main(int argc, char** argv) {
  if (argc != 3)
    return 2;
  const auto size = std::strtoull(argv[1], nullptr, 10) / sizeof(float);
  const auto rounds = std::strtoull(argv[2], nullptr, 10);
  caf::actor_system_config config;
  configure(config);
  config.set("scheduler.max-threads", size_t{2});
  share_work(config);
  caf::actor_system system{config};
  caf::scoped_actor self{system};
  std::vector<caf::actor> callers;
  for (const auto& member : spawn_collective(system, {2})) {
    const buffer own{size};
    std::ranges::fill(own.values(), 0.5f);
    callers.push_back(system.spawn(caller, member, payload{own, 0, size}));
  }
  seconds_of(self, callers, 3);
  std::printf("{\"value\": %.3f}\n",
              1e6 * seconds_of(self, callers, rounds) / static_cast<double>(rounds));
}
