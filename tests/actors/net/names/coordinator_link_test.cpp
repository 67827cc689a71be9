// A coordinator in one actor system and members in another, over real sockets: the coordinator's process ends, comes again
// and goes on from its checkpoint, and the members find it.

#include "actors/embed/coordinator.hpp"
#include "actors/embed/member_replica.hpp"
#include "actors/net/names/coordinator_link.hpp"
#include "actors/net/process/networked_process.hpp"
#include "data/checkpoint/checkpoint_store.hpp"
#include "models/network/neural_network.hpp"
#include "tests/support/temporary_folder.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

namespace troupe::coordinator_link_test {
namespace {

constexpr milliseconds patience{30'000};

struct configured : caf::actor_system_config {
  explicit configured(const cluster_timeouts& timeouts) { configure_node(*this, timeouts); }
};

struct process {
  process(cluster_plan& plan, const std::string& name)
    : config(plan.timeouts), system(config), self(system) {
    here.emplace(system, networked_names_options{plan, name});
    plan.nodes[*plan.find(name)].address = "127.0.0.1:" + std::to_string(here->port());
  }

  configured config;
  caf::actor_system system;
  caf::scoped_actor self;
  std::optional<networked_names> here;
};

coordinator_options options_in(const std::string& folder) {
  coordinator_options options;
  asynchronous_options rule;
  rule.gradients.optimizer.learning_rate = 0.01;
  options.members.rule = rule;
  options.initial = buffer{2};
  options.store = std::make_shared<checkpoint_store>(posix_disk(), folder);
  options.checkpoint_every = 10;
  return options;
}

replica_of_rows on_line(const coordinator_actor& main) {
  auto rows = std::make_shared<dataset>();
  rows->row_count = 4;
  rows->feature_count = rows->target_count = 1;
  rows->features = {0, 1, 2, 3};
  rows->targets = {1, 3, 5, 7};
  neural_network_options shape;
  shape.features = shape.outputs = 1;
  shape.loss = loss_kind::squared;
  replica_of_rows result;
  result.coordinator = main;
  result.name = "far";
  result.network = std::make_shared<neural_network>(shape);
  result.rows = std::make_shared<rows_in_memory>(std::move(rows));
  return result;
}

/// The first model of at least this version that the watching actor is sent.
uint64_t version_from(caf::scoped_actor& self, uint64_t version) {
  uint64_t heard = 0;
  bool is_late = false;
  while (heard < version && !is_late)
    self->receive([&](const parameter_span& model) { heard = model.version; },
                  caf::after(patience) >> [&] { is_late = true; });
  return heard;
}

TEST(coordinator_link,
     members_find_a_coordinator_that_comes_again_and_goes_on_from_its_checkpoint) {
  const temporary_folder folder;
  cluster_plan plan;
  plan.nodes = {{"home", "127.0.0.1:0", "", false}, {"far", "127.0.0.1:0", "", false}};
  plan.timeouts.heartbeat = milliseconds{200};
  std::optional<process> home;
  home.emplace(plan, "home");
  process far{plan, "far"};
  const auto main = find_coordinator(far.system, *far.here, "main");
  bool is_absent = false;
  far.self->request(main, patience, atom::save_v)
    .receive([](uint64_t) {},
             [&](const caf::error& why) {
               is_absent = far.system.render(why).find("no process has the coordinator main") !=
                           std::string::npos;
             });
  EXPECT_TRUE(is_absent);
  far.self->send(main, atom::watch_v, caf::actor_cast<model_listener_actor>(far.self));
  const auto member = far.system.spawn(replicate, on_line(main));
  uint64_t before = 0;
  for (int life = 0; life < 3; ++life) {
    if (!home)
      home.emplace(plan, "home");
    const auto owner = home->system.spawn(coordinate, options_in(folder.path()));
    home->here->publish("main", caf::actor_cast<caf::actor>(owner));
    const auto version = version_from(far.self, before + 30);
    ASSERT_GE(version, before + 30) << "life " << life;
    before = version;
    if (life < 2) { // as if it were killed: nobody hears that it ends
      caf::anon_send_exit(owner, caf::exit_reason::kill);
      home->here.reset();
      home.reset();
      continue;
    }
    uint64_t last = 0;
    far.self->request(main, patience, atom::stop_v)
      .receive([&](uint64_t x) { last = x; }, [](const caf::error&) { FAIL(); });
    EXPECT_GE(last, before);
    far.self->wait_for(member);
    caf::anon_send_exit(owner, caf::exit_reason::user_shutdown);
  }
  caf::anon_send_exit(main, caf::exit_reason::user_shutdown);
}

} // namespace
} // namespace troupe::coordinator_link_test
