#include "coordinators/modes/parameters_coordinator.hpp"

#include "tests/support/models.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <stdexcept>

namespace troupe::parameters_coordinator_test {
namespace {

using verdict = parameters_verdict;
using namespace test;

constexpr moment start{};

merge_entry entry_of(uint64_t child, const floats& values, uint64_t samples = 1) {
  merge_entry result;
  result.child = child;
  result.values = buffer_of(values);
  result.sample_count = samples;
  return result;
}

parameters_coordinator_options options_of(size_t threshold,
                                          round_trigger trigger = round_trigger::anybody) {
  parameters_coordinator_options options;
  options.threshold = threshold;
  options.trigger = trigger;
  return options;
}

struct running {
  explicit running(const parameters_coordinator_options& options, const floats& initial = {0})
    : coordinator(options) {
    coordinator.set_parameters(initial);
  }

  verdict add(uint64_t child, const floats& values, milliseconds after = {}) {
    return coordinator.add_parameters(entry_of(child, values), start + after).verdict;
  }
  floats main() const { return values_of(coordinator.main_parameters()); }

  parameters_coordinator coordinator;
};

TEST(parameters_coordinator, merges_ten_models_unless_told_otherwise) {
  running x{{}};
  for (float value = 1; value <= 9; ++value)
    EXPECT_EQ(x.add(1, {value}), verdict::waits);
  EXPECT_EQ(x.main(), floats{0});
  EXPECT_EQ(x.coordinator.waiting_count(), 9u);
  EXPECT_EQ(x.add(2, {10}), verdict::merged);
  EXPECT_EQ(x.main(), floats{5.5f}) << "the mean of all ten, not of every other one";
  EXPECT_EQ(x.coordinator.waiting_count(), 0u);
  EXPECT_EQ(x.coordinator.round_count(), 1u);
}

TEST(parameters_coordinator, each_round_merges_exactly_its_entries) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random{seed};
    const auto threshold = 1 + random() % 7;
    running x{options_of(threshold)};
    double sum = 0;
    for (size_t i = 1; i <= 40; ++i) {
      const auto value = static_cast<float>(random() % 64);
      sum += value;
      const auto outcome = x.coordinator.add_parameters(entry_of(random() % 3, {value}), start);
      const bool full = i % threshold == 0;
      EXPECT_EQ(outcome.verdict, full ? verdict::merged : verdict::waits) << "seed " << seed;
      EXPECT_EQ(outcome.merged_count, full ? threshold : 0);
      if (full) {
        EXPECT_EQ(x.main()[0], static_cast<float>(sum / static_cast<double>(threshold)));
        sum = 0;
      }
    }
    EXPECT_EQ(x.coordinator.round_count(), 40 / threshold);
    EXPECT_EQ(x.coordinator.waiting_count(), 40 % threshold);
  }
}

TEST(parameters_coordinator, one_child_may_fill_a_round_of_anybody) {
  running x{options_of(2)};
  EXPECT_EQ(x.add(1, {2}), verdict::waits);
  EXPECT_EQ(x.add(1, {4}), verdict::merged);
  EXPECT_EQ(x.main(), floats{3});
}

TEST(parameters_coordinator, a_round_of_distinct_children_has_one_model_of_each) {
  running x{options_of(2, round_trigger::distinct)};
  EXPECT_EQ(x.add(1, {2}), verdict::waits);
  EXPECT_EQ(x.add(1, {4}), verdict::replaced) << "it was trained further";
  EXPECT_EQ(x.add(1, {6}), verdict::replaced);
  EXPECT_EQ(x.main(), floats{0});
  EXPECT_EQ(x.add(2, {10}), verdict::merged);
  EXPECT_EQ(x.main(), floats{8}) << "6 and 10: the newest of each";
}

TEST(parameters_coordinator, a_round_of_distinct_children_waits_for_nobody_who_is_gone) {
  auto options = options_of(3, round_trigger::distinct);
  options.push = true;
  running x{options};
  for (uint64_t child : {1, 2, 3, 4})
    x.coordinator.add_child(child);
  EXPECT_EQ(x.coordinator.remove_child(4).verdict, verdict::waits);
  EXPECT_EQ(x.add(1, {1}), verdict::waits);
  EXPECT_EQ(x.add(2, {3}), verdict::waits) << "three are left, and three make a round";
  EXPECT_EQ(x.coordinator.remove_child(2).verdict, verdict::waits) << "its model counts";
  const auto outcome = x.coordinator.remove_child(3);
  EXPECT_EQ(outcome.verdict, verdict::merged) << "all who are left have come";
  EXPECT_EQ(outcome.send_to, std::vector<uint64_t>{1});
  EXPECT_EQ(x.main(), floats{2});
  EXPECT_EQ(x.coordinator.remove_child(9).verdict, verdict::waits) << "nobody knew it";
  EXPECT_EQ(x.add(1, {5}), verdict::merged);
  x.coordinator.add_child(2);
  EXPECT_EQ(x.add(1, {5}), verdict::waits) << "it is back";
  EXPECT_EQ(x.add(2, {7}), verdict::merged);
}

