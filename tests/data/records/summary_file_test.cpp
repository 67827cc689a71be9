#include "data/records/summary_file.hpp"

#include "data/records/trainer_table.hpp"
#include "data/text/json_value.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/failure_of.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace troupe::summary_file_test {
namespace {

using nlohmann::ordered_json;

training_summary whole() {
  training_summary x;
  x.job = "digits";
  x.strategy = "gradients";
  x.replicas = 2;
  x.slices = 3;
  x.nodes = 4;
  x.steps = 5;
  x.epochs = 6;
  x.samples = 7;
  x.seconds = 0.5;
  x.samples_per_second = 14;
  x.train_loss = 0.25;
  x.test_loss = 0.125;
  x.test_accuracy = 0.75;
  x.test_r2 = 0.875;
  x.parameters_sha256 = "aa";
  x.job_sha256 = "bb";
  x.arithmetic = "cc";
  x.model_file = "m";
  x.stopped_by = "epochs";
  x.samples_by_replica = {3, 4};
  x.spans_by_node = {{"left", 4096}, {"right", 120}};
  x.steps_executed = 8;
  x.views = 9;
  x.replicas_lost = 10;
  x.rollbacks = 11;
  x.steps_again = 16;
  x.lives = 17;
  x.joins = 18;
  x.leaves = 19;
  x.seconds_elapsed = 1.5;
  x.seconds_again = 0.125;
  x.seconds_still = 0.25;
  x.bytes_by_kind = {{"gradient", 8}, {"parameters", 4}};
  x.bytes_early = 15;
  x.resends = 13;
  x.validation_loss = 0.5;
  x.validation_accuracy = 0.625;
  x.validation_r2 = 0.375;
  x.reproducible = false;
  x.trainers = {{"left", 9, 1, 2, 3, 7, 8, 4, 0.5, 0.25, 1.5, 2.5, 3.5, {5, 6}}};
  x.best_version = 14;
  return x;
}

TEST(summary_file, what_was_written_is_read) {
  for (auto x : {whole(), training_summary{}})
    for (const auto layout : {json_layout::one_line, json_layout::indented}) {
      const auto text = summary_json(x, layout);
      EXPECT_EQ(summary_json(read_summary(text, "file"), layout), text);
    }
}

TEST(summary_file, what_is_no_summary_is_refused_by_name) {
  for (const std::string text :
       {"", "{", "[]", "3", R"({"steps":"many"})", R"({"trainers":3})",
        R"({"trainers":[{"lost":"x"}]})", R"({"bytes_by_kind":[1]})", R"({"steps":6e20})",
        R"({"steps":-1})", R"({"samples_by_replica":[1,-2.5]})",
        R"({"bytes_by_kind":{"gradient":1e30}})", R"({"trainers":[{"lost":6e20}]})"}) {
    const auto error = test::failure_of([&] { read_summary(text, "folder/summary.json"); });
    EXPECT_EQ(error.code(), failure_code::bad_data);
    EXPECT_EQ(error.where(), "folder/summary.json");
  }
}

TEST(summary_file, every_field_has_its_key_on_one_line) {
  EXPECT_EQ(
    summary_json(whole(), json_layout::one_line),
    R"({"job":"digits","strategy":"gradients","replicas":2,"slices":3,"nodes":4,"steps":5,)"
    R"("epochs":6,"samples":7,"seconds":0.5,"samples_per_second":14.0,"train_loss":0.25,)"
    R"("test_loss":0.125,"test_accuracy":0.75,"test_r2":0.875,"parameters_sha256":"aa",)"
    R"("job_sha256":"bb","arithmetic":"cc","model_file":"m","stopped_by":"epochs",)"
    R"("samples_by_replica":[3,4],"spans_by_node":{"left":4096,"right":120},)"
    R"("steps_executed":8,"lives":17,"views":9,"joins":18,"leaves":19,"replicas_lost":10,)"
    R"("rollbacks":11,"steps_again":16,"seconds_elapsed":1.5,"seconds_again":0.125,"seconds_still":0.25,"goodput":0.75,"bytes_sent":12,"bytes_by_kind":{"gradient":8,"parameters":4},"bytes_early":15,"resends":13,"validation_loss":0.5,)"
    R"("validation_accuracy":0.625,"validation_r2":0.375,"best_version":14,"reproducible":false,)"
    R"("trainers":[{"process":"left","replica":9,"results":1,"applied":2,"discarded":3,)"
    R"("refused":7,"lost":8,"last_count":4,"last_by_ms":0.5,"last_by_max_ms":0.25,"waited_ms":1.5,"computed_ms":2.5,"network_ms":3.5,"lags":[5,6]}]})"
    "\n");
}

TEST(summary_file, clients_figures_are_an_object_where_they_were_asked_for) {
  auto x = whole();
  EXPECT_EQ(ordered_json::parse(summary_json(x, json_layout::one_line)).count("client_figures"),
            0u);
  x.client_figures = client_evaluation{3, 40, {1, 2, 3, 4}, 3.5, {}, {}};
  const auto figures = [&] {
    return ordered_json::parse(summary_json(x, json_layout::one_line)).at("client_figures").dump();
  };
  EXPECT_EQ(figures(), R"({"clients":3,"rows":40,"test_loss":{"p10":1.0,"p50":2.0,"p90":3.0,)"
                       R"("max":4.0},"test_loss_worst_tenth":3.5})");
  x.client_figures->accuracies = client_quantiles{0.25, 0.5, 0.75, 1};
  x.client_figures->worst_tenth_accuracy = 0.125;
  EXPECT_TRUE(test::contains(figures(),
                             R"("test_accuracy":{"p10":0.25,"p50":0.5,"p90":0.75,"max":1.0},)"
                             R"("test_accuracy_worst_tenth":0.125})"));
}

TEST(summary_file, indented_layout_holds_the_same) {
  const auto indented = summary_json(whole(), json_layout::indented);
  EXPECT_GT(std::count(indented.begin(), indented.end(), '\n'), 20);
  EXPECT_EQ(ordered_json::parse(indented),
            ordered_json::parse(summary_json(whole(), json_layout::one_line)));
}

TEST(summary_file, absent_and_infinite_figures_are_null) {
  auto x = whole();
  x.train_loss = std::numeric_limits<double>::quiet_NaN();
  x.test_loss = std::nullopt;
  x.best_version = std::nullopt;
  x.samples_per_second = std::numeric_limits<double>::infinity();
  const auto object = ordered_json::parse(summary_json(x, json_layout::one_line));
  for (const auto* key : {"train_loss", "test_loss", "samples_per_second", "best_version"})
    EXPECT_TRUE(object.at(key).is_null()) << key;
}

TEST(summary_file, run_that_ended_badly_starts_with_its_error) {
  const failure error{failure_code::diverged, "not finite", "digits", "lower it"};
  const auto object = ordered_json::parse(summary_json(whole(), json_layout::one_line, &error));
  EXPECT_EQ(object.begin().key(), "error");
  EXPECT_EQ(object["error"].dump(),
            R"({"code":"diverged","what":"not finite","where":"digits","hint":"lower it"})");
  EXPECT_EQ(object["job"], "digits");
}

TEST(summary_file, failure_without_a_run_is_one_object) {
  const failure error{failure_code::bad_data, "a \"cell\"", "x:1:2", "fix it"};
  EXPECT_EQ(failure_json(error, ""), R"({"error":{"code":"bad-data","what":"a \"cell\"",)"
                                     R"("where":"x:1:2","hint":"fix it"}})"
                                     "\n");
  EXPECT_EQ(ordered_json::parse(failure_json(error, "digits"))["job"], "digits");
}

