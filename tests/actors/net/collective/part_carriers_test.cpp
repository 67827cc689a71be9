// Carriers of two processes' members, in one: each with its thread, and members that write down what comes.

#include "actors/net/collective/part_carriers.hpp"
#include "actors/run/configure.hpp"

#include <gtest/gtest.h>

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/exit_reason.hpp>
#include <caf/scoped_actor.hpp>

#include <deque>
#include <optional>
#include <set>

namespace troupe::part_carriers_test {
namespace {

using namespace std::chrono_literals;

struct system_config : caf::actor_system_config {
  system_config() { configure(*this); }
};

collective_part part_of(uint64_t from, size_t count) {
  const buffer storage{count};
  std::ranges::fill(storage.values(), 0.5f);
  collective_part result;
  result.round = 7;
  result.from = from;
  result.kind = collective_kind::broadcast;
  result.root = 1;
  result.stage = collective_stage::scatter;
  result.count = 9 * count;
  result.first = 3 * count;
  result.rest = 5 * count;
  result.values = {storage, 0, count};
  return result;
}

/// "a" has members 0 and 1, "b" has member 2.
class two_processes : public testing::Test {
protected:
  two_processes() {
    for (size_t k = 0; k < 3; ++k) {
      inboxes.emplace_back(system);
      placed.push_back(
        {caf::actor_cast<collective_member_actor>(caf::actor{inboxes.back()}), k < 2 ? "a" : "b"});
    }
    for (auto* one : {&a, &b}) {
      one->emplace(system, one == &a ? "a" : "b", carrier_options{});
      (*one)->start();
      (*one)->set_members(placed);
    }
    const auto of_a = a->offer(), of_b = b->offer();
    a->open("b", {of_a, of_b, true});
    b->open("a", {of_b, of_a, false});
  }
  /// Sent until it comes by memory: then its values lie where nobody of this process has put them.
  collective_part carried(part_carriers& way, size_t from, size_t to) {
    collective_part came;
    for (int i = 0; i < 500; ++i) {
      const auto sent = part_of(from, 1000);
      way.carry(from, to, collective_part{sent});
      inboxes[to]->receive(
        [&](const collective_part& x) {
          EXPECT_EQ(caf::actor_cast<caf::actor_addr>(inboxes[to]->current_sender()),
                    placed[from].actor.address());
          came = x;
        },
        caf::after(10s) >> [] { FAIL() << "nothing comes"; });
      if (came.values.values().data() != sent.values.values().data())
        return came;
      std::this_thread::sleep_for(5ms);
    }
    ADD_FAILURE() << "it is never carried";
    return came;
  }

  system_config config;
  caf::actor_system system{config};
  std::deque<caf::scoped_actor> inboxes; // they stay where they are
  std::vector<placed_member> placed;
  std::optional<part_carriers> a, b;
};

TEST_F(two_processes, carry_pieces_as_they_are_and_say_of_whom_they_come) {
  auto came = carried(*a, 1, 2);
  EXPECT_TRUE(came.values.intact());
  EXPECT_EQ(came, part_of(1, 1000));
  EXPECT_EQ(carried(*b, 2, 0), part_of(2, 1000));
}

TEST_F(two_processes, speak_for_their_own_members_and_to_those_of_the_other) {
  carried(*a, 0, 2);
  a->carry(0, 2, part_of(2, 10)); // a says that member 2 of b says it
  a->carry(0, 2, part_of(0, 20));
  inboxes[2]->receive([](const collective_part& x) { EXPECT_EQ(x, part_of(0, 20)); });
}

TEST_F(two_processes, lose_nothing_with_a_carrier_by_which_nothing_came) {
  std::this_thread::sleep_for(300ms); // it is there
  b.reset();
  bool is_reported = false;
  inboxes[0]->receive([&](const caf::down_msg&) { is_reported = true; },
                      caf::after(300ms) >> [] {});
  EXPECT_FALSE(is_reported);
}

TEST_F(two_processes, are_settled_when_all_that_was_given_has_come) {
  carried(*a, 0, 2);
  for (int i = 0; i < 50; ++i)
    a->carry(0, 2, part_of(0, 60'000));
  const auto begin = std::chrono::steady_clock::now();
  a->settle(60s);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s);
  a.reset();
  for (int i = 0; i < 50; ++i)
    inboxes[2]->receive([](const collective_part& x) { EXPECT_TRUE(x.values.intact()); },
                        caf::after(10s) >> [] { FAIL() << "one is lost"; });
}

TEST_F(two_processes, are_lost_to_each_others_members_when_a_carrier_breaks) {
  carried(*a, 0, 2);
  a.reset();
  std::set<caf::actor_addr> lost;
  for (int i = 0; i < 2; ++i)
    inboxes[2]->receive(
      [&](const caf::down_msg& x) {
        EXPECT_EQ(x.reason, caf::exit_reason::remote_link_unreachable);
        lost.insert(x.source);
      },
      caf::after(10s) >> [] { FAIL() << "nobody says so"; });
  EXPECT_EQ(lost, (std::set{placed[0].actor.address(), placed[1].actor.address()}));
}

} // namespace
} // namespace troupe::part_carriers_test
