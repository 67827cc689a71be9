#include "troupe/coordinators/sweep/sweep_rule.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace troupe::sweep_rule_test {

namespace {

using losses = std::vector<std::optional<double>>;

/// Runs a whole sweep with so many slots; who ends first is drawn.
sweep_rule run(const sweep_shape& shape, const losses& all, size_t slots, unsigned seed) {
  sweep_rule rule{shape};
  std::mt19937 random{seed};
  std::vector<size_t> running;
  while (!rule.is_finished() || !running.empty()) {
    while (running.size() < slots && rule.next()) {
      running.push_back(*rule.next());
      rule.on_started(running.back());
    }
    if (running.empty())
      break;
    const auto place = random() % running.size();
    const auto trial = running[place];
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(place));
    if (random() % 4 == 0)
      rule.on_stopped(trial);
    else if (all[trial])
      rule.on_reached(trial, *all[trial]);
    else
      rule.on_failed(trial);
  }
  return rule;
}

} // namespace

TEST(sweep_rule, rungs_end_at_the_full_length_and_leave_one_trial) {
  EXPECT_EQ(halving_rungs(27, 90, 3), (std::vector<uint64_t>{4, 10, 30, 90}));
  EXPECT_EQ(halving_rungs(9, 9, 3), (std::vector<uint64_t>{1, 3, 9}));
  EXPECT_EQ(halving_rungs(100, 4, 2), (std::vector<uint64_t>{1, 2, 4}));
  EXPECT_EQ(halving_rungs(1, 10, 3), (std::vector<uint64_t>{10}));
  EXPECT_THROW(halving_rungs(9, 9, 1), std::invalid_argument);
}

TEST(sweep_rule, without_halving_every_trial_is_trained_once) {
  auto rule = run({4, {10}}, {0.4, 0.1, std::nullopt, 0.2}, 2, 1);
  EXPECT_EQ(rule.ranking(), (std::vector<size_t>{1, 3, 0, 2}));
  EXPECT_EQ(rule.state(0), trial_state::done);
  EXPECT_EQ(rule.state(2), trial_state::failed);
}

TEST(sweep_rule, a_rung_decides_when_all_stand_there) {
  sweep_rule rule{{4, {1, 3}, 2}};
  for (size_t i = 0; i < 4; ++i)
    rule.on_started(i);
  rule.on_reached(3, 0.1);
  rule.on_reached(1, 0.3);
  rule.on_reached(0, 0.3);
  EXPECT_EQ(rule.rung(), 0u);
  EXPECT_FALSE(rule.next()) << "one is under way, and might be better";
  rule.on_reached(2, 0.4);
  EXPECT_EQ(rule.rung(), 1u);
  EXPECT_EQ(rule.epochs(), 3u);
  EXPECT_EQ(rule.next(), 0u) << "of equal ones the first";
  rule.on_started(0);
  EXPECT_EQ(rule.next(), 3u);
  EXPECT_EQ(rule.state(1), trial_state::dropped);
  rule.on_started(3);
  rule.on_reached(0, 0.05);
  rule.on_reached(3, 0.06);
  EXPECT_TRUE(rule.is_finished());
  EXPECT_EQ(rule.ranking(), (std::vector<size_t>{0, 3, 1, 2}));
}

TEST(sweep_rule, who_has_no_loss_never_goes_on) {
  sweep_rule rule{{3, {1, 2}, 1}};
  for (size_t i = 0; i < 3; ++i)
    rule.on_started(i);
  rule.on_reached(0, std::numeric_limits<double>::quiet_NaN());
  rule.on_reached(1, std::nullopt);
  rule.on_failed(2);
  EXPECT_TRUE(rule.is_finished());
  EXPECT_EQ(rule.state(0), trial_state::dropped);
  EXPECT_EQ(rule.state(2), trial_state::failed);
}

TEST(sweep_rule, what_comes_of_it_depends_on_no_order_and_no_number_of_slots) {
  std::mt19937 random{7};
  for (int round = 0; round < 300; ++round) {
    const size_t count = 1 + random() % 30;
    losses all;
    for (size_t i = 0; i < count; ++i)
      all.push_back(random() % 10 == 0 ? std::nullopt : std::optional{double(random() % 8)});
    const sweep_shape shape{count, halving_rungs(count, 1 + random() % 40, 2 + random() % 3),
                            2 + random() % 3};
    const auto first = run(shape, all, 1, random());
    EXPECT_TRUE(first.is_finished());
    for (const size_t slots : {2, 5, 40})
      EXPECT_EQ(run(shape, all, slots, random()), first);
  }
}

TEST(sweep_rule, a_shape_without_trials_or_rungs_is_refused) {
  EXPECT_THROW((sweep_rule{{0, {1}}}), std::invalid_argument);
  EXPECT_THROW((sweep_rule{{1, {}}}), std::invalid_argument);
}

} // namespace troupe::sweep_rule_test
