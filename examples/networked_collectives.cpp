// Three processes add up their values, and are notified when one of them ends.
//
//   networked_collectives NAME ADDRESS_OF_A ADDRESS_OF_B ADDRESS_OF_C
//
// Start it as a, as b and as c, all with the same addresses, such as 127.0.0.1:4000 127.0.0.1:4001
// 127.0.0.1:4002. With port 0 it takes a free one and prints it on standard error, for the members
// that come later in the list. c ends after the first line (or, with a further word, stays until
// killed). It prints:
//
//   the mean of 3 is 4.00, 1000000 times
//   troupe.collective-failed ("round 2: member 2 is lost: its process is gone")

#include <troupe/collectives.hpp>
#include <troupe/node.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>

namespace {

using troupe::payload;

// Longer than the members' deadline of 30 s: their error names the lost member, a timeout does not.
constexpr std::chrono::seconds timeout{60};
constexpr size_t value_count = 1'000'000;

enum class part { works_on, leaves, stays };

// What the last round brings; c does not call it.
void add_up_again(caf::event_based_actor* self, const troupe::collective_member_actor& member,
                  part plays) {
  if (plays == part::leaves)
    return self->quit();
  if (plays == part::stays)
    return;
  self->request(member, timeout, troupe::atom::all_reduce_v, uint64_t{2}, payload{})
    .then([=](const payload&) { self->quit(); },
          [=](const caf::error& why) {
            std::printf("%s\n", self->system().render(why).c_str());
            self->quit();
          });
}

caf::behavior worker(caf::event_based_actor* self, const troupe::collective_member_actor& member,
                     float own, part plays) {
  const troupe::buffer mine{value_count + 1}; // values, and how many members have some
  std::ranges::fill(mine.values(), own);
  mine.values().back() = 1;
  const auto fail = [=](const caf::error& why) {
    std::printf("%s\n", self->system().render(why).c_str());
    self->quit();
  };
  self
    ->request(member, timeout, troupe::atom::all_reduce_v, uint64_t{0},
              payload{mine, 0, mine.size()})
    .then(
      [=](const payload& sum) {
        const auto values = sum.values();
        const auto equal = std::ranges::count(values.first(value_count), values.front());
        std::printf("the mean of %.0f is %.2f, %td times\n", values.back(),
                    values.front() / values.back(), equal);
        std::fflush(stdout);
        self->request(member, timeout, troupe::atom::barrier_v, uint64_t{1})
          .then([=](const payload&) { add_up_again(self, member, plays); }, fail);
      },
      fail);
  return {};
}

int take_part(int argc, char** argv) {
  troupe::cluster_plan plan;
  for (const auto* name : {"a", "b", "c"}) {
    troupe::cluster_node node;
    node.name = name;
    node.address = argv[2 + plan.nodes.size()];
    node.replica_count = 1; // members in this process
    plan.nodes.push_back(node);
  }
  const std::string name = argv[1];
  const auto plays = name != "c" ? part::works_on : argc > 5 ? part::stays : part::leaves;
  caf::actor_system_config config;
  troupe::configure_node(config, plan.timeouts);
  caf::actor_system system{config};
  troupe::networked_collective here{system, {plan, name}};
  std::fprintf(stderr, "%s listens on port %d\n", name.c_str(), here.port());
  const auto members = here.join();
  caf::scoped_actor self{system};
  self->wait_for(
    system.spawn(worker, members.front(), static_cast<float>(2 * (name[0] - 'a') + 2), plays));
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr,
                 "usage: networked_collectives NAME ADDRESS_OF_A ADDRESS_OF_B ADDRESS_OF_C\n");
    return 64;
  }
  try {
    return take_part(argc, argv);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
  }
}
