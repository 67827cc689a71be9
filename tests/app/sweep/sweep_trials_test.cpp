#include "troupe/app/sweep/sweep_results.hpp"
#include "troupe/app/sweep/sweep_trials.hpp"
#include "troupe/data/text/failure.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace troupe::sweep_trials_test {

namespace {

std::vector<double> drawn(const std::string& range, size_t count, uint64_t seed = 1,
                          const std::string& key = "a.b") {
  std::vector<double> result;
  for (const auto& trial :
       sweep_trials({}, {key + '=' + range + ':' + std::to_string(count)}, seed))
    result.push_back(std::stod(trial.front().second));
  return result;
}

} // namespace

TEST(sweep_trials, grids_are_crossed_in_the_order_of_the_command_line) {
  EXPECT_EQ(sweep_trials({"a.b=1,2", "c={x = 1, y = 2},[3,4],\"5,6\""}, {}, 0),
            (std::vector<trial_values>{{{"a.b", "1"}, {"c", "{x = 1, y = 2}"}},
                                       {{"a.b", "1"}, {"c", "[3,4]"}},
                                       {{"a.b", "1"}, {"c", "\"5,6\""}},
                                       {{"a.b", "2"}, {"c", "{x = 1, y = 2}"}},
                                       {{"a.b", "2"}, {"c", "[3,4]"}},
                                       {{"a.b", "2"}, {"c", "\"5,6\""}}}));
}

TEST(sweep_trials, keys_are_drawn_together_and_crossed_with_grids) {
  const auto all = sweep_trials({"g=1,2"}, {"a=0.0..1.0:3", "b=5..9:3"}, 4);
  ASSERT_EQ(all.size(), 6u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(all[i][0].second, "1");
    EXPECT_EQ(all[i + 3][0].second, "2");
    EXPECT_EQ(all[i][1], all[i + 3][1]) << "the same draws for each value of the grid";
    EXPECT_EQ(all[i][2], all[i + 3][2]);
  }
  EXPECT_NE(all[0][1], all[1][1]);
}

TEST(sweep_trials, draws_follow_from_seed_key_and_number_alone) {
  const auto few = drawn("0.0..1.0", 5);
  const auto more = drawn("0.0..1.0", 9);
  EXPECT_EQ(std::vector<double>(more.begin(), more.begin() + 5), few);
  EXPECT_NE(drawn("0.0..1.0", 5, 2), few);
  EXPECT_NE(drawn("0.0..1.0", 5, 1, "a.c"), few);
  EXPECT_EQ(sweep_trials({}, {"x=0.0..1.0:5", "a.b=0.0..1.0:5"}, 1)[3][1].second,
            sweep_trials({}, {"a.b=0.0..1.0:5"}, 1)[3][0].second);
}

TEST(sweep_trials, draws_are_spread_over_their_range) {
  double sum = 0;
  double logs = 0;
  for (const double x : drawn("2..6", 4000)) {
    EXPECT_GE(x, 2);
    EXPECT_LE(x, 6);
    sum += x;
  }
  EXPECT_NEAR(sum / 4000, 4, 0.1);
  for (const double x : drawn("1e-4..1e-1:log", 4000)) {
    EXPECT_GE(x, 1e-4);
    EXPECT_LE(x, 1e-1);
    logs += std::log10(x);
  }
  EXPECT_NEAR(logs / 4000, -2.5, 0.05);
  std::set<double> whole;
  for (const double x : drawn("1..4", 400)) {
    EXPECT_EQ(x, std::floor(x));
    whole.insert(x);
  }
  EXPECT_EQ(whole, (std::set<double>{1, 2, 3, 4}));
}

TEST(sweep_trials, what_is_no_choice_is_refused_with_the_option) {
  for (const auto& grids :
       std::vector<std::vector<std::string>>{{"a.b"}, {"=1"}, {"a="}, {"a=1,,2"}, {"a=1,"}})
    EXPECT_THROW(sweep_trials(grids, {}, 0), failure) << grids.front();
  for (const auto* text : {"a", "a=1..2", "a=1..2:0", "a=1..2:x", "a=2..1:3", "a=1:3", "a=x..2:3",
                           "a=0..1:log:3", "a=1..inf:3", "a=1..2:10001"})
    EXPECT_THROW(sweep_trials({}, {text}, 0), failure) << text;
  EXPECT_THROW(sweep_trials({}, {"a=0..1:3", "b=0..1:4"}, 0), failure);
  EXPECT_THROW(sweep_trials({"a=1,2"}, {"b=0..1:9999"}, 0), failure);
  try {
    sweep_trials({}, {"a=2..1:3"}, 0);
  } catch (const failure& error) {
    EXPECT_EQ(error.code(), failure_code::usage);
    EXPECT_NE(std::string{error.what()}.find("--random a=2..1:3"), std::string::npos);
  }
}

// Rows 2 and 4 are not evaluated: they have a training loss alone, which is no rival.
TEST(sweep_results, a_trial_is_judged_by_the_row_of_the_version_that_it_keeps) {
  run_record run;
  for (const auto& [epoch, loss] : {std::pair{1, 0.5}, {2, 0.0}, {3, 0.2}, {4, 0.0}, {5, 0.4}}) {
    auto& row = run.history.emplace_back();
    row.epoch = row.steps = static_cast<size_t>(epoch);
    row.train_loss = 0.1;
    row.test_loss = 0.01;
    if (loss > 0)
      row.validation_loss = loss;
  }
  run.summary.emplace();
  EXPECT_EQ(loss_at(run, 5), 0.4) << "the last";
  EXPECT_EQ(loss_at(run, 4), 0.2);
  run.summary->best_version = 3;
  EXPECT_EQ(loss_at(run, 2), 0.5) << "at a rung, the best up to there";
  EXPECT_EQ(loss_at(run, 5), 0.2);
  EXPECT_EQ(judged_row(run, 5)->epoch, 3u);
  run.history[0].validation_loss = std::nan("");
  EXPECT_EQ(loss_at(run, 5), 0.2);
  EXPECT_EQ(loss_at(run, 2), std::nullopt);
}

} // namespace troupe::sweep_trials_test
