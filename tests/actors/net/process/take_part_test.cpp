// Taking part with rows of one's own: the bits of one process that has all of them as holdings.

#include "actors/net/process/take_part.hpp"

#include "actors/run/job_data.hpp"
#include "data/text/failure.hpp"
#include "data/training_rows/synthetic.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/gates.hpp"
#include "tests/support/rows/memory_supply.hpp"
#include "tests/support/training.hpp"

#include <gtest/gtest.h>

#include <future>
#include <string>

namespace troupe::take_part_test {
namespace {

job small_job() {
  auto x = test::small_job();
  x.data.synthetic = synthetic_kind::none;
  x.data.standardize = true;
  x.model.loss = loss_kind::categorical_cross_entropy;
  return x;
}

cluster_plan two_nodes() {
  cluster_plan plan;
  for (const std::string name : {"a", "b"}) {
    const auto address = "127.0.0.1:" + std::to_string(test::free_port());
    plan.nodes.push_back({name, address, "", name == "a", 1, 1});
    plan.nodes.back().holds_rows = true;
  }
  plan.timeouts = {milliseconds{200}, milliseconds{10'000}, milliseconds{20'000}};
  return plan;
}

networked_end take_part_as(const std::string& name, const job& x, const cluster_plan& plan,
                           const take_part_options& options) {
  caf::actor_system_config config;
  configure_node(config, plan.timeouts);
  caf::actor_system system{config};
  return take_part(system, x, plan, name, options);
}

TEST(take_part, with_rows_in_memory_and_rows_that_are_read_part_by_part) {
  const auto x = small_job();
  const auto of_a =
    make_classification({.rows = 150, .features = 8, .classes = 3, .noise = 0.8}, 1);
  const auto of_b = make_classification({.rows = 30, .features = 8, .classes = 3, .noise = 0.8}, 2);
  auto twin = x;
  twin.training.replicas = 2;
  const auto alone = test::train_on(2, twin, prepare_own_holdings(x, {of_b, of_a}));
  const auto plan = two_nodes();
  auto other = std::async(std::launch::async, [&] {
    take_part_options options;
    options.supply = std::make_shared<test::memory_supply>(of_b);
    return take_part_as("b", x, plan, options);
  });
  take_part_options options;
  options.rows = of_a;
  const auto end = take_part_as("a", x, plan, options);
  EXPECT_EQ(other.get().reason, "finished");
  ASSERT_TRUE(end.training);
  EXPECT_EQ(end.training->summary.parameters_sha256, alone.summary.parameters_sha256);
  EXPECT_EQ(end.training->summary.test_loss, alone.summary.test_loss);
}

TEST(take_part, rows_that_nobody_would_train_on_are_refused) {
  auto plan = two_nodes();
  take_part_options options;
  options.rows = make_classification({.rows = 30}, 1);
  options.supply = std::make_shared<test::memory_supply>(*options.rows);
  const auto refused = [&](const std::string& why) {
    const auto error = test::failure_of([&] { take_part_as("a", small_job(), plan, options); });
    EXPECT_EQ(error.code(), failure_code::bad_job);
    EXPECT_NE(error.reason().find(why), std::string::npos) << error.reason();
  };
  refused("both rows and a supply");
  options.supply = nullptr;
  plan.nodes[0].holds_rows = plan.nodes[1].holds_rows = false;
  refused("no node of the plan");
}

TEST(take_part, rows_of_a_node_have_an_end) {
  struct endless : test::memory_supply {
    using memory_supply::memory_supply;
    bool is_endless() const override { return true; }
  };
  take_part_options options;
  options.supply = std::make_shared<endless>(make_classification({.rows = 30}, 1));
  const auto error =
    test::failure_of([&] { take_part_as("a", small_job(), two_nodes(), options); });
  EXPECT_EQ(error.code(), failure_code::bad_job);
  EXPECT_EQ(error.where(), "take_part_options");
}

} // namespace
} // namespace troupe::take_part_test
