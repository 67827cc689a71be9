// Wires that are cut, or fall silent, while all processes live.

#include "tests/support/networked.hpp"
#include "tests/support/relay.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <thread>

namespace troupe::broken_wire_test {

namespace {

using test::bringing;
using test::plan_of;
using test::test_cluster;

/// Two blocks of parameters; trains until it is stopped.
job endless_job() {
  auto x = test::small_job();
  x.model.hidden = {512};
  x.training.epochs = 1'000'000;
  x.training.evaluate_every = 1'000;
  return x;
}

/// Pieces go over the wires, as messages or by connections of their own.
class broken_wire : public testing::TestWithParam<carrier_choice> {};

INSTANTIATE_TEST_SUITE_P(each_way, broken_wire,
                         testing::Values(carrier_choice::messages, carrier_choice::socket));

/// Wires are given up after a second.
troupe::cluster_plan impatient(troupe::cluster_plan plan) {
  plan.carrier = broken_wire::GetParam();
  plan.timeouts.heartbeat = milliseconds{100};
  plan.timeouts.lost_after = milliseconds{1'000};
  return plan;
}

bool wait_until(const std::function<bool()>& happens) {
  for (int i = 0; i < 2'000 && !happens(); ++i)
    std::this_thread::sleep_for(milliseconds{10});
  return happens();
}

size_t times_said(const test::test_node& node, const std::string& what) {
  const auto news = node.news();
  size_t count = 0;
  for (auto at = news.find(what); at != std::string::npos; at = news.find(what, at + 1))
    ++count;
  return count;
}

bool trains(const test::test_node& director) {
  const auto before = director.version();
  return wait_until([&] { return director.version() > before + 10; });
}

/// Stops the run, whose bits must be those of one process up to that version.
networked_end expect_same_bits(test_cluster& cluster, size_t director = 0) {
  cluster[director].stop();
  auto end = cluster[director].end();
  auto shorter = endless_job();
  shorter.training.steps = end.training->summary.steps;
  EXPECT_EQ(test::values_of(end.training->parameters),
            test::values_of(test::train_on(2, shorter).parameters));
  return end;
}

TEST_P(broken_wire, a_cut_wire_is_dialled_again) {
  test_cluster cluster{endless_job(), impatient(plan_of({bringing(1, 1), bringing(1, 0)}))};
  test::relay wire{cluster.start(0).port()};
  auto options = cluster.options_of(1);
  options.cluster.nodes[0].address = wire.address();
  auto& b = cluster.start(1, options);
  ASSERT_TRUE(trains(cluster[0]));
  wire.cut();
  EXPECT_TRUE(wait_until([&] { return times_said(b, "the link with a is lost") == 1; }));
  EXPECT_TRUE(wait_until([&] { return times_said(b, "a cannot be reached") == 1; }));
  EXPECT_TRUE(trains(cluster[0])) << "alone";
  wire.mend();
  EXPECT_TRUE(wait_until([&] { return times_said(cluster[0], "linked with b") == 2; }));
  EXPECT_TRUE(trains(cluster[0])) << "together again";
  const auto end = expect_same_bits(cluster);
  EXPECT_EQ(end.training->summary.views, 3u);
  EXPECT_EQ(b.end().reason, "finished");
}

TEST_P(broken_wire, a_silent_wire_is_lost_after_its_time) {
  test_cluster cluster{endless_job(), impatient(plan_of({bringing(1, 1), bringing(1, 1)}))};
  test::relay wire{cluster.start(0).port()};
  auto options = cluster.options_of(1);
  options.cluster.nodes[0].address = wire.address();
  auto& b = cluster.start(1, options);
  ASSERT_TRUE(trains(cluster[0]));
  wire.silence();
  EXPECT_TRUE(wait_until([&] { return times_said(cluster[0], "the link with b is lost") == 1; }));
  EXPECT_TRUE(trains(cluster[0])) << "from the beginning, alone";
  wire.mend();
  EXPECT_TRUE(wait_until([&] { return times_said(cluster[0], "linked with b") == 2; }));
  EXPECT_TRUE(trains(cluster[0])) << "together again";
  const auto end = expect_same_bits(cluster);
  EXPECT_EQ(end.training->summary.rollbacks, 1u);
  EXPECT_EQ(b.end().reason, "finished");
}

// The director sees both, but they do not see each other: one is taken out, and joins anew.
TEST_P(broken_wire, who_was_taken_out_joins_anew) {
  test_cluster cluster{endless_job(),
                       impatient(plan_of({bringing(1, 1), bringing(1, 1), bringing(1, 0)}))};
  cluster.start(0);
  test::relay wire{cluster.start(1).port()};
  auto options = cluster.options_of(2);
  options.cluster.nodes[1].address = wire.address();
  auto& c = cluster.start(2, options);
  ASSERT_TRUE(trains(cluster[0]));
  wire.cut();
  EXPECT_TRUE(wait_until([&] { return times_said(c, "joins anew") > 0; })) << c.news();
  wire.mend();
  EXPECT_TRUE(wait_until([&] { return times_said(cluster[1], "linked with c") == 2; }));
  EXPECT_TRUE(wait_until([&] { return times_said(c, "takes part again") == 1; })) << c.news();
  EXPECT_TRUE(trains(cluster[0])) << "together again";
  const auto end = expect_same_bits(cluster);
  EXPECT_EQ(end.training->summary.rollbacks, 0u);
  EXPECT_GE(end.training->summary.views, 3u);
  EXPECT_EQ(c.end().reason, "finished");
}

/// Both ends of the one link of a cluster think that it is there.
bool is_linked(const test_cluster& cluster) {
  const auto thinks_so = [&](size_t i, const std::string& peer) {
    return times_said(cluster[i], "linked with " + peer) >
           times_said(cluster[i], "the link with " + peer + " is lost");
  };
  return thinks_so(0, "b") && thinks_so(1, "a");
}

/// A link whose wire stalls once while it is made: it is made anew, and the run is as without.
void expect_equal_after(const test::wire_stall& stall, size_t director) {
  const auto impatient_options = [](networked_options options) {
    options.introduction_deadline = milliseconds{200};
    return options;
  };
  auto plan = plan_of({bringing(1, 1), bringing(1, 1)}, director);
  plan.carrier = broken_wire::GetParam();
  test_cluster cluster{endless_job(), plan};
  test::relay wire{cluster.start(0, impatient_options(cluster.options_of(0))).port(), stall};
  auto options = impatient_options(cluster.options_of(1));
  options.cluster.nodes[0].address = wire.address();
  cluster.start(1, options);
  const auto where = "chunk " + std::to_string(stall.chunk) + (stall.is_answer ? " back" : "") +
                     (stall.is_both ? ", both" : "");
  EXPECT_TRUE(wait_until([&] { return wire.has_stalled() && is_linked(cluster); })) << where;
  EXPECT_TRUE(trains(cluster[director])) << where;
  try {
    expect_same_bits(cluster, director);
    EXPECT_EQ(cluster[1 - director].end().reason, "finished") << where;
  } catch (const failure& error) {
    ADD_FAILURE() << where << ": " << error.what();
  }
}

TEST_P(broken_wire, a_stall_while_a_link_is_made_costs_its_time_only) {
  for (const bool is_answer : {false, true})
    for (size_t chunk = 0; chunk < 5; ++chunk) {
      const bool is_both = chunk == 4; // of the third one once more
      const milliseconds length{240 + 80 * chunk};
      expect_equal_after({is_answer, is_both, is_both ? 2 : chunk, length},
                         (chunk + (is_answer ? 1 : 0)) % 2);
    }
}

} // namespace

} // namespace troupe::broken_wire_test
