#include "app/page/page_feed.hpp"

#include "app/page/run_metrics.hpp"
#include "data/records/event_file.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>

namespace troupe::page_feed_test {
namespace {

using nlohmann::json;

std::vector<uint64_t> steps_of(const json& points) {
  std::vector<uint64_t> result;
  for (const auto& x : points)
    result.push_back(x["steps"].get<uint64_t>());
  return result;
}

history_row row_at(uint64_t steps, double loss = 1) {
  history_row result;
  result.steps = steps;
  result.train_loss = loss;
  return result;
}

TEST(page_feed, points_are_thinned_evenly_and_keep_their_beginning) {
  thinned_points points;
  for (uint64_t step = 1; step <= 100'000; ++step)
    points.add(step, {{"steps", step}});
  const auto kept = steps_of(points.points());
  ASSERT_LE(kept.size(), thinned_points::size_max);
  ASSERT_GE(kept.size(), thinned_points::size_max / 4);
  EXPECT_EQ(kept.front(), 1u);
  const auto gap = kept[1] - kept[0];
  for (size_t i = 1; i < kept.size(); ++i)
    ASSERT_EQ(kept[i] - kept[i - 1], gap) << i;
  EXPECT_GT(kept.back() + gap, 100'000u);
}

TEST(page_feed, evaluations_that_are_rare_are_not_thinned) {
  thinned_points points;
  for (uint64_t step = 1; step <= 50'000; ++step)
    points.add(step, {{"steps", step},
                      {"train_loss", 1},
                      {"test_auc", step % 50 == 0 ? json(0.5) : json(nullptr)}});
  const auto kept = points.points();
  EXPECT_LE(kept.size(), thinned_points::size_max);
  EXPECT_EQ(std::ranges::count_if(kept, [](const json& x) { return x["test_auc"].is_number(); }),
            1000);
  EXPECT_TRUE(std::ranges::is_sorted(steps_of(kept)));
}

TEST(page_feed, steps_that_are_done_anew_take_the_place_of_the_earlier_ones) {
  page_feed feed{"x", page_source::live};
  for (const uint64_t steps : {10, 20, 30})
    feed.add_row(row_at(steps));
  feed.add_row(row_at(20, 2));
  const auto rows = json::parse(feed.curves())["rows"];
  EXPECT_EQ(steps_of(rows), (std::vector<uint64_t>{10, 20}));
  EXPECT_EQ(rows[1]["train_loss"], 2);
}

TEST(page_feed, curves_are_asked_for_again_when_they_have_changed) {
  page_feed feed{"x", page_source::live};
  const auto changes = [&](const char* what) {
    return json::parse(feed.status(0))[what].get<uint64_t>();
  };
  const auto [curves, events] = std::pair{changes("curves"), changes("events")};
  feed.add_event("linked with left", 1);
  EXPECT_EQ(changes("curves"), curves);
  EXPECT_GT(changes("events"), events);
  feed.set_status(R"({"step":4,"train_loss":0.5})", 2);
  EXPECT_GT(changes("curves"), curves);
  EXPECT_EQ(json::parse(feed.curves())["samples"][0]["train_loss"], 0.5);
}

TEST(page_feed, rounds_that_are_done_anew_take_the_place_of_the_earlier_ones) {
  page_feed feed{"x", page_source::live};
  const auto round = [](uint64_t number, uint64_t counted) {
    return round_record{.round = number, .invited = 10, .late = 1, .counted = counted};
  };
  const auto seen = [&] { return json::parse(feed.rounds())["rounds"]; };
  const auto changes = json::parse(feed.status(0))["rounds"];
  feed.add_rounds({});
  EXPECT_EQ(json::parse(feed.status(0))["rounds"], changes);
  feed.add_rounds({round(1, 7), round(2, 8), round(3, 9)});
  feed.add_rounds({round(2, 5)});
  ASSERT_EQ(seen().size(), 2u);
  EXPECT_EQ(seen()[1]["counted"], 5);
  EXPECT_EQ(seen()[1]["late"], 1);
  EXPECT_NE(json::parse(feed.status(0))["rounds"], changes);
  for (uint64_t i = 3; i <= page_feed::rounds_max + 3; ++i)
    feed.add_rounds({round(i, 1)});
  ASSERT_EQ(seen().size(), page_feed::rounds_max);
  EXPECT_EQ(seen().front()["round"], 4);
}

TEST(page_feed, of_a_private_round_its_epsilon_is_told_alone) {
  page_feed feed{"x", page_source::live};
  feed.add_rounds({{.round = 4, .invited = 10, .counted = 9, .epsilon = 1.5}});
  EXPECT_EQ(json::parse(feed.rounds())["rounds"],
            json::parse(R"([{"round":4,"void":false,"epsilon":1.5}])"));
}

TEST(page_feed, events_are_bounded_and_the_oldest_go) {
  page_feed feed{"x", page_source::live};
  for (size_t i = 0; i <= page_feed::events_max; ++i)
    feed.add_event("number " + std::to_string(i), static_cast<double>(i));
  const auto events = json::parse(feed.events())["events"];
  ASSERT_EQ(events.size(), page_feed::events_max);
  EXPECT_EQ(events.front()["text"], "number 1");
}

TEST(page_feed, a_director_that_is_visited_shows_rows_and_changes) {
  page_feed feed{"x", page_source::visits};
  feed.set_status(R"({"phase":"training","nodes":[{"name":"a","state":"takes part"}],
                      "newest_row":{"steps":5,"train_loss":1}})",
                  1);
  feed.set_status(R"({"phase":"training","rollbacks":1,"nodes":[{"name":"a","state":"missing"}],
                      "newest_row":{"steps":5,"train_loss":1}})",
                  2);
  EXPECT_EQ(json::parse(feed.curves())["rows"].size(), 1u);
  const auto events = json::parse(feed.events())["events"];
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0]["time"], 1) << "since when the page knows anything";
  EXPECT_EQ(events[1]["text"], "a: missing, was: takes part");
  EXPECT_EQ(events[2]["text"], "training went back to an earlier version");
}