TEST(parameters_coordinator, a_round_of_distinct_children_waits_for_those_who_have_not_come_yet) {
  running x{options_of(3, round_trigger::distinct)};
  x.coordinator.add_child(1);
  x.coordinator.add_child(2);
  x.coordinator.remove_child(2);
  EXPECT_EQ(x.add(1, {1}), verdict::waits) << "one is gone, a third may come";
  EXPECT_EQ(x.add(3, {3}), verdict::merged);
  auto options = options_of(3, round_trigger::distinct);
  options.merge.rule = merge_rule::krum;
  running y{options};
  y.coordinator.add_child(1);
  y.coordinator.remove_child(1);
  EXPECT_EQ(y.add(2, {1}), verdict::waits);
  EXPECT_EQ(y.add(3, {1}), verdict::waits) << "krum cannot merge two";
  EXPECT_EQ(y.add(4, {1}), verdict::merged);
}

TEST(parameters_coordinator, a_round_of_time_merges_what_came_in_its_period) {
  auto options = options_of(1, round_trigger::time);
  options.period = milliseconds{100};
  running x{options};
  EXPECT_EQ(x.coordinator.next_time(), std::nullopt) << "nothing waits, so nothing is due";
  EXPECT_EQ(x.add(1, {2}, milliseconds{30}), verdict::waits);
  EXPECT_EQ(x.add(2, {4}, milliseconds{80}), verdict::waits);
  EXPECT_EQ(x.coordinator.next_time(), start + milliseconds{130});
  EXPECT_EQ(x.coordinator.on_time(start + milliseconds{129}).verdict, verdict::waits);
  EXPECT_EQ(x.main(), floats{0});
  const auto outcome = x.coordinator.on_time(start + milliseconds{130});
  EXPECT_EQ(outcome.verdict, verdict::merged);
  EXPECT_EQ(outcome.merged_count, 2u);
  EXPECT_EQ(x.main(), floats{3});
  EXPECT_EQ(x.coordinator.next_time(), std::nullopt);
  x.add(1, {9}, milliseconds{200});
  x.coordinator.clear();
  EXPECT_EQ(x.coordinator.next_time(), std::nullopt) << "what was dropped is due no more";
  EXPECT_EQ(x.coordinator.on_time(start + milliseconds{500}).verdict, verdict::waits);
  EXPECT_EQ(x.coordinator.round_count(), 1u) << "a round without models is none";
}

TEST(parameters_coordinator, a_model_that_comes_when_the_time_is_over_is_of_that_round) {
  auto options = options_of(1, round_trigger::time);
  options.period = milliseconds{100};
  running x{options};
  x.add(1, {2});
  EXPECT_EQ(x.add(2, {4}, milliseconds{100}), verdict::merged) << "the tick may come later";
  EXPECT_EQ(x.main(), floats{3});
}

TEST(parameters_coordinator, time_goes_on_while_there_are_too_few_models_for_the_rule) {
  auto options = options_of(3, round_trigger::time);
  options.period = milliseconds{100};
  options.merge.rule = merge_rule::trimmed_mean;
  running x{options};
  x.add(1, {2});
  EXPECT_EQ(x.coordinator.on_time(start + milliseconds{100}).verdict, verdict::waits);
  EXPECT_EQ(x.coordinator.next_time(), start + milliseconds{200});
  x.add(2, {4}, milliseconds{150});
  x.add(3, {9}, milliseconds{150});
  EXPECT_EQ(x.coordinator.on_time(start + milliseconds{200}).verdict, verdict::merged);
  EXPECT_EQ(x.main(), floats{4});
}

TEST(parameters_coordinator, pushes_to_all_children_it_knows) {
  auto options = options_of(2);
  options.push = true;
  running x{options};
  x.coordinator.add_child(9);
  x.coordinator.add_child(4);
  x.coordinator.remove_child(4);
  EXPECT_EQ(x.coordinator.add_parameters(entry_of(7, {1}), start).send_to,
            (std::vector<uint64_t>{}));
  EXPECT_EQ(x.coordinator.add_parameters(entry_of(3, {1}), start).send_to,
            (std::vector<uint64_t>{3, 7, 9}));
  options.push = false;
  running pulled{options};
  pulled.add(7, {1});
  EXPECT_TRUE(pulled.coordinator.add_parameters(entry_of(3, {1}), start).send_to.empty());
}

