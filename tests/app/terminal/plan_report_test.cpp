#include "app/terminal/reports.hpp"
#include "coordinators/parallel/parallel_plan.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace troupe::plan_report_test {

namespace {

/// Two halves of a pair, and a third replica without slices.
parallel_plan some_plan() {
  parallel_plan x;
  x.widths = {64, 1024, 1024, 10};
  x.parameter_count = 1'126'410;
  x.part_count = 4;
  x.segments = {{{0, 2}, {layer_cut::outputs, layer_cut::inputs}, 1024, 0.99},
                {{2, 3}, {layer_cut::none}, 10, 0.01}};
  x.shape = {1, 2, 1};
  x.slice_count = 2;
  replica_plan half;
  half.work = {{0, 2}, {0, 2}, {0, 2}};
  half.slices_held = 3;
  half.sums_kept = 1;
  half.parameter_bytes = half.slice_gradient_bytes = 2 << 20;
  half.slice_activation_bytes = 1 << 20;
  half.slice_boundary_bytes = 1 << 10;
  half.multiply_adds = 300;
  auto other = half;
  other.work.parts = {2, 3};
  other.multiply_adds = 100;
  x.replicas = {half, other, {}};
  x.links = {{0, 1, {4096, 0, 32}}, {1, 0, {4096, 0, 32}}};
  x.processes = {{"", {0, 1, 2}, {{0, 1'126'410}}, 1'126'410, {}, std::nullopt}};
  x.processes[0].memory.add(memory_cause::parameters, 12 << 20);
  x.processes[0].memory.add(memory_cause::gradients, 22 << 20);
  x.imbalance = 1.5;
  x.bubble = 0.25;
  x.stage_shares = {1};
  x.warnings = {"a stage waits"};
  return x;
}

} // namespace

TEST(plan_report, tells_who_holds_sends_and_computes_how_much) {
  EXPECT_EQ(plan_report(some_plan()),
            R"(model    64-1024-1024-10, 1126410 parameters; cuts 4
step     2 slices; data 1, tensor 2, pipeline 1; bubble 25.0 %
balance  the busiest replica has 1.50 times the mean work

segment  layers  cut by           units behind    work
0        0-1     outputs, inputs          1024  99.0 %
1        2       none                       10   1.0 %

replica  process  slices  layers  parts       work    reads  held  gradients  activations  boundaries
0        this     0-1     0-2     0-1 of 4  75.0 %  2.0 MiB     3    8.0 MiB      3.0 MiB     3.0 KiB
1        this     0-1     0-2     2 of 4    25.0 %  2.0 MiB     3    8.0 MiB      3.0 MiB     3.0 KiB
2        this     none

process   window  parameters  gradients  in all  limit
this     4.3 MiB      12 MiB     22 MiB  34 MiB   none

from, to  forward  backward   figures   a step
0, 1      4.0 KiB   0 bytes  32 bytes  4.0 KiB
1, 0      4.0 KiB   0 bytes  32 bytes  4.0 KiB
)");
}

TEST(plan_report, says_that_nothing_is_sent) {
  auto x = some_plan();
  x.links.clear();
  EXPECT_TRUE(plan_report(x).ends_with("\nNo replica sends another anything but its gradients.\n"));
}

TEST(plan_report, tells_of_nodes_and_what_they_send_each_other) {
  auto x = some_plan();
  auto& first = x.processes[0];
  first.name = "a";
  first.replicas = {0};
  first.limit = 48 << 20;
  x.processes.push_back({"b", {1, 2}, {}, 1024, {}, std::nullopt});
  x.processes[1].memory.add(memory_cause::parameters, 8192);
  x.process_links = {{0, 1, 1024, 4, {4096, 0, 32}, 8}};
  const auto text = plan_report(x);
  EXPECT_NE(text.find("\n2        b        none\n"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with(R"(
process   window  parameters  gradients   in all   limit
a        4.3 MiB      12 MiB     22 MiB   34 MiB  48 MiB
b        4.0 KiB     8.0 KiB    0 bytes  8.0 KiB    none

from, to  gradients  parameters  forward  backward   figures     sums   a step
a, b        1.0 KiB     4 bytes  4.0 KiB   0 bytes  32 bytes  8 bytes  5.0 KiB
)")) << text;
  const auto object = nlohmann::json::parse(plan_json(x));
  EXPECT_EQ(object["processes"][0]["memory"]["parameters"], 12 << 20);
  EXPECT_EQ(object["processes"][0]["bytes"], 34 << 20);
  EXPECT_EQ(object["processes"][0]["limit"], 48 << 20);
  EXPECT_EQ(object["processes"][1]["replicas"], (std::vector<int>{1, 2}));
  EXPECT_FALSE(object["processes"][1].contains("limit"));
  EXPECT_EQ(object["process_links"][0]["to"], "b");
  EXPECT_EQ(object["process_links"][0]["gradients"], 1024);
}

TEST(plan_report, is_one_object_for_scripts) {
  const auto text = plan_json(some_plan());
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  const auto object = nlohmann::json::parse(text);
  EXPECT_EQ(object["segments"][0]["cut"], (std::vector<std::string>{"outputs", "inputs"}));
  EXPECT_EQ(object["replicas"][1]["parts"], (std::vector<int>{2, 3}));
  EXPECT_EQ(object["replicas"][1]["gradient_bytes"], 8 << 20);
  EXPECT_EQ(object["links"][0]["figures"], 32);
  EXPECT_EQ(object["processes"][0]["spans"][0], (std::vector<int>{0, 1'126'410}));
  EXPECT_EQ(object["warnings"][0], "a stage waits");
}

} // namespace troupe::plan_report_test
