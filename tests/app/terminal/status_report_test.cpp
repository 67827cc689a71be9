#include "actors/net/gate/visit.hpp"
#include "actors/protocol/status_messages.hpp"
#include "app/job/job_file.hpp"
#include "app/terminal/output.hpp"
#include "app/terminal/reports.hpp"
#include "coordinators/parallel/parallel_plan.hpp"
#include "data/records/training_record.hpp"
#include "data/text/failure.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/failure_of.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace troupe::status_report_test {
namespace {

training_status some_status() {
  training_status x;
  x.phase = "training";
  x.version = 412;
  x.last_version = 570;
  x.epoch = 14;
  x.epochs = 20;
  x.seconds = 3.25;
  x.steps_per_second = 126.75;
  x.samples_per_second = 8000;
  x.waits_for = "waiting for node right";
  x.still = 3.2;
  x.view = {2, 3};
  x.views = 4;
  x.replicas_lost = 1;
  x.rollbacks = 1;
  x.steps_again = 12;
  x.lives = 2;
  x.joins = 3;
  x.leaves = 5;
  x.seconds_elapsed = 3.25;
  x.seconds_again = 0.25;
  x.seconds_still = 0.4;
  x.late = {{"right", {"gradients of step 412, slices 2-3"}, milliseconds{3200}}};
  x.train_loss = 0.25;
  x.train_accuracy = 0.9375;
  x.learning_rate = 0.005;
  x.seconds_left = 3725.9;
  history_row row;
  row.test_loss = 0.5;
  row.test_accuracy = 0.875;
  x.newest_row = {row};
  x.nodes.resize(4);
  x.nodes[0] = {"main",
                true,
                true,
                true,
                1,
                1,
                2,
                1,
                412,
                {412},
                {{"right", "gradients"}},
                0.25,
                1'000,
                {{2'000'000}, 0, 3}};
  x.nodes[1] = {"right", false, true, true, 1, 1, 2, 1, 411, {412}, {}, 3.2, 900, {{0, 500'000}}};
  x.nodes[2] = {"back", false, true, true, 1, 0, 0, 0, {}, {}, {}, 0.5, 0, {}};
  x.nodes[3] = {"gone", false, false, false, 1, 0, 0, 0, {}, {}, {}, -1, 0, {}};
  return x;
}

TEST(status_report, shows_the_run_who_is_behind_and_each_node) {
  EXPECT_EQ(status_report(status_json(some_status())),
            "phase              training\n"
            "step               412 of 570\n"
            "epoch              14 of 20\n"
            "seconds            3.2\n"
            "steps/s            126.8\n"
            "samples/s          8000\n"
            "time left          1:02:05\n"
            "learning rate      0.005\n"
            "train loss         0.25\n"
            "train accuracy     0.9375\n"
            "test loss          0.5\n"
            "test accuracy      0.875\n"
            "view               2.3 (4 so far)\n"
            "replicas lost      1\n"
            "rollbacks          1 (12 steps again)\n"
            "joins              3\n"
            "leaves             5\n"
            "lives              2\n"
            "goodput            80.0 % (again 0.2 s, still 0.4 s)\n"
            "waits for          node right\n"
            "behind             right, by 3.2 s: gradients of step 412, slices 2-3\n"
            "\n"
            "node   role      state       replicas  shards  slices  spans  step  heard  MB sent  "
            "resends  waits for\n"
            "main   director  takes part  1         1       2       1      412   0.2 s  2.0      "
            "3        gradients from right\n"
            "right  worker    takes part  1         1       2       1      411   3.2 s  0.5      "
            "0        -\n"
            "back   spare     takes part  1         0       0       0      -     0.5 s  0.0      "
            "0        -\n"
            "gone   worker    missing     1         0       0       0      -     never  0.0      "
            "0        -\n");
}

TEST(status_report, shows_what_each_replica_carries_of_a_split_model) {
  auto x = some_status();
  x.nodes[0].partitions = {"slices 0-3, layers 0-1, part 0 of 2", "spare"};
  x.nodes[1].partitions = {"slices 0-3, layers 0-1, part 1 of 2"};
  x.figures = {412, {{{"main", 0}, {}, "slices 0-3, layers 0-1, part 0 of 2"}, {{"right", 0}, {}}}};
  const auto report = status_report(status_json(x));
  EXPECT_TRUE(test::contains(report, "\n\nreplica  partition\n"
                                     "main/0   slices 0-3, layers 0-1, part 0 of 2\n"
                                     "main/1   spare\n"
                                     "right/0  slices 0-3, layers 0-1, part 1 of 2\n\n"));
  EXPECT_EQ(report.find("part 0 of 2"), report.rfind("part 0 of 2")) << "once";
}

TEST(status_report, shows_whose_wait_it_was_where_somebody_counts) {
  auto x = some_status();
  trainer_statistics figures;
  figures.result_count = 412;
  figures.last_count = 400;
  figures.last_by = milliseconds{3500};
  figures.last_by_max = milliseconds{3200};
  x.figures = {412, {{{"main", 0}, {}}, {{"ri\nght", 0}, figures}}};
  EXPECT_TRUE(test::contains(
    status_report(status_json(x)),
    "\n\n"
    " replica  results  last   by ms  most ms  waited ms  computed ms  network ms\n"
    "  main/0        0     0     0.0      0.0        0.0          0.0         0.0\n"
    "ri ght/0      412   400  3500.0   3200.0        0.0          0.0         0.0\n"));
  const auto object = nlohmann::json::parse(status_json(x));
  EXPECT_EQ(object["trainers"][1]["last_by_max_ms"], 3200.0);
}

TEST(status_report, the_object_adds_up_what_nodes_sent) {
  const auto object = nlohmann::json::parse(status_json(some_status()));
  EXPECT_EQ(object["bytes_sent"], 2'500'000);
  EXPECT_EQ(object["bytes_by_kind"].dump(), R"({"gradient":2000000,"parameters":500000})");
  EXPECT_EQ(object["nodes"][1]["bytes_by_kind"].dump(), R"({"parameters":500000})");
  EXPECT_EQ(object["nodes"][3]["bytes_by_kind"].dump(), "{}");
  EXPECT_EQ(object["resends"], 3);
  EXPECT_EQ(object["view"]["number"], 3);
  EXPECT_EQ(object["nodes"][3]["last_heard_seconds"], nullptr);
  EXPECT_EQ(object["nodes"][2]["step"], nullptr);
}

TEST(wait_report, shows_who_holds_up_the_run_by_which_chain_and_what_to_do) {
  auto x = some_status();
  x.nodes.resize(2);
  const auto report = wait_report(status_json(x));
  EXPECT_TRUE(
    report.starts_with("verdict            right holds up the run: linked, and silent for 3.2 s\n"
                       "because            main waits for right: gradients\n"
                       "what to do         its process is stopped or"))
    << report;
  x.nodes[0].waits = {{"", "a place\x1b[2J"}};
  x.nodes.resize(1);
  EXPECT_TRUE(test::contains(wait_report(status_json(x)),
                             "\nbecause            main waits for a place [2J\n"));
  x.still = 0.5;
  EXPECT_EQ(wait_report(status_json(x)), "verdict            nothing holds up the run: training, "
                                         "step 412 of 570, last moved 0.5 s ago\n");
}

TEST(status_report, what_came_over_a_wire_moves_no_terminal) {
  auto x = some_status();
  x.waits_for = "a\x1b[2J\nb";
  EXPECT_TRUE(test::contains(status_report(status_json(x)), "a [2J b\n"));
}

TEST(status_report, another_answer_is_a_mismatch) {
  auto strange = nlohmann::json::parse(status_json(some_status()));
  strange["trainers"] = {3};
  for (const std::string& text : {std::string{"{}"}, std::string{"no object"},
                                  std::string{R"({"phase":7})"}, strange.dump()}) {
    const auto error = test::failure_of([&] { status_report(text); });
    EXPECT_EQ(error.code(), failure_code::mismatch) << text;
  }
}

TEST(output, error_says_where_what_and_what_to_do) {
  EXPECT_EQ(error_text(failure{failure_code::bad_data, "no number: 'x'", "rows.csv:2:3", "fix it"}),
            "troupe: error: rows.csv:2:3: no number: 'x'\n  hint: fix it\n");
  EXPECT_EQ(error_text(failure{failure_code::internal, "broken"}), "troupe: error: broken\n");
}

TEST(output, every_error_of_a_job_is_printed) {
  const job_errors errors{{{"a:1:1", "first", "do this"}, {"a:2:1", "second", ""}}};
  EXPECT_EQ(error_text(errors), "troupe: error: a:1:1: first\n  hint: do this\n"
                                "troupe: error: a:2:1: second\n");
}

TEST(output, report_leaves_out_what_was_not_measured) {
  training_summary summary;
  summary.epochs = 20;
  summary.steps = 840;
  summary.seconds = 1.5;
  summary.samples_per_second = 12345.6;
  summary.test_accuracy = 0.9625;
  summary.parameters_sha256 = "ab12";
  summary.model_file = "runs/x/model.safetensors";
  summary.stopped_by = "epochs";
  EXPECT_EQ(run_report(summary), "epochs             20\n"
                                 "steps              840\n"
                                 "stopped by         epochs\n"
                                 "seconds            1.500\n"
                                 "samples/s          12346\n"
                                 "test accuracy      0.9625\n"
                                 "parameters sha256  ab12\n"
                                 "model file         runs/x/model.safetensors\n");
}

TEST(output, report_tells_the_best_version_and_its_validation_figures) {
  training_summary summary;
  summary.steps = 420;
  summary.best_version = 420;
  summary.validation_loss = 0.25;
  summary.validation_accuracy = 0.75;
  summary.validation_r2 = 0.5;
  const auto report = run_report(summary);
  for (const auto* line : {"best version       step 420\n", "val loss           0.25\n",
                           "val accuracy       0.75\n", "val r2             0.5\n"})
    EXPECT_TRUE(test::contains(report, line));
}

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
  EXPECT_TRUE(test::contains(text, "\n2        b        none\n"));
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

} // namespace
} // namespace troupe::status_report_test
