#include "actors/net/gate/visit.hpp"
#include "actors/protocol/status_messages.hpp"
#include "app/terminal/reports.hpp"
#include "data/text/failure.hpp"

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
            "rollbacks          1\n"
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
  EXPECT_NE(report.find("\n\nreplica  partition\n"
                        "main/0   slices 0-3, layers 0-1, part 0 of 2\n"
                        "main/1   spare\n"
                        "right/0  slices 0-3, layers 0-1, part 1 of 2\n\n"),
            std::string::npos)
    << report;
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
  EXPECT_NE(
    status_report(status_json(x))
      .find("\n\n"
            " replica  results  last   by ms  most ms  waited ms  computed ms  network ms\n"
            "  main/0        0     0     0.0      0.0        0.0          0.0         0.0\n"
            "ri ght/0      412   400  3500.0   3200.0        0.0          0.0         0.0\n"),
    std::string::npos)
    << status_report(status_json(x));
  const auto object = nlohmann::json::parse(status_json(x));
  EXPECT_EQ(object["trainers"][1]["last_by_max_ms"], 3200.0);
}

TEST(status_report, an_answer_with_strange_figures_is_a_mismatch) {
  auto object = nlohmann::json::parse(status_json(some_status()));
  object["trainers"] = {3};
  try {
    status_report(object.dump());
    ADD_FAILURE();
  } catch (const failure& error) {
    EXPECT_EQ(error.code(), failure_code::mismatch);
  }
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
  EXPECT_EQ(report.find("verdict            right holds up the run: linked, and silent for 3.2 s\n"
                        "because            main waits for right: gradients\n"
                        "what to do         its process is stopped or"),
            0u)
    << report;
  x.nodes[0].waits = {{"", "a place\x1b[2J"}};
  x.nodes.resize(1);
  EXPECT_NE(wait_report(status_json(x)).find("\nbecause            main waits for a place [2J\n"),
            std::string::npos);
  x.still = 0.5;
  EXPECT_EQ(wait_report(status_json(x)), "verdict            nothing holds up the run: training, "
                                         "step 412 of 570, last moved 0.5 s ago\n");
}

TEST(status_report, what_came_over_a_wire_moves_no_terminal) {
  auto x = some_status();
  x.waits_for = "a\x1b[2J\nb";
  EXPECT_NE(status_report(status_json(x)).find("a [2J b\n"), std::string::npos);
}

TEST(status_report, another_answer_is_a_mismatch) {
  for (const auto* text : {"{}", "no object", R"({"phase":7})"})
    try {
      status_report(text);
      ADD_FAILURE() << text;
    } catch (const failure& error) {
      EXPECT_EQ(error.code(), failure_code::mismatch) << text;
    }
}

} // namespace

} // namespace troupe::status_report_test
