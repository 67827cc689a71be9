// Wires that are cut, or fall silent, while all processes live.

#include "actors/net/links/links.hpp"
#include "actors/net/socket/channel.hpp"
#include "coordinators/base/moment.hpp"
#include "tests/support/gates.hpp"
#include "tests/support/networked.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <gtest/gtest.h>

#include <sys/socket.h>

#include <poll.h>

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace troupe::broken_wire_test {
namespace {

// A relay between two ports of this machine: a wire that a test can cut, or make silent, or that
// stalls once, one way, at a moment that a test chooses.

/// Of the first connection: what is said one way, from the chunk of this number on, is held back.
struct wire_stall {
  bool is_answer = false; ///< of the side that was dialled
  bool is_both = false;   ///< and from then on all that is said the other way
  size_t chunk = 0;       ///< about one for each time that a side writes
  milliseconds length{};
};

class relay {
public:
  explicit relay(uint16_t target, std::optional<wire_stall> stall = {})
    : stall_(stall), target_(target), listener_(listen_on(loopback(0))), thread_([this] {
        while (!ends_)
          step();
      }) {}

  ~relay() {
    ends_ = true;
    thread_.join();
  }

  /// The stall has begun and is over.
  bool has_stalled() const { return has_stalled_; }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_of(listener_)); }

  /// All connections are lost; new ones are, too, until `mend`.
  void cut() { state_ = state::cut; }
  /// Nothing comes through any more, and nobody is told.
  void silence() { state_ = state::silent; }
  /// New connections work again.
  void mend() {
    state_ = state::cut;
    while (!is_clear_)
      std::this_thread::yield();
    state_ = state::whole;
  }

private:
  enum class state { whole, cut, silent };
  /// Two sockets, and what is still to be written to each.
  struct wire {
    channel ends[2];
    std::string waiting[2]; ///< for the end of this index
    std::optional<wire_stall> stall;
    size_t chunks = 0;
    moment held_until[2] = {}; ///< likewise
  };

  static moment now() { return moment::clock::now(); }
  static bool is_held(const wire& x, int end) { return now() < x.held_until[end]; }

  static socket_address loopback(uint16_t port) {
    return resolve({"127.0.0.1", port}, milliseconds{0}).addresses.at(0);
  }

  void step() {
    if (state_ == state::cut)
      wires_.clear();
    is_clear_ = wires_.empty();
    has_stalled_ = has_stalled_ || (stalls_until_ > moment{} && now() > stalls_until_);
    std::vector<pollfd> sockets{{listener_.get(), POLLIN, 0}};
    if (state_ == state::whole)
      for (const auto& x : wires_)
        for (int i = 0; i < 2; ++i)
          sockets.push_back({x.ends[i].descriptor(), events_of(x, i), 0});
    ::poll(sockets.data(), sockets.size(), 10);
    if (auto socket = accept_from(listener_); socket && state_ != state::cut) {
      std::string problem;
      auto other = begin_connect(loopback(target_), problem);
      if (other)
        wires_.push_back({{channel{std::move(socket)}, channel{std::move(other)}},
                          {},
                          std::exchange(stall_, std::nullopt)});
    }
    if (state_ == state::whole)
      wires_.remove_if([this](wire& x) { return !carry(x); });
  }

  static short events_of(const wire& x, int end) {
    const bool reads = x.waiting[1 - end].empty() && !is_held(x, 1 - end);
    const bool writes = !x.waiting[end].empty() && !is_held(x, end);
    return static_cast<short>((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));
  }

  /// False once an end has closed.
  bool carry(wire& x) {
    for (int i = 0; i < 2; ++i) {
      auto& out = x.waiting[1 - i];
      if (is_held(x, 1 - i))
        continue;
      if (out.empty() && x.ends[i].read(out).is_over)
        return false;
      if (!out.empty() && begins_to_stall(x, i))
        continue;
      const auto sent = out.empty() ? transfer{} : x.ends[1 - i].write(out);
      if (sent.is_over)
        return false;
      out.erase(0, sent.byte_count);
    }
    return true;
  }

  /// With what has just come from this end.
  bool begins_to_stall(wire& x, int end) {
    if (!x.stall || x.stall->is_answer != (end == 1) || x.chunks++ != x.stall->chunk)
      return false;
    stalls_until_ = x.held_until[1 - end] = now() + x.stall->length;
    if (x.stall->is_both)
      x.held_until[end] = stalls_until_;
    return true;
  }

  std::optional<wire_stall> stall_;
  uint16_t target_;
  owned_socket listener_;
  std::list<wire> wires_;
  std::atomic<state> state_ = state::whole;
  std::atomic<bool> is_clear_ = true;
  moment stalls_until_{};
  std::atomic<bool> has_stalled_ = false;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

using namespace test;

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

TEST_P(broken_wire, a_cut_wire_is_dialled_again) {
  test_cluster cluster{endless_job(), impatient(plan_of({bringing(1, 1), bringing(1, 0)}))};
  relay wire{cluster.start(0).port()};
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
  EXPECT_TRUE(wait_until([&] { return times_said(b, "computes slice") == 2; }));
  EXPECT_TRUE(trains(cluster[0])) << "together again";
  const auto end = stopped_as_alone(cluster);
  EXPECT_EQ(end.training->summary.views, 4u) << "all; without b; b follows; b computes";
  EXPECT_EQ(b.end().reason, "finished");
}

TEST_P(broken_wire, a_silent_wire_is_lost_after_its_time) {
  test_cluster cluster{endless_job(), impatient(plan_of({bringing(1, 1), bringing(1, 1)}))};
  relay wire{cluster.start(0).port()};
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
  const auto end = stopped_as_alone(cluster);
  EXPECT_EQ(end.training->summary.rollbacks, 1u);
  EXPECT_EQ(b.end().reason, "finished");
}

// The director sees both, but they do not see each other: one is taken out, and joins anew.
TEST_P(broken_wire, who_was_taken_out_joins_anew) {
  test_cluster cluster{endless_job(),
                       impatient(plan_of({bringing(1, 1), bringing(1, 1), bringing(1, 0)}))};
  cluster.start(0);
  relay wire{cluster.start(1).port()};
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
  const auto end = stopped_as_alone(cluster);
  EXPECT_EQ(end.training->summary.rollbacks, 0u);
  EXPECT_GE(end.training->summary.views, 3u);
  EXPECT_EQ(c.end().reason, "finished");
}

// Without it there is no whole group, and so no view that could tell it.
TEST_P(broken_wire, who_was_taken_out_and_cannot_be_done_without_joins_anew) {
  auto x = endless_job();
  x.model.hidden = {48, 48, 48};
  x.model.cuts = 4;
  x.parallel.tensor = 2;
  x.training.replicas = 1;
  test_cluster cluster{x, impatient(plan_of({bringing(0, 1), bringing(1, 0), bringing(1, 0)}))};
  cluster.start(0);
  relay wire{cluster.start(1).port()};
  auto options = cluster.options_of(2);
  options.cluster.nodes[1].address = wire.address();
  auto& c = cluster.start(2, options);
  ASSERT_TRUE(trains(cluster[0]));
  wire.cut();
  const auto joins_anew = [&] {
    return times_said(cluster[1], "joins anew") + times_said(c, "joins anew") > 0;
  };
  EXPECT_TRUE(wait_until(joins_anew)) << cluster[0].news();
  wire.mend();
  EXPECT_TRUE(trains(cluster[0])) << "together again: " << cluster[0].news();
  cluster[0].stop();
  EXPECT_TRUE(cluster[0].end().training);
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
void expect_equal_after(const wire_stall& stall) {
  const auto impatient_options = [](networked_options options) {
    options.introduction_deadline = milliseconds{200};
    return options;
  };
  auto plan = plan_of({bringing(1, 1), bringing(1, 1)});
  plan.carrier = broken_wire::GetParam();
  test_cluster cluster{endless_job(), plan};
  relay wire{cluster.start(0, impatient_options(cluster.options_of(0))).port(), stall};
  auto options = impatient_options(cluster.options_of(1));
  options.cluster.nodes[0].address = wire.address();
  cluster.start(1, options);
  const auto where = "chunk " + std::to_string(stall.chunk) + (stall.is_answer ? " back" : "") +
                     (stall.is_both ? ", both" : "");
  EXPECT_TRUE(wait_until([&] { return wire.has_stalled() && is_linked(cluster); })) << where;
  EXPECT_TRUE(trains(cluster[0])) << where;
  try {
    stopped_as_alone(cluster);
    EXPECT_EQ(cluster[1].end().reason, "finished") << where;
  } catch (const failure& error) {
    ADD_FAILURE() << where << ": " << error.what();
  }
}

TEST_P(broken_wire, a_stall_while_a_link_is_made_costs_its_time_only) {
  for (const bool is_answer : {false, true})
    for (size_t chunk = 0; chunk < 5; ++chunk) {
      const bool is_both = chunk == 4; // of the third one once more
      const milliseconds length{240 + 80 * chunk};
      expect_equal_after({is_answer, is_both, is_both ? 2 : chunk, length});
    }
}

// The links of a process, without a gate: whose word counts.

process_observer::behavior_type observe(process_observer::pointer,
                                        std::shared_ptr<std::vector<std::string>> ends) {
  return {[ends](const process_news& news) {
    if (news.is_end)
      ends->push_back(news.line);
  }};
}

/// The links of b; a is the director, and no link is open.
struct lonely_links {
  caf::actor_system_config config;
  caf::actor_system system{config};
  std::shared_ptr<std::vector<std::string>> ends = std::make_shared<std::vector<std::string>>();
  std::shared_ptr<std::vector<std::string>> dialled = std::make_shared<std::vector<std::string>>();
  process_observer observer = system.spawn(observe, ends);
  local_links_actor there = system.spawn<caf::detached>(links, options());

  links_options options() const {
    gate_calls calls{
      [](uint64_t, const verdict&) {},
      [](uint64_t, const std::string&) {},
      [](const std::string&) {},
      [names = dialled](const std::string& name, const endpoint& where) {
        names->push_back(name + " at " + to_string(where));
      },
      [names = dialled](const std::string& name) { names->push_back("not " + name); },
      [](uint64_t) {},
      [](const verdict&) {}};
    auto plan = test::three_nodes();
    plan.join.emplace();
    return {plan, "b", std::move(calls), observer};
  }
};

TEST(links, who_is_said_to_be_there_is_dialled_now) {
  lonely_links x;
  {
    caf::scoped_actor director{x.system};
    // Of nodes that no file lists only the director's process may speak, and c dials b.
    for (const std::string name : {"a", "b", "c", "x"})
      director->send(x.there, atom::join_v, name, std::string{"127.0.0.1:7"});
    director->send(x.there, atom::leave_v, std::string{"x"});
    director->request(x.there, std::chrono::seconds{30}, caf::ping_atom_v)
      .receive([](caf::pong_atom) {},
               [](const caf::error& why) { ADD_FAILURE() << to_string(why); });
    EXPECT_EQ(*x.dialled, std::vector<std::string>{"a at 127.0.0.1:0"});
    director->send_exit(x.there, caf::exit_reason::user_shutdown);
    director->send_exit(x.observer, caf::exit_reason::user_shutdown);
  }
  x.system.await_all_actors_done();
}

TEST(links, a_farewell_counts_from_the_director_alone) {
  lonely_links x;
  {
    caf::scoped_actor stranger{x.system};
    stranger->send(x.there, farewell{69, "all is lost"});
    // Answered after it: the end is asked for here.
    stranger->request(x.there, std::chrono::seconds{30}, atom::stop_v, farewell{0, "finished"})
      .receive([](atom::stop) {}, [](const caf::error& why) { ADD_FAILURE() << to_string(why); });
    stranger->send_exit(x.there, caf::exit_reason::user_shutdown);
    stranger->send_exit(x.observer, caf::exit_reason::user_shutdown);
  }
  x.system.await_all_actors_done();
  EXPECT_EQ(*x.ends, std::vector<std::string>{});
}

} // namespace
} // namespace troupe::broken_wire_test
