#include "coordinators/run/slow_watch.hpp"
#include "coordinators/run/version_reports.hpp"
#include "coordinators/run/waits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace troupe::waits_test {
namespace {

using namespace std::chrono_literals;

const moment start{};

std::string text_of(const std::vector<heard_process>& everybody) {
  return waiting_text(holding_up(everybody));
}

TEST(holding_up, the_end_of_each_chain_of_waits_is_named) {
  const struct {
    const char* name;
    std::vector<heard_process> everybody;
    const char* text;
  } rows[] = {
    {"all work", {{"a", {}, 0ms}, {"b", {}, 900ms}}, ""},
    {"there is nobody", {}, ""},
    {"waited for, and works",
     {{"a", {{"b", "gradients of step 412, slices 2-3"}}, 0ms}, {"b", {}, 1400ms}},
     "waiting for node b: gradients of step 412, slices 2-3 (last heard 1.4 s ago)"},
    {"a chain",
     {{"a", {{"b", "x"}}, 0ms}, {"b", {{"c", "y"}}, 0ms}, {"c", {}, 0ms}},
     "waiting for node c: y (last heard 0.0 s ago)"},
    {"what a silent process said last does not count",
     {{"a", {{"b", "x"}}, 0ms}, {"b", {{"a", "y"}, {"", "z"}}, silence_max}},
     "waiting for node b: x (last heard 1.8 s ago)"},
    {"silent, and nobody misses it",
     {{"a", {}, 0ms}, {"b", {}, 2600ms}},
     "waiting for node b: a sign of life (last heard 2.6 s ago)"},
    {"not silent for long enough", {{"a", {}, 0ms}, {"b", {}, silence_max - 1ms}}, ""},
    {"all of a circle",
     {{"a", {{"b", "x"}}, 0ms}, {"b", {{"a", "y"}}, 0ms}, {"c", {{"a", "y"}}, 0ms}},
     "waiting for node a: y (last heard 0.0 s ago); node b: x (last heard 0.0 s ago)"},
    {"its own parts",
     {{"a", {{"", "replicas to finish their step"}}, 100ms}, {"b", {}, 0ms}},
     "waiting for node a: replicas to finish their step (last heard 0.1 s ago)"},
  };
  for (const auto& [name, everybody, text] : rows) {
    const auto late = holding_up(everybody);
    EXPECT_EQ(late.empty() ? "" : waiting_text(late), text) << name;
  }
}

TEST(holding_up, more_than_three_are_counted) {
  std::vector<heard_process> everybody;
  for (const auto* name : {"a", "b", "c", "d", "e"})
    everybody.push_back({name, {}, 3s});
  const auto text = text_of(everybody);
  EXPECT_NE(text.find("node c"), std::string::npos) << text;
  EXPECT_NE(text.find("; 2 more"), std::string::npos) << text;
  EXPECT_EQ(text.find("node d"), std::string::npos) << text;
}

TEST(waiting_text, says_who_is_to_join_and_until_when) {
  EXPECT_EQ(joining_text({"c", "d"}, 57'200ms), "waiting for nodes c, d to join (58 s left)");
  EXPECT_EQ(joining_text({"c"}, -5ms), "waiting for node c to join (0 s left)");
  EXPECT_EQ(joining_text({}, 1s), "waiting for a node to join (1 s left)");
}

TEST(waiting_text, times_have_tenths_below_a_minute) {
  EXPECT_EQ(time_text(1449ms), "1.4 s");
  EXPECT_EQ(time_text(1450ms), "1.5 s");
  EXPECT_EQ(time_text(59'900ms), "59.9 s");
  EXPECT_EQ(time_text(75'400ms), "75 s");
}

TEST(wait_reporter, tells_a_wait_once_it_has_lasted) {
  wait_reporter teller{2s};
  EXPECT_FALSE(teller.is_due("b", start, start + 1999ms));
  EXPECT_TRUE(teller.is_due("b", start, start + 2s));
  EXPECT_FALSE(teller.is_due("b", start, start + 2050ms));
}

TEST(wait_reporter, repeats_itself_ever_more_seldom) {
  wait_reporter teller{2s};
  std::vector<int64_t> told_s;
  for (auto now = start; now < start + 300s; now += 50ms)
    if (teller.is_due("b", start, now))
      told_s.push_back(std::chrono::duration_cast<std::chrono::seconds>(now - start).count());
  EXPECT_EQ(told_s, (std::vector<int64_t>{2, 7, 17, 37, 77, 137, 197, 257}));
}

TEST(wait_reporter, tells_at_once_that_it_is_somebody_else) {
  wait_reporter teller{2s};
  EXPECT_TRUE(teller.is_due("b", start, start + 2s));
  EXPECT_TRUE(teller.is_due("c", start, start + 2100ms));
  EXPECT_FALSE(teller.is_due("b", start, start + 2200ms)) << "back and forth is no news";
}

// Every step takes three seconds because of b: that is not a line a step.
TEST(wait_reporter, the_same_wait_again_and_again_is_told_ever_more_seldom) {
  wait_reporter teller{2s};
  int told = 0;
  for (int step = 0; step < 100; ++step) {
    const auto since = start + step * 3s;
    told += teller.is_due("b", since, since + 2500ms);
    teller.over(since + 3s);
  }
  EXPECT_EQ(told, 8);
}

TEST(wait_reporter, a_wait_long_after_another_is_news) {
  wait_reporter teller{2s};
  EXPECT_TRUE(teller.is_due("b", start, start + 10s));
  const auto later = start + 10s + wait_reporter::interval_max + 1s;
  EXPECT_TRUE(teller.is_due("b", later - 2s, later));
  EXPECT_FALSE(teller.is_due("b", later - 2s, later + 4s));
  EXPECT_TRUE(teller.is_due("b", later - 2s, later + 5s)) << "from the shortest interval again";
}

TEST(wait_reporter, says_once_how_long_a_wait_lasted_that_it_told) {
  wait_reporter teller{2s};
  teller.is_due("b", start, start + 1s);
  EXPECT_FALSE(teller.over(start + 1500ms));
  teller.is_due("b", start, start + 2s);
  teller.is_due("c", start + 1s, start + 3s);
  EXPECT_EQ(teller.over(start + 7200ms), 7200ms);
  EXPECT_FALSE(teller.over(start + 8s));
}

TEST(pace, counts_steps_over_the_last_seconds) {
  pace x;
  EXPECT_EQ(x.steps_per_second(start), 0);
  for (int i = 0; i <= 200; ++i)
    x.on_version(i < 100 ? i : 100 + 3 * (i - 100), start + i * 100ms);
  EXPECT_DOUBLE_EQ(x.steps_per_second(start + 20s), 30);
  EXPECT_EQ(x.steps_per_second(start + 20s + pace::window + 1ms), 0) << "nothing comes any more";
}

TEST(pace, a_roll_back_begins_anew) {
  pace x;
  x.on_version(0, start);
  x.on_version(100, start + 1s);
  x.on_version(50, start + 2s);
  EXPECT_EQ(x.steps_per_second(start + 2s), 0);
  x.on_version(60, start + 3s);
  EXPECT_DOUBLE_EQ(x.steps_per_second(start + 3s), 10);
}

using std::chrono::milliseconds;

/// What happens to each replica in a second of a run.
struct second_of {
  const char* process;
  uint64_t results = 100;
  uint64_t last = 0;
  int last_by_ms = 0;
  int computed_ms = 300;
};

slow_watch after(int seconds, const std::vector<second_of>& all) {
  slow_watch watch;
  for (int second = 0; second <= seconds; ++second) {
    std::vector<named_statistics> figures;
    for (const auto& x : all) {
      named_statistics one;
      one.who = {x.process, 0};
      one.figures.result_count = 1'000 + second * x.results;
      one.figures.last_count = 500 + second * x.last;
      one.figures.last_by = milliseconds{second * x.last_by_ms};
      one.figures.computed = milliseconds{second * x.computed_ms};
      figures.push_back(one);
    }
    watch.on_figures(figures, moment{} + std::chrono::seconds{100 + second});
  }
  return watch;
}

TEST(slow_watch, who_computes_longer_than_others_is_named_after_a_whole_window) {
  const std::vector<second_of> all{{"a"}, {"b", 100, 95, 620, 930}, {"c"}};
  EXPECT_FALSE(after(9, all).slow());
  const auto slow = after(10, all).slow();
  ASSERT_TRUE(slow);
  EXPECT_EQ(slow->who, (replica_name{"b", 0}));
  EXPECT_EQ(slow->steps, 1'000u);
  EXPECT_EQ(slow->last, 950u);
  EXPECT_NEAR(slow->waited_share, 0.62, 1e-9);
  EXPECT_NEAR(slow->late_ms, 6'200.0 / 950, 1e-9);
  EXPECT_NEAR(slow->computing_ratio, 3.1, 1e-9);
}

TEST(slow_watch, who_takes_turns_or_is_late_by_little_is_not) {
  EXPECT_FALSE(after(12, {{"a", 100, 50, 400}, {"b", 100, 50, 400}}).slow());
  EXPECT_FALSE(after(12, {{"a"}, {"b", 100, 100, 299}}).slow());
  EXPECT_TRUE(after(12, {{"a"}, {"b", 100, 100, 301}}).slow());
  EXPECT_FALSE(after(12, {{"a", 100, 50, 160}, {"b", 100, 50, 600}}).slow())
    << "of 760 ms a second";
  EXPECT_TRUE(after(12, {{"a", 100, 97, 140}, {"b", 100, 3, 600}}).slow()) << "seldom, and by much";
}

TEST(slow_watch, computing_that_is_longer_and_yet_short_is_not_why_somebody_is_late) {
  const auto slow = after(10, {{"a", 100, 0, 0, 10}, {"b", 100, 100, 600, 50}}).slow();
  ASSERT_TRUE(slow);
  EXPECT_EQ(slow->computing_ratio, 0) << "40 ms of 600";
  EXPECT_NEAR(after(10, {{"a", 100, 0, 0, 10}, {"b", 100, 100, 600, 410}}).slow()->computing_ratio,
              41, 1e-9);
}

TEST(slow_watch, few_steps_or_one_replica_say_nothing) {
  EXPECT_FALSE(after(10, {{"a", 0}, {"b", 100, 100, 900}}).slow()) << "nobody to compare with";
  slow_watch once;
  named_statistics a, b;
  a.who = {"a", 0};
  b.who = {"b", 0};
  once.on_figures({a, b}, moment{} + std::chrono::seconds{1});
  a.figures.result_count = b.figures.result_count = b.figures.last_count = 9;
  b.figures.last_by = milliseconds{9'000};
  once.on_figures({a, b}, moment{} + std::chrono::seconds{12});
  EXPECT_FALSE(once.slow()) << "nine steps";
}

TEST(slow_watch, what_is_over_is_forgotten_and_another_life_begins_anew) {
  auto watch = after(10, {{"a"}, {"b", 100, 95, 620, 930}});
  ASSERT_TRUE(watch.slow());
  auto figures = std::vector<named_statistics>(2);
  figures[0].who = {"a", 0};
  figures[1].who = {"b", 0};
  auto lives_on = watch;
  for (int second = 11; second <= 22; ++second) {
    for (auto& one : figures)
      one.figures.result_count = 2'000 + static_cast<uint64_t>(second);
    figures[1].figures.last_count = 1'450;
    figures[1].figures.last_by = milliseconds{6'200};
    lives_on.on_figures(figures, moment{} + std::chrono::seconds{100 + second});
  }
  EXPECT_FALSE(lives_on.slow());
  for (auto& one : figures)
    one.figures.result_count = 1;
  watch.on_figures(figures, moment{} + std::chrono::seconds{111});
  EXPECT_FALSE(watch.slow());
}

// What processes report of versions: the same figures and hashes in whatever order parts come, and nothing of what is none of the
// job's.

// Chunks have 256 rows: three of test rows, two of validation rows.
const evaluation_rows rows{600, 300};

std::shared_ptr<const metric_set> some_metrics() {
  return std::make_shared<const metric_set>(std::vector<std::string>{"rmse", "mae"},
                                            metric_input{1, loss_kind::squared});
}

// Errors, and how many, of both.
metric_sums sums_of(double squares, double distances, double count = 1) {
  return {{0, 1, 2, 3}, {squares, count, distances, count}};
}

const std::vector<metric_sums> all_chunks{sums_of(1, 3), sums_of(0.1, 3), sums_of(6, 0.3),
                                          sums_of(8, 4), sums_of(10, 6)};

constexpr uint64_t top = ~uint64_t{0};

version_hash hash(uint64_t low, uint64_t high = 0) {
  return {{high, low}, {high, low + 1}};
}

TEST(version_hashes, a_version_has_its_hash_once_all_blocks_are_told_of_in_any_order) {
  version_hashes book{5};
  EXPECT_TRUE(book.add(8, {2, 5}, hash(3)));
  EXPECT_EQ(book.hash_of(8), std::nullopt);
  EXPECT_TRUE(book.add(8, {0, 2}, hash(4)));
  EXPECT_EQ(book.hash_of(8), (version_hash{{0, 7}, {0, 9}}));
  EXPECT_EQ(book.hash_of(7), std::nullopt);
}

TEST(version_hashes, sums_carry_and_are_modulo_two_to_the_128) {
  version_hashes book{2};
  book.add(1, {0, 1}, {{top, top}, {0, top}});
  book.add(1, {1, 2}, {{0, 1}, {0, 2}});
  EXPECT_EQ(book.hash_of(1), (version_hash{{0, 0}, {1, 1}}));
}

TEST(version_hashes, what_is_told_twice_counts_once) {
  version_hashes book{2};
  book.add(1, {0, 1}, hash(1));
  EXPECT_TRUE(book.add(1, {0, 1}, hash(1)));
  EXPECT_EQ(book.hash_of(1), std::nullopt);
  book.add(1, {1, 2}, hash(1));
  EXPECT_TRUE(book.add(1, {1, 2}, hash(1)));
  EXPECT_EQ(book.hash_of(1), (version_hash{{0, 2}, {0, 4}}));
}

TEST(version_hashes, blocks_that_there_are_not_or_that_overlap_are_refused) {
  version_hashes book{6};
  EXPECT_FALSE(book.add(1, {4, 7}, hash(1)));
  EXPECT_FALSE(book.add(1, {3, 3}, hash(1)));
  EXPECT_FALSE(book.add(1, {5, 2}, hash(1)));
  EXPECT_TRUE(book.add(1, {2, 4}, hash(1)));
  EXPECT_FALSE(book.add(1, {2, 3}, hash(1)));
  EXPECT_FALSE(book.add(1, {3, 6}, hash(1)));
  EXPECT_FALSE(book.add(1, {0, 3}, hash(1)));
  EXPECT_TRUE(book.add(1, {4, 6}, hash(1)));
  EXPECT_TRUE(book.add(1, {0, 2}, hash(1)));
  EXPECT_EQ(book.hash_of(1), (version_hash{{0, 3}, {0, 6}}));
}

TEST(version_hashes, forgets_what_nobody_asks_for) {
  version_hashes book{1};
  book.add(1, {0, 1}, hash(1));
  book.add(2, {0, 1}, hash(2));
  book.forget_below(2);
  EXPECT_EQ(book.hash_of(1), std::nullopt);
  EXPECT_EQ(book.hash_of(2), hash(2));
  book.forget();
  EXPECT_EQ(book.hash_of(2), std::nullopt);
}

TEST(version_times, the_first_word_on_a_version_counts_until_nobody_asks) {
  version_times times;
  EXPECT_EQ(times.of(0), std::nullopt);
  times.add(5, 1.5, true);
  times.add(5, 9, true);
  times.add(6, 1.7, false);
  EXPECT_EQ(times.of(6), 1.7);
  times.add(7, 2, false);
  times.add(7, 3, true);
  EXPECT_EQ(times.of(5), 1.5);
  EXPECT_EQ(times.of(6), std::nullopt);
  EXPECT_EQ(times.of(7), 2);
  times.forget_below(7);
  EXPECT_EQ(times.of(5), std::nullopt);
  EXPECT_EQ(times.of(7), 2);
  times.clear();
  EXPECT_EQ(times.of(7), std::nullopt);
}

TEST(version_times, a_row_that_waits_is_not_forgotten_for_progress) {
  version_times times;
  times.add(10, 1, true);
  for (uint64_t version = 11; version < 100'000; ++version)
    times.add(version, 2, false);
  EXPECT_EQ(times.of(10), 1);
  EXPECT_EQ(times.size(), 1u);
}

TEST(version_times, a_run_without_rows_takes_no_more_memory_with_time) {
  version_times times;
  for (uint64_t version = 1; version < 100'000; ++version) {
    times.add(version, static_cast<double>(version), true);
    ASSERT_LE(times.size(), version_times::kept_max);
  }
  EXPECT_EQ(times.of(99'999), 99'999);
  EXPECT_EQ(times.of(99'950), 99'950);
}

TEST(version_metrics, figures_are_there_once_all_chunks_are) {
  version_metrics book{some_metrics(), rows};
  const metric_figures none{
    {"test_mae", {}}, {"test_rmse", {}}, {"validation_mae", {}}, {"validation_rmse", {}}};
  EXPECT_EQ(book.figures_of(5), none);
  book.add(5, 1, {all_chunks.begin() + 1, all_chunks.end()});
  book.add(6, 0, all_chunks);
  EXPECT_EQ(book.figures_of(5), none);
  book.add(5, 0, {all_chunks[0]});
  const auto figures = book.figures_of(5);
  EXPECT_DOUBLE_EQ(*figures.at("test_mae"), 2.1);
  EXPECT_DOUBLE_EQ(*figures.at("validation_rmse"), 3);
  book.forget_below(6);
  EXPECT_EQ(book.figures_of(5), none);
  EXPECT_EQ(book.figures_of(6), figures);
}

TEST(version_metrics, chunks_come_in_any_order_and_twice) {
  version_metrics straight{some_metrics(), rows};
  straight.add(1, 0, all_chunks);
  std::mt19937 random{7};
  for (int trial = 0; trial < 50; ++trial) {
    version_metrics book{some_metrics(), rows};
    std::vector<size_t> order{0, 1, 2, 3, 4, 0, 2, 4};
    std::ranges::shuffle(order, random);
    for (const auto chunk : order)
      book.add(1, chunk, {all_chunks[chunk]});
    EXPECT_TRUE(book.figures_of(1) == straight.figures_of(1)); // to the bit
  }
}

TEST(version_metrics, takes_nothing_that_is_none_of_the_job) {
  const version_metrics book{some_metrics(), rows};
  EXPECT_TRUE(book.takes(3, 2, {all_chunks[3], all_chunks[4]}));
  EXPECT_TRUE(book.takes(5, 0, {}));
  EXPECT_FALSE(book.takes(3, 2, {}));
  EXPECT_FALSE(book.takes(3, 2, {all_chunks[3]}));
  EXPECT_FALSE(book.takes(4, 2, {all_chunks[3], all_chunks[4]}));
  EXPECT_FALSE(book.takes(~uint64_t{0}, 2, {all_chunks[3], all_chunks[4]}));
  for (const auto& bad :
       {metric_sums{{0, 4}, {1, 1}}, metric_sums{{1, 1}, {1, 1}}, metric_sums{{2, 1}, {1, 1}},
        metric_sums{{0, 1}, {1}}, metric_sums{{0}, {0}}})
    EXPECT_FALSE(book.takes(0, 1, {bad}));
  const version_metrics without{nullptr, rows};
  EXPECT_TRUE(without.takes(3, 2, {}));
  EXPECT_FALSE(without.takes(3, 2, {all_chunks[3], all_chunks[4]}));
  EXPECT_EQ(without.figures_of(1), metric_figures{});
}

} // namespace
} // namespace troupe::waits_test
