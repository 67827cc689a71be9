// Names of several actor systems over real sockets: what is found and heard, who comes again, and who is not believed.

#include "actors/net/gate/gate.hpp"
#include "actors/net/links/peer_process.hpp"
#include "actors/net/names/messages.hpp"
#include "actors/net/names/networked_names.hpp"
#include "actors/net/process/networked_process.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/gates.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/behavior.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/exit_reason.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace troupe::networked_names_test {
namespace {

constexpr milliseconds patience{20'000};
constexpr milliseconds moment_long{300};

/// Nodes "a", "b", ...; ports are known once somebody listens.
cluster_plan plan_of(size_t count) {
  cluster_plan plan;
  for (size_t k = 0; k < count; ++k)
    plan.nodes.push_back({std::string(1, static_cast<char>('a' + k)), "127.0.0.1:0", "", false});
  plan.timeouts.heartbeat = milliseconds{200};
  return plan;
}

struct configured : caf::actor_system_config {
  explicit configured(const cluster_timeouts& timeouts) { configure_node(*this, timeouts); }
};

caf::behavior adder(caf::event_based_actor*, int32_t summand) {
  return {[=](int32_t x) { return x + summand; }};
}

void end(const caf::actor& which) {
  caf::anon_send_exit(which, caf::exit_reason::kill);
}

/// A process of the plan, in which it enters its port.
struct process {
  process(cluster_plan& plan, const std::string& name, const std::optional<tls_files>& tls = {})
    : config(plan.timeouts), system(config) {
    here = std::make_unique<networked_names>(system, networked_names_options{plan, name, tls});
    plan.nodes[*plan.find(name)].address = "127.0.0.1:" + std::to_string(here->port());
  }

  ~process() {
    here.reset();
    for (const auto& one : adders)
      end(one);
  }

  caf::actor publish_adder(const std::string& name, int32_t summand) {
    auto result = system.spawn(adder, summand);
    here->publish(name, result);
    adders.push_back(result);
    return result;
  }
  /// What the named actor makes of 1; it may be about to change.
  int32_t asked(const std::string& name) {
    caf::scoped_actor self{system};
    int32_t result = 0;
    self->request(here->find(name, patience), patience, int32_t{1})
      .receive([&](int32_t x) { result = x; }, [](const caf::error&) {});
    return result;
  }
  failure search_of(const std::string& name, milliseconds deadline = moment_long) {
    return test::failure_of([&] { here->find(name, deadline); });
  }

  configured config;
  caf::actor_system system;
  std::unique_ptr<networked_names> here;
  std::vector<caf::actor> adders;
};

/// Follows a name.
struct follower {
  follower(process& where, const std::string& name) : self(where.system), followed(name) {
    where.here->follow(name, caf::actor{self});
  }

  /// The next thing that it is told.
  caf::actor next() {
    caf::actor result;
    self->receive(
      [&](atom::found, const std::string& name, const caf::strong_actor_ptr& which) {
        EXPECT_EQ(name, followed);
        result = caf::actor_cast<caf::actor>(which);
      },
      caf::after(patience) >> [] { ADD_FAILURE() << "nothing comes"; });
    return result;
  }
  bool hears_nothing() {
    bool result = false;
    self->receive([](atom::found, const std::string&, const caf::strong_actor_ptr&) {},
                  caf::after(moment_long) >> [&] { result = true; });
    return result;
  }
  /// What the actor of the name makes of 1.
  int32_t asked() {
    int32_t result = 0;
    self->request(next(), patience, int32_t{1})
      .receive([&](int32_t x) { result = x; }, [](const caf::error&) {});
    return result;
  }

  caf::scoped_actor self;
  std::string followed;
};

TEST(networked_names, of_both_sides_are_found_by_the_other) {
  auto plan = plan_of(2);
  process a{plan, "a"}, b{plan, "b"};
  a.publish_adder("of a", 10);
  b.publish_adder("of b", 20);
  EXPECT_EQ(b.asked("of a"), 11);
  EXPECT_EQ(a.asked("of b"), 21);
}

TEST(networked_names, of_the_own_process_are_found_at_once) {
  auto plan = plan_of(1);
  process a{plan, "a"};
  const auto first = a.publish_adder("adder", 10);
  EXPECT_EQ(a.here->find("adder", milliseconds{0}), first);
  const auto second = a.publish_adder("adder", 20);
  EXPECT_EQ(a.here->find("adder", milliseconds{0}), second);
  end(first);
  EXPECT_EQ(a.asked("adder"), 21) << "the end of the former one changes nothing";
  const auto why = a.search_of("nobody");
  EXPECT_EQ(why.code(), failure_code::unavailable);
  EXPECT_EQ(why.reason(), "no actor called 'nobody' was found within 300 ms");
}

TEST(networked_names, are_followed_as_their_actors_come_and_go) {
  auto plan = plan_of(2);
  process a{plan, "a"}, b{plan, "b"};
  follower there{b, "adder"}, here{a, "adder"};
  const auto first = a.publish_adder("adder", 10);
  EXPECT_EQ(here.next(), first);
  EXPECT_EQ(there.asked(), 11);
  a.publish_adder("another", 0);
  end(first);
  EXPECT_FALSE(here.next());
  EXPECT_FALSE(there.next()) << "and nothing of the other name";
  a.publish_adder("adder", 20);
  EXPECT_EQ(there.asked(), 21);
  a.publish_adder("adder", 30);
  EXPECT_EQ(there.asked(), 31) << "it took the place of the former";
  follower late{b, "adder"};
  EXPECT_EQ(late.asked(), 31);
  EXPECT_TRUE(there.hears_nothing());
}

TEST(networked_names, that_several_have_are_those_of_the_first_node) {
  auto plan = plan_of(3);
  process a{plan, "a"}, b{plan, "b"}, c{plan, "c"};
  follower there{a, "adder"};
  const auto of_c = c.publish_adder("adder", 30);
  EXPECT_EQ(there.asked(), 31);
  const auto of_b = b.publish_adder("adder", 20);
  EXPECT_EQ(there.asked(), 21);
  EXPECT_EQ(c.here->find("adder", patience), of_c) << "the own one comes first";
  end(of_b);
  EXPECT_EQ(there.asked(), 31);
}

TEST(networked_names, of_a_dialled_process_come_again_with_it) {
  auto plan = plan_of(2);
  auto a = std::make_unique<process>(plan, "a");
  process b{plan, "b"};
  b.publish_adder("of b", 20);
  follower there{b, "of a"};
  for (const int32_t summand : {10, 11}) {
    if (!a)
      a = std::make_unique<process>(plan, "a");
    a->publish_adder("of a", summand);
    EXPECT_EQ(there.asked(), summand + 1);
    EXPECT_EQ(a->asked("of b"), 21);
    a.reset();
    EXPECT_FALSE(there.next());
  }
  EXPECT_NE(b.search_of("of a").reason().find("not reached: a (127.0.0.1:"), std::string::npos);
}

TEST(networked_names, of_a_dialling_process_come_again_with_it) {
  auto plan = plan_of(2);
  process a{plan, "a"};
  a.publish_adder("of a", 10);
  follower there{a, "of b"};
  for (const int32_t summand : {20, 21}) {
    process b{plan, "b"};
    b.publish_adder("of b", summand);
    EXPECT_EQ(there.asked(), summand + 1);
    EXPECT_EQ(b.asked("of a"), 11);
    b.here.reset(); // its actor system lives on
    EXPECT_FALSE(there.next());
  }
  EXPECT_NE(a.search_of("of b").reason().find("its connection was lost"), std::string::npos);
}

TEST(networked_names, are_met_again_by_the_same_actor_system) {
  auto plan = plan_of(2);
  process a{plan, "a"}, b{plan, "b"};
  follower there{a, "of b"};
  const auto of_b = b.publish_adder("of b", 20);
  EXPECT_EQ(there.asked(), 21);
  b.here.reset();
  EXPECT_FALSE(there.next());
  b.here = std::make_unique<networked_names>(b.system, networked_names_options{plan, "b"});
  b.here->publish("of b", of_b);
  EXPECT_EQ(there.asked(), 21);
}

TEST(networked_names, go_over_secured_connections) {
  const test::some_authority authority, stranger{"stranger"};
  auto plan = plan_of(3);
  process a{plan, "a", authority.issue("a")}, b{plan, "b", authority.issue("b")};
  process c{plan, "c", stranger.issue("c")};
  a.publish_adder("of a", 10);
  EXPECT_EQ(b.asked("of a"), 11);
  const auto why = c.search_of("of a", milliseconds{1'000}).reason();
  EXPECT_NE(why.find("no secured connection with a"), std::string::npos) << why;
}

TEST(networked_names, of_another_plan_are_refused_with_the_reason) {
  auto plan = plan_of(2);
  process a{plan, "a"};
  a.publish_adder("of a", 10);
  plan.nodes.push_back({"c", "127.0.0.1:0", "", false});
  process b{plan, "b"};
  const std::string differ =
    "a and b differ in their cluster file: names = of 2 processes and of 3";
  for (auto* one : {&b, &a}) {
    const auto why = one->search_of("of a or b", milliseconds{1'000}).reason();
    EXPECT_NE(why.find(differ), std::string::npos) << why;
  }
  const auto why = b.search_of("of a").reason();
  EXPECT_NE(why.find("; c (127.0.0.1:0): it has not come"), std::string::npos) << why;
}

TEST(networked_names, expect_a_plan_and_actors_that_can_work) {
  auto plan = plan_of(2);
  process a{plan, "a"};
  const auto code_of = [&](const cluster_plan& x, const std::string& name) {
    return test::failure_of([&] { networked_names{a.system, {x, name}}; }).code();
  };
  EXPECT_EQ(code_of(plan, "c"), failure_code::bad_job);
  EXPECT_EQ(code_of(plan, "a"), failure_code::cannot_create) << "its port is in use";
  auto twice = plan;
  twice.nodes[1].name = "a";
  EXPECT_EQ(code_of(twice, "a"), failure_code::bad_job);
  auto huge = plan;
  huge.nodes[1].name = std::string(10'000, 'b');
  EXPECT_EQ(code_of(huge, "a"), failure_code::bad_job);
  caf::actor_system_config bare_config;
  caf::actor_system bare{bare_config};
  EXPECT_EQ(test::failure_of([&] {
              networked_names{bare, {plan_of(1), "a"}};
            }).code(),
            failure_code::internal);

  process b{plan, "b"};
  const auto of_b = b.publish_adder(std::string(64, 'x'), 20);
  const auto far = a.here->find(std::string(64, 'x'), patience);
  for (const auto& [name, which] : {std::pair{std::string{}, of_b},
                                    {std::string(65, 'x'), of_b},
                                    {std::string{"far"}, caf::actor{}}})
    EXPECT_NE(test::complaint_of([&, n = name, w = which] { b.here->publish(n, w); }), "");
  EXPECT_EQ(test::complaint_of([&] { a.here->publish("far", far); }),
            "only an actor of this process can be published as 'far'");
}

/// A process of three, with a directory that says what the test likes.
struct played {
  played(cluster_plan& plan, const std::string& name)
    : config(plan.timeouts), system(config), self(system) {
    door = std::make_unique<gate>(peer_gate(
      system,
      {plan, name, {}, "names = of 3 processes\nprocess 0 = a\nprocess 1 = b\nprocess 2 = c"}));
    plan.nodes[*plan.find(name)].address = "127.0.0.1:" + std::to_string(door->port());
    door->start([this](gate_news news) {
      if (const auto* who = std::get_if<candidate_news>(&news))
        door->answer(who->ticket, {});
      log.add(std::move(news));
    });
    own = caf::actor_cast<caf::strong_actor_ptr>(system.spawn(adder, 20));
  }
  ~played() {
    door.reset();
    end(caf::actor_cast<caf::actor>(own));
  }

  /// Hands the next connection over.
  void connect() {
    const auto opened = log.next<opened_news>();
    ASSERT_TRUE(opened);
    holds.emplace_back(*opened->connection);
    const auto scribe = make_scribe(system, std::move(*opened->connection));
    if (!opened->was_dialled)
      return self->send(protocol_broker(system), caf::publish_atom_v, scribe, shown_actor_number,
                        caf::actor_cast<caf::strong_actor_ptr>(self), std::set<std::string>{});
    self
      ->request(protocol_broker(system), patience, caf::connect_atom_v, scribe, shown_actor_number)
      .receive(
        [&](const caf::node_id&, const caf::strong_actor_ptr& shown, const std::set<std::string>&) {
          of_a = caf::actor_cast<name_directory_actor>(shown);
        },
        [&](const caf::error& why) { FAIL() << system.render(why); });
  }
  name_directory_actor directory() {
    return caf::actor_cast<name_directory_actor>(caf::actor{self});
  }
  name_introduction saying(const std::map<std::string, caf::strong_actor_ptr>& actors) {
    return {"b", directory(), actors, false};
  }

  configured config;
  caf::actor_system system;
  caf::scoped_actor self;
  caf::strong_actor_ptr own;
  std::unique_ptr<gate> door;
  test::gate_log log;
  std::vector<connection_hold> holds;
  name_directory_actor of_a;
};

TEST(networked_names, are_believed_only_of_their_own_process) {
  auto plan = plan_of(3);
  process a{plan, "a"};
  played b{plan, "b"};
  b.connect();
  process c{plan, "c"};
  const auto of_c = c.publish_adder("of c", 30);
  b.connect();
  caf::strong_actor_ptr stolen;
  while (!stolen)
    b.self->receive(
      [&](const name_introduction& news) {
        EXPECT_EQ(news.process, "c");
        if (news.actors.contains("of c"))
          stolen = news.actors.at("of c");
      },
      caf::after(patience) >> [] { FAIL() << "c says nothing"; });
  ASSERT_EQ(stolen->node(), c.system.node());

  const auto of_a = caf::actor_cast<caf::strong_actor_ptr>(b.of_a);
  b.self->send(b.of_a, b.saying({{"good", b.own},
                                 {"of c, by b", stolen},
                                 {"of a, by b", of_a},
                                 {"none", nullptr},
                                 {"", b.own},
                                 {std::string(65, 'x'), b.own}}));
  EXPECT_EQ(a.asked("good"), 21);
  EXPECT_EQ(a.asked("of c"), 31);
  for (const auto& name : {std::string{"of c, by b"}, std::string{"of a, by b"},
                           std::string{"none"}, std::string{}, std::string(65, 'x')})
    EXPECT_EQ(a.search_of(name, milliseconds{0}).code(), failure_code::unavailable) << name;

  // Introductions that do not count, and then one that does.
  caf::scoped_actor other{b.system};
  auto of_other = b.saying({{"of another sender", b.own}});
  other->send(b.of_a, of_other);
  of_other.directory = caf::actor_cast<name_directory_actor>(caf::actor{other});
  other->send(b.of_a, of_other);
  auto as_c = b.saying({{"as c", b.own}});
  as_c.process = "c";
  b.self->send(b.of_a, as_c);
  std::map<std::string, caf::strong_actor_ptr> many;
  for (size_t k = 0; k <= actor_names_max; ++k)
    many["one of many " + std::to_string(k)] = b.own;
  b.self->send(b.of_a, b.saying(many));
  EXPECT_EQ(a.asked("good"), 21);
  follower there{a, "one of a thousand 999"};
  EXPECT_TRUE(there.hears_nothing());
  for (const auto* name : {"of another sender", "as c", "one of many 0"})
    EXPECT_EQ(a.search_of(name, milliseconds{0}).code(), failure_code::unavailable) << name;
  many.clear();
  for (size_t k = 0; k < actor_names_max; ++k)
    many["one of a thousand " + std::to_string(k)] = b.own;
  b.self->send(b.of_a, b.saying(many));
  EXPECT_EQ(there.asked(), 21);
  EXPECT_EQ(a.search_of("good", milliseconds{0}).code(), failure_code::unavailable);
  EXPECT_EQ(c.here->find("of c", patience), of_c);
}

TEST(networked_names, of_a_silent_process_are_not_those_that_another_says) {
  auto plan = plan_of(3);
  process a{plan, "a"};
  played b{plan, "b"};
  b.connect();
  played c{plan, "c"};
  const auto first = c.log.next<opened_news>(), second = c.log.next<opened_news>();
  ASSERT_TRUE(first && second);
  ASSERT_TRUE(first->peer.node == "a" || second->peer.node == "a");
  std::this_thread::sleep_for(moment_long); // "a" has opened it, too
  auto as_c = b.saying({{"as c", b.own}});
  as_c.process = "c";
  b.self->send(b.of_a, as_c);
  b.self->send(b.of_a, b.saying({{"good", b.own}}));
  EXPECT_EQ(a.asked("good"), 21);
  const auto why = a.search_of("as c", milliseconds{0}).reason();
  EXPECT_NE(why.find("not reached: c "), std::string::npos) << why;
}

TEST(networked_names, come_again_with_a_connection_that_was_lost) {
  auto plan = plan_of(3);
  process a{plan, "a"};
  played b{plan, "b"};
  follower there{a, "good"};
  for (int i = 0; i < 2; ++i) {
    b.connect();
    b.self->send(b.of_a, b.saying({{"good", b.own}}));
    EXPECT_EQ(there.asked(), 21);
    b.holds.clear();
    EXPECT_FALSE(there.next());
    b.door->dial_again("a");
  }
}

} // namespace
} // namespace troupe::networked_names_test
