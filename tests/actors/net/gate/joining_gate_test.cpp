// Gates of nodes that no file lists: where they say that they are, and when they are dialled.

#include "tests/support/gates.hpp"

#include <gtest/gtest.h>

namespace troupe::joining_gate_test {
namespace {

using namespace test;

gate_options joining(const std::string& name) {
  auto options = options_of(name);
  options.facts.process = "process of " + name;
  options.plan.join.emplace();
  options.plan.max_nodes = 5;
  if (!options.plan.lists(name))
    options.plan.nodes.push_back({name, {}, "127.0.0.1:0", false, 1, 1, {}, false, false});
  return options;
}

endpoint at(uint16_t port) {
  return {"127.0.0.1", port};
}

/// y dials x, as the later name.
struct two_joiners {
  void meet() {
    y.door.dial_now("x", at(x.door.port()));
    ASSERT_TRUE(y.log.next<opened_news>());
  }
  bool dials(milliseconds patience = milliseconds{200}) {
    return y.log.next<opened_news>(patience).has_value();
  }
  void forget_failures() {
    while (y.log.next<failing_news>(milliseconds{100})) {
    }
  }

  logged_gate x{joining("x")};
  logged_gate y{joining("y")};
};

TEST(joining_gate, says_where_others_dial_it) {
  logged_gate b{joining("b")};
  auto unknown = joining("x");
  unknown.dials = {{"b", at(b.door.port())}};
  logged_gate x{unknown};
  const auto candidate = b.log.next<candidate_news>();
  const auto at_b = b.log.next<opened_news>();
  ASSERT_TRUE(candidate && at_b && x.log.next<opened_news>());
  EXPECT_EQ(candidate->peer.address, "127.0.0.1:" + std::to_string(x.door.port()));
  EXPECT_EQ(at_b->peer.address, candidate->peer.address);
  auto far = joining("y");
  far.dials = unknown.dials;
  far.facts.address = "far.example:7";
  logged_gate y{far};
  EXPECT_TRUE(b.log.next<candidate_news>());
  EXPECT_EQ(b.log.next<opened_news>()->peer.address, "far.example:7");
}

TEST(joining_gate, is_dialled_once_told_of_and_where_it_is_now) {
  two_joiners both;
  EXPECT_FALSE(both.dials());
  both.y.door.dial_now("x", at(free_port()));
  EXPECT_TRUE(both.y.log.next<failing_news>());
  both.meet(); // it has come back elsewhere
  both.y.door.dial_again("x");
  EXPECT_TRUE(both.dials(milliseconds{10'000}));
}

TEST(joining_gate, is_not_dialled_once_it_is_gone_until_it_is_there_again) {
  two_joiners both;
  both.meet();
  for (const std::string name : {"x", ""}) {
    both.y.door.forget(name);
    both.y.door.dial_again("x"); // its link is lost
    EXPECT_FALSE(both.dials()) << "gone: " << name;
    both.y.door.dial_now("x", at(both.x.door.port()));
    EXPECT_TRUE(both.dials(milliseconds{10'000}));
  }
}

// Its link with the director alone was lost: the director says that it is gone, and then that it is there.
TEST(joining_gate, is_not_dialled_beside_its_link_by_who_hears_that_it_was_gone) {
  two_joiners both;
  both.meet();
  for (const std::string name : {"x", ""}) {
    both.y.door.forget(name);
    both.y.door.dial_now("x", at(both.x.door.port()));
    EXPECT_FALSE(both.dials()) << "it is linked";
  }
  both.y.door.dial_again("x"); // that link is lost, too
  EXPECT_TRUE(both.dials(milliseconds{10'000}));
}

TEST(joining_gate, is_dialled_no_more_once_gone_though_it_never_answered) {
  two_joiners both;
  both.y.door.dial_now("x", at(free_port()));
  ASSERT_TRUE(both.y.log.next<failing_news>());
  both.y.door.forget({});
  both.forget_failures();
  EXPECT_FALSE(both.y.log.next<failing_news>(milliseconds{200}));
}

TEST(joining_gate, listed_nodes_are_never_forgotten) {
  auto options = joining("b");
  options.dials = {{"a", at(free_port())}};
  logged_gate b{options};
  ASSERT_TRUE(b.log.next<failing_news>());
  b.door.forget("a");
  b.door.forget({});
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(b.log.next<failing_news>());
}

} // namespace
} // namespace troupe::joining_gate_test