TEST(page_feed, a_run_of_files_has_its_events) {
  temporary_folder folder;
  folder.write("identity.txt", "");
  folder.write("events.jsonl", event_line(2, {}, {event_kind::news, 7, "b was lost"}) +
                                 event_line(3, {}, {event_kind::row, 8, "epoch 1 has a row"}) +
                                 "{\"numb");
  folder.write("events.jsonl.1", event_line(1, {}, {event_kind::begin, 0, "training begins"}));
  const auto events = json::parse(feed_of_run(folder.path())->events())["events"];
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0]["text"], "training begins");
  EXPECT_EQ(events[1]["text"], "b was lost");
  EXPECT_EQ(events[1]["time"], 0);
}

TEST(page_feed, bytes_a_second_are_of_the_last_two_answers) {
  page_feed feed{"x", page_source::live};
  feed.set_status(R"({"bytes_sent":1000})", 1);
  feed.set_status(R"({"bytes_sent":5000})", 3);
  EXPECT_EQ(json::parse(feed.status(3))["bytes_per_second"], 2000);
}

TEST(page_feed, what_is_no_status_changes_nothing_and_a_problem_ends_with_the_next_answer) {
  page_feed feed{"x", page_source::visits};
  feed.set_status(R"({"step":1})", 1);
  feed.set_status("nonsense", 2);
  feed.set_problem("nobody answers");
  EXPECT_EQ(json::parse(feed.status(5))["age_seconds"], 4);
  EXPECT_EQ(json::parse(feed.status(5))["problem"], "nobody answers");
  feed.set_status(R"({"step":2})", 6);
  EXPECT_EQ(json::parse(feed.status(6))["problem"], "");
}

const json status{{"phase", "training"},
                  {"step", 12},
                  {"bytes_sent", 4096},
                  {"train_loss", nullptr},
                  {"nodes", {{{"name", "a\"b\\c\n"}, {"state", "takes part"}, {"step", 11}}}},
                  {"trainers", {{{"process", "a"}, {"replica", 1}, {"computed_ms", 2500.0}}}}};

TEST(run_metrics, a_figure_has_its_name_unit_and_labels) {
  const auto text = run_metrics(status, metrics_format::prometheus);
  for (const char* line :
       {"# TYPE troupe_step gauge\ntroupe_step 12\n",
        "# TYPE troupe_wire_sent_bytes_total counter\ntroupe_wire_sent_bytes_total 4096\n",
        "troupe_phase{phase=\"training\"} 1\n", "troupe_phase{phase=\"failed\"} 0\n",
        "troupe_node_step{node=\"a\\\"b\\\\c\\n\"} 11\n",
        "troupe_replica_computed_seconds_total{node=\"a\",replica=\"1\"} 2.5\n"})
    EXPECT_TRUE(test::contains(text, line));
  EXPECT_FALSE(test::contains(text, "train_loss")) << "what has no value is left out";
  EXPECT_FALSE(test::contains(text, "# EOF"));
}

TEST(run_metrics, metrics_of_the_job_are_one_family) {
  auto with = status;
  with["newest_row"] = {{"test_loss", 0.5},
                        {"test_auc", 0.75},
                        {"validation_macro_f1", nullptr},
                        {"test_macro_f1", 0.25},
                        {"epoch", 3}};
  const auto text = run_metrics(with, metrics_format::prometheus);
  EXPECT_TRUE(test::contains(
    text, "# TYPE troupe_metric gauge\ntroupe_metric{metric=\"auc\",rows=\"test\"} 0.75\n"
          "troupe_metric{metric=\"macro_f1\",rows=\"test\"} 0.25\n"));
  EXPECT_FALSE(test::contains(text, "metric=\"loss"));
}

TEST(run_metrics, of_clients_that_dial_in) {
  auto with = status;
  with["clients"] = {
    {"here", 3}, {"wanted", 5}, {"counted", 48}, {"came_bytes", 4096}, {"gathers", true}};
  const auto text = run_metrics(with, metrics_format::prometheus);
  for (const char* line :
       {"troupe_clients_here 3\n", "troupe_clients_wanted 5\n", "troupe_client_updates_total 48\n",
        "troupe_client_came_bytes_total 4096\n"})
    EXPECT_TRUE(test::contains(text, line));
  EXPECT_FALSE(test::contains(text, "gathers"));
  EXPECT_FALSE(test::contains(run_metrics(status, metrics_format::prometheus), "client"));
}

TEST(run_metrics, who_asks_for_open_metrics_gets_it) {
  const auto format = metrics_format_for("application/openmetrics-text;version=1.0.0, text/plain");
  EXPECT_EQ(format, metrics_format::open_metrics);
  const auto text = run_metrics(status, format);
  EXPECT_TRUE(test::contains(
    text, "# TYPE troupe_wire_sent_bytes counter\ntroupe_wire_sent_bytes_total 4096\n"))
    << "a family has no ending";
  EXPECT_TRUE(text.ends_with("# EOF\n"));
  EXPECT_EQ(metrics_format_for("text/html"), metrics_format::prometheus);
}

TEST(run_metrics, before_the_first_status_there_are_none) {
  EXPECT_EQ(run_metrics(nullptr, metrics_format::prometheus), "");
  EXPECT_EQ(run_metrics(nullptr, metrics_format::open_metrics), "# EOF\n");
}

} // namespace
} // namespace troupe::page_feed_test
