// Members in several actor systems over real sockets: the bits of one process, whose end is named, and
// who is not let in.

#include "actors/net/collective/collective_meeting.hpp"
#include "actors/net/collective/networked_collective.hpp"
#include "actors/net/process/networked_process.hpp"
#include "actors/run/configure.hpp"
#include "data/text/failure.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/collective_group.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/exit_reason.hpp>
#include <caf/scoped_actor.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <functional>
#include <future>
#include <optional>
#include <random>
#include <set>

namespace troupe::networked_collective_test {
namespace {

using floats = std::vector<float>;

constexpr milliseconds patience{60'000};

/// Nodes "a", "b", ... with so many members each; ports are known once somebody listens.
cluster_plan plan_of(const std::vector<size_t>& member_counts, milliseconds join = patience) {
  cluster_plan plan;
  for (const auto count : member_counts)
    plan.nodes.push_back({std::string(1, static_cast<char>('a' + plan.nodes.size())), "127.0.0.1:0",
                          "", false, count, 0});
  plan.timeouts.join = join;
  return plan;
}

struct networked_system {
  explicit networked_system(const cluster_plan& plan) : config(plan.timeouts), system(config) {}

  struct configured : caf::actor_system_config {
    explicit configured(const cluster_timeouts& timeouts) { configure_node(*this, timeouts); }
  };

  configured config;
  caf::actor_system system;
  std::unique_ptr<networked_collective> here;
  std::vector<collective_member_actor> members;

  ~networked_system() {
    members.clear();
    here.reset();
  }
};

using systems = std::vector<std::unique_ptr<networked_system>>;

/// All processes of a plan, once they have met.
systems met(cluster_plan plan, const test::some_authority* authority = nullptr) {
  systems result;
  for (auto& node : plan.nodes) {
    auto& one = *result.emplace_back(std::make_unique<networked_system>(plan));
    networked_collective_options options{plan, node.name};
    if (authority)
      options.tls = authority->issue(node.name);
    one.here = std::make_unique<networked_collective>(one.system, options);
    node.address = "127.0.0.1:" + std::to_string(one.here->port());
  }
  std::vector<std::future<void>> joins;
  for (auto& one : result)
    joins.push_back(std::async(std::launch::async, [&one] { one->members = one->here->join(); }));
  for (auto& one : joins)
    one.get();
  return result;
}

struct answer {
  floats values;
  std::string problem; ///< empty: there are values
};

/// Asks a member from outside; it is answered while other members are asked.
template <class... Arguments>
std::future<answer> ask(caf::actor_system& system, const collective_member_actor& member,
                        const Arguments&... arguments) {
  return std::async(std::launch::async, [&system, member, arguments...] {
    answer result;
    caf::scoped_actor self{system};
    self->request(member, caf::infinite, arguments...)
      .receive(
        [&](const payload& x) {
          result.values = {x.values().begin(), x.values().end()};
        },
        [&](const caf::error& why) { result.problem = system.render(why); });
    return result;
  });
}

/// Values such that sums in another order have other bits.
payload values_of(size_t member, size_t count) {
  std::mt19937 random{static_cast<uint32_t>(member)};
  const buffer result{count};
  for (auto& x : result.values())
    x =
      std::ldexp(static_cast<float>(random() % 2'001) - 1'000.0f, static_cast<int>(random() % 24));
  return {result, 0, count};
}

/// All operations, one after the other; parts are one piece, some, and more than go unasked.
std::vector<std::function<collective_call(size_t)>> all_operations() {
  std::vector<std::function<collective_call(size_t)>> result;
  for (const size_t count : {size_t{7}, size_t{100'000}, size_t{1'500'000}})
    for (const auto& entry : name_table<collective_kind>::entries) {
      const auto kind = entry.first;
      const uint64_t round = result.size();
      result.emplace_back([=](size_t member) {
        const uint64_t root = kind == collective_kind::broadcast ? 1 : 0;
        const bool has_values =
          kind != collective_kind::barrier && (!has_root(kind) || member == root);
        const auto own_count = kind == collective_kind::all_gather ? count / 2 + member : count;
        return collective_call{round, kind, root,
                               has_values ? values_of(member, own_count) : payload{}};
      });
    }
  return result;
}

/// What the rules alone give, without actors and pieces.
std::vector<std::vector<floats>> by_rule(size_t member_count) {
  std::vector<std::vector<floats>> results;
  test::collective_group group{{member_count}};
  for (const auto& call_of : all_operations()) {
    group.call_all(call_of);
    group.settle();
    for (auto& values = results.emplace_back(); values.size() < member_count;)
      values.push_back(group.values(values.size(), results.size() - 1));
  }
  return results;
}

std::future<answer> ask(caf::actor_system& system, const collective_member_actor& member,
                        const collective_call& call) {
  const payload values{call.values};
  switch (call.kind) {
  case collective_kind::all_reduce:
    return ask(system, member, atom::all_reduce_v, call.round, values);
  case collective_kind::reduce_scatter:
    return ask(system, member, atom::reduce_scatter_v, call.round, values);
  case collective_kind::all_gather:
    return ask(system, member, atom::all_gather_v, call.round, values);
  case collective_kind::broadcast:
    return ask(system, member, atom::broadcast_v, call.round, call.root, values);
  case collective_kind::scatter:
    return ask(system, member, atom::scatter_v, call.round, call.root, values);
  default:
    return ask(system, member, atom::barrier_v, call.round);
  }
}

std::vector<std::vector<floats>> in_many(const systems& processes) {
  std::vector<std::vector<floats>> results;
  for (const auto& call_of : all_operations()) {
    std::vector<std::future<answer>> under_way;
    for (const auto& one : processes)
      for (const auto& member : one->members)
        under_way.push_back(ask(one->system, member, call_of(under_way.size())));
    auto& values = results.emplace_back();
    for (auto& one : under_way) {
      auto got = one.get();
      EXPECT_EQ(got.problem, "");
      values.push_back(std::move(got.values));
    }
  }
  return results;
}

bool same_bits(const std::vector<std::vector<floats>>& a,
               const std::vector<std::vector<floats>>& b) {
  const auto same = [](const floats& x, const floats& y) {
    return x.size() == y.size() &&
           (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0);
  };
  return std::ranges::equal(
    a, b, [&](const auto& x, const auto& y) { return std::ranges::equal(x, y, same); });
}

/// What a process of this plan says that cannot join.
std::string problem_of(networked_collective& here) {
  try {
    here.join();
    return {};
  } catch (const failure& problem) {
    EXPECT_EQ(problem.code(), failure_code::unavailable);
    return problem.what();
  }
}

TEST(networked_collective, gives_the_bits_of_one_process_whichever_way_pieces_go) {
  const auto expected = by_rule(4);
  for (const auto way : {carrier_choice::automatic, carrier_choice::messages,
                         carrier_choice::socket, carrier_choice::memory}) {
    auto plan = plan_of({2, 1, 1});
    plan.carrier = way;
    EXPECT_TRUE(same_bits(in_many(met(plan)), expected)) << name_of(way);
  }
}

TEST(networked_collective, gives_the_same_bits_over_secured_connections) {
  const test::some_authority authority;
  EXPECT_TRUE(same_bits(in_many(met(plan_of({1, 1}), &authority)), by_rule(2)));
}

TEST(networked_collective, names_the_member_whose_process_is_gone) {
  auto processes = met(plan_of({1, 1, 1}));
  auto first = ask(processes[0]->system, processes[0]->members[0], atom::all_reduce_v, uint64_t{0},
                   values_of(0, 1'000'000));
  auto second = ask(processes[1]->system, processes[1]->members[0], atom::all_reduce_v, uint64_t{0},
                    values_of(1, 1'000'000));
  processes.pop_back();
  const std::string why =
    "troupe.collective-failed (\"round 0: member 2 is lost: its process is gone\")";
  EXPECT_EQ(first.get().problem, why);
  EXPECT_EQ(second.get().problem, why);
  EXPECT_EQ(
    ask(processes[0]->system, processes[0]->members[0], atom::barrier_v, uint64_t{1}).get().problem,
    "troupe.collective-failed (\"round 1: member 2 is lost: its process is gone\")");
}

TEST(networked_collective, says_all_that_it_was_asked_to_before_it_goes) {
  auto processes = met(plan_of({1, 1}));
  const auto values = values_of(0, 4'000'000);
  auto root = ask(processes[0]->system, processes[0]->members[0], atom::broadcast_v, uint64_t{0},
                  uint64_t{0}, values);
  EXPECT_EQ(root.get().problem, "") << "it waits for nobody";
  auto other = std::async(std::launch::async, [&] {
    return ask(processes[1]->system, processes[1]->members[0], atom::broadcast_v, uint64_t{0},
               uint64_t{0}, payload{})
      .get();
  });
  processes.front().reset();
  const auto got = other.get();
  EXPECT_EQ(got.problem, "");
  EXPECT_TRUE(std::ranges::equal(got.values, values.values()));
}

TEST(networked_collective, refuses_another_plan_by_name) {
  auto plan = plan_of({1, 1}, milliseconds{1'000});
  networked_system a{plan};
  a.here =
    std::make_unique<networked_collective>(a.system, networked_collective_options{plan, "a"});
  plan.nodes[0].address = "127.0.0.1:" + std::to_string(a.here->port());
  plan.nodes[0].replica_count = 2;
  networked_system b{plan};
  b.here =
    std::make_unique<networked_collective>(b.system, networked_collective_options{plan, "b"});
  EXPECT_NE(problem_of(*b.here).find("a and b differ in their cluster file"), std::string::npos);
  const auto of_a = problem_of(*a.here);
  EXPECT_NE(of_a.find("not all have met within 1000 ms"), std::string::npos) << of_a;
  EXPECT_NE(of_a.find("a and b differ in their cluster file"), std::string::npos) << of_a;
}

TEST(networked_collective, names_who_has_not_come) {
  const auto plan = plan_of({1, 1}, milliseconds{200});
  networked_system a{plan};
  a.here =
    std::make_unique<networked_collective>(a.system, networked_collective_options{plan, "a"});
  const auto why = problem_of(*a.here);
  EXPECT_NE(why.find("not all have met within 200 ms: b"), std::string::npos) << why;
}

TEST(networked_collective, expects_a_plan_that_can_work) {
  networked_system one{plan_of({1})};
  const auto code_of = [&](const cluster_plan& plan,
                           const std::string& name) -> std::optional<failure_code> {
    try {
      const networked_collective here{one.system, {plan, name}};
      return std::nullopt;
    } catch (const failure& problem) {
      return problem.code();
    }
  };
  auto twice = plan_of({1, 1});
  twice.nodes[1].name = "a";
  EXPECT_EQ(code_of(twice, "a"), failure_code::bad_job);
  EXPECT_EQ(code_of(plan_of({1, 0}), "a"), failure_code::bad_job);
  EXPECT_EQ(code_of(plan_of({1, 1}), "c"), failure_code::bad_job);
  auto open = plan_of({1});
  open.nodes[0].address = "0.0.0.0:0";
  EXPECT_EQ(code_of(open, "a"), failure_code::bad_job) << "plain, for anybody who comes";
  one.here = std::make_unique<networked_collective>(
    one.system, networked_collective_options{plan_of({1}), "a"});
  one.members = one.here->join();
  EXPECT_EQ(
    ask(one.system, one.members[0], atom::all_reduce_v, uint64_t{0}, values_of(0, 3)).get().problem,
    "");
}

// Carriers of two processes' members, in one: each with its thread, and members that write down what comes.

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
} // namespace troupe::networked_collective_test
