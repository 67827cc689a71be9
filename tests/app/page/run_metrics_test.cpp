#include "app/page/run_metrics.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace troupe::run_metrics_test {

namespace {

using nlohmann::json;

const json status{{"phase", "training"},
                  {"step", 12},
                  {"bytes_sent", 4096},
                  {"train_loss", nullptr},
                  {"nodes", {{{"name", "a\"b\\c\n"}, {"state", "takes part"}, {"step", 11}}}},
                  {"trainers", {{{"process", "a"}, {"replica", 1}, {"computed_ms", 2500.0}}}}};

} // namespace

TEST(run_metrics, a_figure_has_its_name_unit_and_labels) {
  const auto text = run_metrics(status, metrics_format::prometheus);
  for (const char* line :
       {"# TYPE troupe_step gauge\ntroupe_step 12\n",
        "# TYPE troupe_wire_sent_bytes_total counter\ntroupe_wire_sent_bytes_total 4096\n",
        "troupe_phase{phase=\"training\"} 1\n", "troupe_phase{phase=\"failed\"} 0\n",
        "troupe_node_step{node=\"a\\\"b\\\\c\\n\"} 11\n",
        "troupe_replica_computed_seconds_total{node=\"a\",replica=\"1\"} 2.5\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  EXPECT_EQ(text.find("train_loss"), std::string::npos) << "what has no value is left out";
  EXPECT_EQ(text.find("# EOF"), std::string::npos);
}

TEST(run_metrics, metrics_of_the_job_are_one_family) {
  auto with = status;
  with["newest_row"] = {{"test_loss", 0.5},
                        {"test_auc", 0.75},
                        {"validation_macro_f1", nullptr},
                        {"test_macro_f1", 0.25},
                        {"epoch", 3}};
  const auto text = run_metrics(with, metrics_format::prometheus);
  EXPECT_NE(
    text.find("# TYPE troupe_metric gauge\ntroupe_metric{metric=\"auc\",rows=\"test\"} 0.75\n"
              "troupe_metric{metric=\"macro_f1\",rows=\"test\"} 0.25\n"),
    std::string::npos)
    << text;
  EXPECT_EQ(text.find("metric=\"loss"), std::string::npos) << text;
}

TEST(run_metrics, who_asks_for_open_metrics_gets_it) {
  const auto format = metrics_format_for("application/openmetrics-text;version=1.0.0, text/plain");
  EXPECT_EQ(format, metrics_format::open_metrics);
  const auto text = run_metrics(status, format);
  EXPECT_NE(text.find("# TYPE troupe_wire_sent_bytes counter\ntroupe_wire_sent_bytes_total 4096\n"),
            std::string::npos)
    << "a family has no ending";
  EXPECT_TRUE(text.ends_with("# EOF\n"));
  EXPECT_EQ(metrics_format_for("text/html"), metrics_format::prometheus);
}

TEST(run_metrics, before_the_first_status_there_are_none) {
  EXPECT_EQ(run_metrics(nullptr, metrics_format::prometheus), "");
  EXPECT_EQ(run_metrics(nullptr, metrics_format::open_metrics), "# EOF\n");
}

} // namespace troupe::run_metrics_test
