// The links of a process, without a gate: whose word counts.

#include "actors/net/links/links.hpp"
#include "tests/support/gates.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace troupe::links_test {

namespace {

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
  process_observer observer = system.spawn(observe, ends);
  local_links_actor there = system.spawn<caf::detached>(links, options());

  links_options options() const {
    gate_calls calls{[](uint64_t, const verdict&) {}, [](uint64_t, const std::string&) {},
                     [](const std::string&) {}, [](uint64_t) {}, [](const verdict&) {}};
    return {test::three_nodes(), "b", std::move(calls), observer};
  }
};

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

} // namespace troupe::links_test