TEST(parameters_coordinator, order_of_arrival_does_not_show_in_a_round) {
  const auto models = test::normal_models(6, 50, 3);
  std::optional<floats> expected;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random{seed};
    std::vector<uint64_t> order{0, 1, 2, 3, 4, 5};
    for (size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[random() % i]);
    auto options = options_of(6);
    options.outer = {outer_kind::sgd, 0.7, 0.9, true};
    running x{options, floats(50, 1)};
    for (int round = 0; round < 3; ++round)
      for (auto child : order)
        x.add(child, models[child]);
    EXPECT_EQ(x.coordinator.round_count(), 3u);
    expected = expected.value_or(x.main());
    EXPECT_EQ(x.main(), *expected) << "seed " << seed;
  }
}

TEST(parameters_coordinator, the_outer_rule_moves_the_main_model) {
  auto options = options_of(1);
  options.outer.kind = outer_kind::sgd;
  options.outer.learning_rate = 0.25;
  running x{options, {4}};
  x.add(1, {8});
  EXPECT_EQ(x.main(), floats{5}) << "a quarter of the way";
}

TEST(parameters_coordinator, stop_merges_what_waits_and_refuses_what_comes) {
  running x{options_of(3)};
  x.add(1, {2});
  x.add(2, {4});
  const auto outcome = x.coordinator.stop();
  EXPECT_EQ(outcome.verdict, verdict::merged);
  EXPECT_EQ(outcome.merged_count, 2u);
  EXPECT_EQ(x.main(), floats{3}) << "nothing handed in is lost";
  EXPECT_EQ(x.add(1, {9}), verdict::stopped);
  EXPECT_EQ(x.coordinator.stop().verdict, verdict::waits) << "there is nothing to merge";
  x.coordinator.start();
  EXPECT_EQ(x.add(1, {9}), verdict::waits);
}

TEST(parameters_coordinator, stop_keeps_what_the_rule_cannot_merge) {
  auto options = options_of(3);
  options.merge.rule = merge_rule::krum;
  running x{options};
  x.add(1, {2});
  const auto outcome = x.coordinator.stop();
  EXPECT_EQ(outcome.verdict, verdict::waits);
  EXPECT_EQ(outcome.reason, "1 models wait on: krum needs 3");
  x.coordinator.start();
  x.add(2, {2});
  EXPECT_EQ(x.add(3, {2}), verdict::merged);
  EXPECT_EQ(x.main(), floats{2});
}

TEST(parameters_coordinator, clear_drops_what_waits_and_reset_goes_back_to_the_start) {
  auto options = options_of(2);
  options.outer = {outer_kind::sgd, 0.5, 0.5};
  running x{options, {1}};
  x.add(1, {5});
  x.add(2, {5});
  EXPECT_EQ(x.main(), floats{3});
  x.add(1, {100});
  x.coordinator.clear();
  EXPECT_EQ(x.coordinator.waiting_count(), 0u);
  EXPECT_EQ(x.main(), floats{3});
  x.add(1, {100});
  x.coordinator.reset();
  EXPECT_EQ(x.main(), floats{1});
  EXPECT_EQ(x.coordinator.round_count(), 0u);
  x.add(1, {5});
  x.add(2, {5});
  EXPECT_EQ(x.main(), floats{3}) << "the momentum was forgotten, and so was the model that waited";
}

TEST(parameters_coordinator, main_parameters_are_a_snapshot) {
  running x{options_of(1)};
  const auto before = x.coordinator.main_parameters();
  x.add(1, {5});
  EXPECT_EQ(values_of(before), floats{0});
}

TEST(parameters_coordinator, what_cannot_be_merged_is_refused_by_name) {
  auto options = options_of(2);
  options.entries_max = 2;
  options.trigger = round_trigger::time;
  parameters_coordinator x{options};
  const auto refused = [&](const merge_entry& entry) {
    const auto outcome = x.add_parameters(entry, start);
    EXPECT_EQ(outcome.reason, name_of(outcome.verdict));
    return outcome.verdict;
  };
  EXPECT_EQ(refused(entry_of(1, {1})), verdict::no_parameters);
  x.set_parameters(floats{0, 0});
  EXPECT_EQ(refused(entry_of(1, {1})), verdict::wrong_size);
  EXPECT_EQ(refused(entry_of(1, {1, 2}, 0)), verdict::no_samples);
  EXPECT_EQ(refused(entry_of(1, {1, NAN})), verdict::not_finite);
  EXPECT_EQ(x.waiting_count(), 0u);
  EXPECT_TRUE(x.children().empty());
  x.add_parameters(entry_of(1, {1, 2}), start);
  x.add_parameters(entry_of(1, {1, 2}), start);
  EXPECT_EQ(refused(entry_of(1, {1, 2})), verdict::full);
}

