// Workloads do what they are there for, before anything befalls them.

#include "coordinators/job/stop_rule.hpp"
#include "tests/simulation/trial.hpp"
#include "tests/simulation/world.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace troupe::simulation {

namespace {

training_finished end_of(const std::string& name) {
  testing_system system;
  const auto& all = workloads();
  return prepare(system.get(), *std::ranges::find(all, name, &workload::name)).reference.finished;
}

} // namespace

TEST(workload, patience_ends_one_of_them_after_a_checkpoint_that_counts_some) {
  const auto end = end_of("patience");
  EXPECT_EQ(end.reason, static_cast<uint8_t>(stop_reason::patience));
  EXPECT_EQ(end.version, 15u) << "version 9 was the best, and 12 is checkpointed";
}

TEST(workload, the_best_version_of_one_of_them_is_in_its_midst) {
  const auto end = end_of("best");
  EXPECT_TRUE(end.is_best);
  EXPECT_EQ(end.version, 9u);
}

TEST(workload, every_one_has_its_turn_as_seeds_go_up) {
  for (size_t i = 0; i < drawn_workload_count; ++i)
    EXPECT_EQ(workload_of(i * fault_kind_count), i);
  EXPECT_EQ(workload_of(drawn_workload_count * fault_kind_count), 0u);
}

// A view is as long as there are processes: nobody who has reported it hears it again.
TEST(cluster, says_a_view_once_to_who_has_it) {
  using namespace std::chrono_literals;
  testing_system system;
  auto what = workloads().front().what;
  what.training.steps = 1'000'000;
  what.training.epochs = 1'000'000;
  const auto prepared = prepare(what);
  world here{system.get(), 1};
  cluster_options options;
  for (const char* name : {"a", "b", "c"})
    options.machines.push_back({name});
  options.wires.interfaces = interface_options{.latency = 20ms};
  cluster all{here, prepared, options};
  size_t heard = 0;
  all.on_view = [&](const cluster_view&) { ++heard; };
  all.boot_director();
  here.run([] { return false; }, here.now() + 5s);
  const auto before = heard;
  const auto version = all.version();
  EXPECT_GE(before, 3u);
  here.run([] { return false; }, here.now() + 10s);
  EXPECT_GT(all.version(), version + 50) << "training goes on";
  EXPECT_EQ(heard, before);
  all.shut_down();
}

} // namespace troupe::simulation
