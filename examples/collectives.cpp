// Three actors of an application add up their values, and are notified when one of them dies.
//
// Each is linked to its own member, which talks to the other members. It prints:
//
//   the mean of 3 is 4.00
//   the mean of 3 is 4.00
//   the mean of 3 is 4.00
//   troupe.collective-failed ("round 2: member 2 is lost: out of paper")
//   troupe.collective-failed ("round 2: member 2 is lost: out of paper")

#include <troupe/collectives.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>

#include <chrono>
#include <cstdio>
#include <string>

namespace {

using troupe::payload;

// Longer than the members' deadline of 30 s: their error names the lost member, a timeout does not.
constexpr std::chrono::seconds timeout{60};

void print_problem(const caf::event_based_actor* self, const caf::error& why) {
  std::printf("%s\n", self->system().render(why).c_str());
}

void add_up_again(caf::event_based_actor* self, const troupe::collective_member_actor& member,
                  bool has_paper) {
  if (!has_paper)
    return self->quit(caf::make_error(caf::sec::runtime_error, std::string{"out of paper"}));
  self->request(member, timeout, troupe::atom::all_reduce_v, uint64_t{2}, payload{})
    .then([](const payload&) {}, [=](const caf::error& why) { print_problem(self, why); });
}

// One of three: adds up, prints the mean, waits until all have printed it, and adds up again.
caf::behavior worker(caf::event_based_actor* self, const troupe::collective_member_actor& member,
                     float own, bool has_paper) {
  self->link_to(member);
  const troupe::buffer mine{2}; // a value, and how many
  mine.values()[0] = own;
  mine.values()[1] = 1;
  self->request(member, timeout, troupe::atom::all_reduce_v, uint64_t{0}, payload{mine, 0, 2})
    .then([=](const payload& sum) {
      std::printf("the mean of %.0f is %.2f\n", sum.values()[1], sum.values()[0] / sum.values()[1]);
      self->request(member, timeout, troupe::atom::barrier_v, uint64_t{1})
        .then([=](const payload&) { add_up_again(self, member, has_paper); });
    });
  return {};
}

} // namespace

int main() {
  caf::actor_system_config config;
  troupe::configure(config);
  caf::actor_system system{config};
  const auto members = troupe::spawn_collective(system, {3});
  for (size_t k = 0; k < members.size(); ++k)
    system.spawn(worker, members[k], static_cast<float>(2 * k + 2), k != 2);
}