TEST(parameters_coordinator, a_model_without_what_the_rule_needs_does_not_spoil_the_round) {
  auto options = options_of(2);
  options.merge.rule = merge_rule::weighted;
  options.merge.weighting = merge_weighting::best;
  running x{options};
  auto good = entry_of(1, {2});
  good.judged = judgement{true, 0, 5, 10};
  x.coordinator.add_parameters(good, start);
  const auto outcome = x.coordinator.add_parameters(entry_of(2, {4}), start);
  EXPECT_EQ(outcome.verdict, verdict::misfit);
  EXPECT_EQ(outcome.reason, "the model of child 2 was not judged on validation rows");
  EXPECT_EQ(x.coordinator.waiting_count(), 1u);
  good.child = 2;
  EXPECT_EQ(x.coordinator.add_parameters(good, start).verdict, verdict::merged);
}

TEST(parameters_coordinator, a_round_that_leads_nowhere_leaves_the_main_model) {
  auto options = options_of(2);
  options.merge.rule = merge_rule::weighted;
  options.merge.weighting = merge_weighting::custom;
  options.merge.custom_weights = {{1, 0.0}, {2, 1.0}};
  running x{options, {7}};
  x.add(1, {2});
  const auto outcome = x.coordinator.add_parameters(entry_of(1, {4}), start);
  EXPECT_EQ(outcome.verdict, verdict::merge_refused);
  EXPECT_NE(outcome.reason.find("add up to 0"), std::string::npos) << outcome.reason;
  EXPECT_EQ(x.coordinator.refused_round_count(), 1u);
  EXPECT_EQ(x.coordinator.round_count(), 0u);
  EXPECT_EQ(x.main(), floats{7});
  x.add(1, {2});
  EXPECT_EQ(x.add(2, {4}), verdict::merged) << "it goes on";
  EXPECT_EQ(x.main(), floats{4});
  x.coordinator.reset();
  EXPECT_EQ(x.coordinator.refused_round_count(), 0u);
}

TEST(parameters_coordinator, a_model_may_say_its_layout_or_not) {
  running x{options_of(2)};
  auto entry = entry_of(1, {2});
  const auto layout = std::make_shared<parameter_layout>();
  layout->add("w", {1});
  entry.layout = layout;
  x.coordinator.add_parameters(entry, start);
  EXPECT_EQ(x.add(2, {4}), verdict::merged) << "all have the main model's";
}

TEST(parameters_coordinator, a_main_model_that_would_not_be_finite_is_refused) {
  auto options = options_of(1);
  options.outer.kind = outer_kind::sgd;
  options.outer.learning_rate = 1e3;
  running x{options};
  const auto outcome = x.coordinator.add_parameters(entry_of(1, {3e38f}), start);
  EXPECT_EQ(outcome.verdict, verdict::merge_refused);
  EXPECT_EQ(outcome.reason, "the main model would not be finite");
  EXPECT_EQ(x.main(), floats{0});
}

TEST(parameters_coordinator, impossible_options_throw) {
  EXPECT_THROW(parameters_coordinator{options_of(0)}, std::invalid_argument);
  auto options = options_of(4);
  options.merge.rule = merge_rule::krum;
  options.merge.faulty_count = 1;
  EXPECT_THROW(parameters_coordinator{options}, std::invalid_argument) << "it needs five";
  options = options_of(4);
  options.entries_max = 3;
  EXPECT_THROW(parameters_coordinator{options}, std::invalid_argument);
  options = options_of(4);
  options.period = milliseconds{0};
  EXPECT_THROW(parameters_coordinator{options}, std::invalid_argument);
  options = options_of(4);
  options.outer.momentum = 2;
  EXPECT_THROW(parameters_coordinator{options}, std::invalid_argument);
  parameters_coordinator x{{}};
  EXPECT_THROW(x.set_parameters(floats{}), std::invalid_argument);
  EXPECT_THROW(x.set_parameters(floats{INFINITY}), std::invalid_argument);
}

} // namespace
} // namespace troupe::parameters_coordinator_test