TEST(summary_file, bytes_that_are_no_utf8_do_not_lose_the_summary) {
  auto x = whole();
  x.model_file = "runs/\xff/model";
  const auto object = ordered_json::parse(summary_json(x, json_layout::one_line));
  EXPECT_EQ(object["model_file"], "runs/\xef\xbf\xbd/model");
}

trainer_record synchronous(const std::string& process, uint64_t replica) {
  trainer_record x;
  x.process = process;
  x.replica = replica;
  x.results = 100;
  x.last_count = 12;
  x.last_by_ms = 9.44;
  x.last_by_max_ms = 1.9;
  x.waited_ms = 405.2;
  x.computed_ms = 930.7;
  x.network_ms = 38.1;
  x.lags.assign(8, 0);
  return x;
}

std::optional<std::vector<trainer_record>> read_trainers(const std::string& text) {
  std::vector<trainer_record> result;
  try {
    read_value_of(ordered_json::parse(text), result);
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
  return result;
}

TEST(trainer_table, shows_who_was_last_and_by_how_much) {
  auto second = synchronous("right", 1);
  second.results = 7;
  EXPECT_EQ(trainer_table(std::vector{synchronous("left", 0), second}),
            "replica  results  last  by ms  most ms  waited ms  computed ms  network ms\n"
            " left/0      100    12    9.4      1.9      405.2        930.7        38.1\n"
            "right/1        7    12    9.4      1.9      405.2        930.7        38.1\n");
  EXPECT_EQ(trainer_table({}), "");
  EXPECT_EQ(trainer_table(std::vector{synchronous("local", 0)}),
            "replica  results  last  by ms  most ms  waited ms  computed ms  network ms\n"
            "      0      100    12    9.4      1.9      405.2        930.7        38.1\n")
    << "one process needs no name";
}

TEST(trainer_table, has_columns_for_what_somebody_has) {
  auto x = synchronous("local", 0);
  x.applied = 3;
  x.discarded = 2;
  x.refused = 1;
  x.lost = 4;
  x.lags = {0, 5, 0, 0, 0, 0, 0, 6};
  EXPECT_EQ(trainer_table(std::vector{x, synchronous("local", 1)}),
            "replica  results  last  by ms  most ms  waited ms  computed ms  network ms  applied  "
            "discarded  refused  lost  lag 1  lag 64+\n"
            "      0      100    12    9.4      1.9      405.2        930.7        38.1        3  "
            "        2        1     4      5        6\n"
            "      1      100    12    9.4      1.9      405.2        930.7        38.1        0  "
            "        0        0     0      0        0\n");
}

TEST(trainer_table, says_what_each_carries_of_a_split_model) {
  auto x = synchronous("local", 0);
  x.partition = "slices 0-3, layer 0, part 0 of 2";
  const std::vector both{x, synchronous("local", 1)};
  EXPECT_EQ(
    trainer_table(both),
    "replica  results  last  by ms  most ms  waited ms  computed ms  network ms             "
    "            partition\n"
    "      0      100    12    9.4      1.9      405.2        930.7        38.1  slices 0-3, "
    "layer 0, part 0 of 2\n"
    "      1      100    12    9.4      1.9      405.2        930.7        38.1\n");
  EXPECT_EQ(read_trainers(ordered_json(both).dump()), both);
}

TEST(trainer_table, names_classes_of_lags_that_double) {
  EXPECT_EQ(lag_class_name(0, 8), "0");
  EXPECT_EQ(lag_class_name(1, 8), "1");
  EXPECT_EQ(lag_class_name(2, 8), "2-3");
  EXPECT_EQ(lag_class_name(6, 8), "32-63");
  EXPECT_EQ(lag_class_name(7, 8), "64+");
}

TEST(trainer_table, what_was_written_as_json_is_read) {
  auto x = synchronous("left", 3);
  x.lags = {1, 2, 3};
  x.refused = 9;
  EXPECT_EQ(read_trainers(ordered_json(std::vector{x, trainer_record{}}).dump()),
            (std::vector{x, trainer_record{}}));
  EXPECT_EQ(read_trainers("[{}]"), std::vector{trainer_record{}});
}

TEST(trainer_table, what_is_no_list_of_figures_is_refused) {
  for (const auto* text :
       {"", "3", "[3]", R"([{"results":"x"}])", R"([{"process":1}])", R"({"a":1})"})
    EXPECT_EQ(read_trainers(text), std::nullopt) << text;
}

} // namespace
} // namespace troupe::summary_file_test
